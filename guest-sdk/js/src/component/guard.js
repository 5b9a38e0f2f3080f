// What stands between the host and a plugin's functions: errors that the other
// side can act on are answered, and faults are told with the place they come
// from before they end the instance.

import { KeepsakeError, toWit } from '../error.js';
import { KIND } from '../plugin.js';
import { place, readable } from './stack.js';

/** Stops the build where the module exports something else by default. */
export function expectKind(plugin, kind, define) {
  if (plugin?.[KIND] !== kind) {
    throw new Error(`the plugin's module must have \`export default ${define}({ … })\`, as plugin.toml says that it is of the kind ${kind}`);
  }
}

/** The same function for the host, whether it waits for something or not. */
export function guarded(log, run) {
  return (...given) => {
    try {
      const answer = run(...given);
      return typeof answer?.then === 'function' ? answer.then(undefined, (error) => fail(log, error)) : answer;
    } catch (error) {
      return fail(log, error);
    }
  };
}

function fail(log, error) {
  // A plain object becomes the error of the call; an Error would be a trap.
  if (error instanceof KeepsakeError) throw toWit(error);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : `something that is no Error was thrown: ${error}`;
  const stack = readable(error?.stack ?? '');
  const from = place(stack);
  log.reportPanic(from ? `${said} (${from})` : said);
  // The last lines of standard error are shown with the failure.
  if (stack) console.error(`${said}\n${stack}`);
  throw error instanceof Error ? error : new Error(said);
}
