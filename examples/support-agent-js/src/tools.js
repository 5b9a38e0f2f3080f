// The tools of this agent. Whatever keeps something refuses secrets first.

import { KeepsakeError, memoryTools, sandboxTools, tool } from '#keepsake';

import { patchSchema } from './profile.js';
import { refuseSecrets } from './secrets.js';

/** Letters and digits in the shortest quote that shows anything. */
const SHORTEST_QUOTE = 3;
/** What models call the customer. */
const CUSTOMER = ['customer', 'the customer', 'user', 'the user', 'client', 'me'];

/** The tools of one turn. Commands are run only where there is a sandbox. */
export function tools(caseFile) {
  const [remember] = memoryTools().filter(({ name }) => name === 'remember_fact');
  return [
    ...memoryTools(),
    updateProfile,
    setWorkingMemory,
    rememberFact(caseFile, remember),
    ...(caseFile ? sandboxTools().filter(({ name }) => name === 'run_command') : []),
  ];
}

const updateProfile = tool({
  name: 'update_profile',
  description:
    "Sets values of the customer's profile, which every later conversation begins with: name, plan, email, phone, language, and others of the same kind.",
  parameters: patchSchema,
  run({ patch }, session) {
    refuseSecrets(patch);
    return { profile: session.scope().updateProfile(patch) };
  },
});

/** As the SDK's tool of this name, which knows nothing of secrets. */
const setWorkingMemory = tool({
  name: 'set_working_memory',
  description:
    "Keeps a value that the work on this customer's case needs in this and later conversations, such as the step that comes next. " +
    'Use remember_fact for what the customer told about themselves, update_profile for who they are.',
  parameters: {
    type: 'object',
    properties: {
      key: { type: 'string', description: 'The name of the value, such as `open_case`.' },
      value: { description: 'The value, any JSON; null deletes it.' },
    },
    required: ['key', 'value'],
  },
  run({ key, value }, session) {
    refuseSecrets({ [key]: value });
    const scope = session.scope();
    if (value === null) scope.delete(key);
    else scope.set(key, value);
    return { ok: true };
  },
});

/**
 * Remembers a fact. Where the model names no source, the quote is looked up in
 * the customer's message, and the entry of that command is the source.
 */
function rememberFact(caseFile, standard) {
  const { content, source, quote, subject, attribute, supersedes, keep } = standard.parameters.properties;
  return tool({
    name: 'remember_fact',
    description:
      'Remembers a lasting fact about this customer for later conversations. With a quote of what the customer just wrote, or of what a command printed, ' +
      'it is marked as verified. The answer says whether it is.',
    parameters: {
      type: 'object',
      properties: {
        content,
        quote: {
          ...quote,
          description:
            "Words that show the fact, to the letter: from the customer's message, or from what the source printed. They make the fact verified.",
        },
        source: {
          ...source,
          description: "The `entry` of a run_command answer that printed the quote. Leave it out for a quote from the customer's message.",
        },
        attribute,
        subject: { ...subject, description: "Whose property it is; leave it out for the customer's own." },
        supersedes,
        keep,
      },
      required: ['content'],
    },
    run(given, session) {
      refuseSecrets({ content: given.content, quote: given.quote, subject: given.subject, attribute: given.attribute });
      const fact = { ...given, ...about(session, given), quote: undefined, source: undefined };
      const { proof, note } = prove(session, caseFile, given);
      const answer = keepWith(session, standard, caseFile, fact, proof);
      // What to do about a fact that was not stored comes first.
      return { ...(note ? { note } : {}), ...answer };
    },
  });
}

/** The source and the quote that show a fact. */
function prove(session, caseFile, { quote, source }) {
  const shows = (quote ?? '').match(/[^\s!-/:-@[-`{-~]/g)?.length >= SHORTEST_QUOTE;
  if (!shows) {
    if (source) {
      throw KeepsakeError.invalid('a source needs the words that it printed: give them as `quote`, or leave the source out');
    }
    return {};
  }
  if (source) return { proof: { source, quote, named: true } };
  const entry = caseFile?.find(session, quote);
  if (entry) return { proof: { source: entry, quote } };
  return { note: "the quote was not shown to stand in the customer's message, so that the fact is not verified" };
}

function keepWith(session, standard, caseFile, fact, proof) {
  const remember = ({ source, quote } = {}) => standard.run({ ...fact, source, quote }, session);
  try {
    return remember(proof);
  } catch (error) {
    // The model may have meant the message and made the source up.
    const entry = error.code === 'invalid' && proof?.named ? caseFile?.find(session, proof.quote) : undefined;
    if (!entry) throw error;
    return { note: 'the source was refused; the quote was found in the message instead', ...remember({ source: entry, quote: proof.quote }) };
  }
}

/**
 * The subject and attribute in one form, so that a new value meets the old one,
 * whatever the model calls the customer in this conversation.
 */
function about(session, { subject = '', attribute = '' }) {
  const words = (text) => text.trim().replaceAll(/\s+/g, ' ');
  const property = words(attribute).toLowerCase().replaceAll(/[ -]/g, '_');
  if (property === '') return { subject: undefined, attribute: undefined };
  const customer = session.info().resource;
  const whose = words(subject);
  const own = whose === '' || whose === customer || isCustomer(session, whose.toLowerCase());
  return { subject: own ? customer : whose, attribute: property };
}

function isCustomer(session, subject) {
  if (CUSTOMER.includes(subject)) return true;
  const name = String(session.scope().profile().name ?? '').toLowerCase();
  return name !== '' && (name === subject || name.split(/\s+/)[0] === subject);
}
