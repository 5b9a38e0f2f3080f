// The tools with which a model uses memory.

import { KeepsakeError } from './error.js';
import { tool } from './tool.js';

/** Facts that one recall gives at the most. */
const RECALLED = 20;
/** Bytes of values that `get_working_memory` gives: more would be cut. */
const VALUES_BYTES = 16 * 1024;

/**
 * `set_working_memory`, `get_working_memory`, `remember_fact` and
 * `recall_facts`, on the memory of the session's customer.
 */
export function memoryTools() {
  return [setWorkingMemory, getWorkingMemory, rememberFact, recallFacts];
}

const setWorkingMemory = tool({
  name: 'set_working_memory',
  description:
    'Keeps a value for this and later conversations with this customer. Use remember_fact for what the customer told about themselves.',
  parameters: {
    type: 'object',
    properties: {
      key: { type: 'string', description: 'The name of the value, such as `open_case`.' },
      value: { description: 'The value, any JSON; null deletes it.' },
    },
    required: ['key', 'value'],
  },
  run({ key, value }, session) {
    const scope = session.scope();
    if (value === null) scope.delete(key);
    else scope.set(key, value);
    return { ok: true };
  },
});

const getWorkingMemory = tool({
  name: 'get_working_memory',
  description: "Gives the customer's profile and all values that were kept.",
  parameters: {
    type: 'object',
    properties: {
      key: { type: 'string', description: 'The name of one value; leave it out for the profile and all values.' },
    },
  },
  run({ key }, session) {
    const scope = session.scope();
    if (key !== undefined) return { value: scope.get(key) ?? null };
    return allValues(scope);
  },
});

function allValues(scope) {
  const values = {};
  const leftOut = [];
  let room = VALUES_BYTES;
  for (const [key, value] of scope.values()) {
    const size = key.length + JSON.stringify(value).length;
    if (size <= room) {
      values[key] = value;
      room -= size;
    } else if (key.length <= room) {
      leftOut.push(key);
      room -= key.length;
    } else {
      break;
    }
  }
  const answer = { profile: scope.profile(), values };
  if (leftOut.length === 0) return answer;
  return { ...answer, left_out: leftOut, note: 'there is more than fits here: ask for a value by its key' };
}

const rememberFact = tool({
  name: 'remember_fact',
  description: 'Remembers a lasting fact about this customer. With a source it is marked as verified.',
  parameters: {
    type: 'object',
    properties: {
      content: {
        type: 'string',
        description: 'The fact as one sentence in the third person, such as "Jordan is on the Pro plan."',
      },
      source: {
        type: 'object',
        description: "The `entry` of a command's answer that shows the fact; makes it verified.",
        properties: { session: { type: 'string' }, index: { type: 'integer' }, hash: { type: 'string' } },
        required: ['session', 'index'],
      },
      quote: { type: 'string', description: 'Words that the source printed, to the letter.' },
      subject: { type: 'string', description: 'Whom or what the fact is about; only together with `attribute`.' },
      attribute: {
        type: 'string',
        description: 'Which property it gives, such as `plan`: a new value replaces the old one.',
      },
      metadata: { type: 'object', description: 'Further values, such as {"order": "A-1042"}.' },
      supersedes: {
        type: 'array',
        items: { type: 'string' },
        description: 'The ids of known facts that this one replaces, because they do not hold any more.',
      },
      keep: { type: 'boolean', description: 'True stores the fact beside known ones that say nearly the same.' },
    },
    required: ['content'],
    additionalProperties: false,
  },
  run(fact, session) {
    if (fact.quote !== undefined && fact.source === undefined) {
      throw KeepsakeError.invalid('a quote needs the source that it is taken from');
    }
    const { outcome, fact: known, near } = session.scope().remember(fact);
    const answer = { outcome, fact: told(known), near: near.map(told) };
    return NOTES[outcome] ? { ...answer, note: NOTES[outcome] } : answer;
  },
});

/** What a model can do where nothing was stored. */
const NOTES = {
  'near-duplicate':
    'nothing was stored, because known facts in `near` say nearly the same. If they do, leave it. If they do not hold any more, call again with their ids in `supersedes`. If both hold and differ, call again with `keep` true',
  echo: 'nothing was stored: this was recalled in this conversation and is known',
};

const recallFacts = tool({
  name: 'recall_facts',
  description: 'Looks up what is remembered about this customer.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to look for, in a few words or as a question.' },
      limit: { type: 'integer', description: 'At most so many facts; 5 unless given.' },
    },
    required: ['query'],
  },
  run({ query, limit = 5 }, session) {
    const { facts } = session.scope().recall(query, { limit: Math.min(Math.max(limit, 1), RECALLED) });
    return { facts: facts.map(({ fact, score }) => ({ ...told(fact), score: score.total })) };
  },
});

function told({ id, content, verified, verification, createdAt }) {
  return { id, content, verified, verification, created_at: createdAt };
}
