// What an operator may set.

import { KeepsakeError } from '#keepsake';

/** Letters of a name that stands in the prompt. */
const NAME_LETTERS = 200;

/** Reads the settings, and throws at the first that has no usable value. */
export function readSettings(session) {
  const read = (key, otherwise, fits, wanted) => {
    const value = session.setting(key);
    if (value === undefined) return otherwise;
    if (fits(value)) return value;
    throw KeepsakeError.invalid(
      `the setting \`${key}\` of support-agent must be ${wanted}, not ${JSON.stringify(value)}: change it in the host's configuration`,
    );
  };
  const name = (key, otherwise) => read(key, otherwise, isName, `a name of 1 to ${NAME_LETTERS} letters on one line`)?.trim();
  const number = (key, otherwise, least, most) =>
    read(key, otherwise, (value) => Number.isInteger(value) && value >= least && value <= most, `a whole number from ${least} to ${most}`);
  return {
    persona: name('persona', 'Sam'),
    company: name('company'),
    snippetBytes: number('snippet-bytes', 4096, 64, 65_536),
    // At least one round with tools and one that answers.
    maxRounds: number('max-rounds', 8, 2, 64),
    useSandbox: read('use-sandbox', true, (value) => typeof value === 'boolean', 'true or false'),
  };
}

function isName(value) {
  return typeof value === 'string' && value.trim() !== '' && value.length <= NAME_LETTERS && !/[\u0000-\u001f\u007f-\u009f]/.test(value);
}
