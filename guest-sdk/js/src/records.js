// The records of memory, as authors write them and as the host takes them.

import { KeepsakeError } from './error.js';
import { firstBytes, fromJson, fromU64, optionalJson, toU64 } from './json.js';

/** How long a query may be; of longer messages a snippet looks for the beginning. */
export const QUERY_BYTES = 16 * 1024;

const FACT_KEYS = ['content', 'metadata', 'source', 'quote', 'subject', 'attribute', 'supersedes', 'validFrom', 'expiresAt', 'thread', 'position', 'keep'];
const RECALL_KEYS = ['limit', 'mode', 'minScore', 'metadata', 'since', 'until', 'asOf', 'verifiedOnly', 'includeSuperseded', 'wider'];
const SNIPPET_KEYS = ['query', 'maxBytes', 'maxFacts', 'maxTokens'];

export function newFact(fact) {
  if (typeof fact === 'string') return newFact({ content: fact });
  known(fact, FACT_KEYS, 'a fact');
  if (typeof fact.content !== 'string') throw KeepsakeError.invalid('a fact has a text as its `content`');
  return {
    content: fact.content,
    metadata: optionalJson(fact.metadata, "a fact's metadata"),
    source: fact.source && toEntry(fact.source),
    quote: fact.quote,
    subject: fact.subject,
    attribute: fact.attribute,
    supersedes: fact.supersedes ?? [],
    validFrom: toU64(fact.validFrom, '`validFrom`'),
    expiresAt: toU64(fact.expiresAt, '`expiresAt`'),
    thread: fact.thread,
    position: fact.position,
    extras: fact.keep ? '{"keep":true}' : undefined,
  };
}

export function fact(wit) {
  return {
    ...wit,
    metadata: fromJson(wit.metadata, "a fact's metadata"),
    source: wit.source && entry(wit.source),
    verified: wit.verification === 'verified',
    createdAt: fromU64(wit.createdAt),
    updatedAt: fromU64(wit.updatedAt),
    validFrom: fromU64(wit.validFrom),
    validUntil: fromU64(wit.validUntil),
    extras: wit.extras === undefined ? {} : fromJson(wit.extras, "a fact's extras"),
  };
}

export function remembered(wit) {
  return { outcome: wit.outcome, fact: fact(wit.fact), near: wit.near.map(fact) };
}

export function recallOptions(options = {}) {
  known(options, RECALL_KEYS, 'the options of `recall`');
  return {
    limit: options.limit ?? 5,
    mode: options.mode ?? 'hybrid',
    minScore: options.minScore,
    metadata: optionalJson(options.metadata, '`metadata`'),
    since: toU64(options.since, '`since`'),
    until: toU64(options.until, '`until`'),
    asOf: toU64(options.asOf, '`asOf`'),
    verifiedOnly: options.verifiedOnly ?? false,
    includeSuperseded: options.includeSuperseded ?? false,
    wider: options.wider ?? false,
    extras: undefined,
  };
}

export function recollection(wit) {
  const facts = wit.facts.map(({ score, layer, ...recalled }) => ({ fact: fact(recalled.fact), score, layer }));
  return { facts, receipt: entry(wit.receipt) };
}

export function snippetOptions(options = {}) {
  const given = typeof options === 'string' ? { query: options } : options;
  known(given, SNIPPET_KEYS, 'the options of `snippet`');
  return {
    query: given.query === undefined ? undefined : firstBytes(given.query, QUERY_BYTES),
    maxBytes: given.maxBytes ?? 4096,
    maxFacts: given.maxFacts ?? 20,
    extras: given.maxTokens === undefined ? undefined : JSON.stringify({ 'max-tokens': given.maxTokens }),
  };
}

export function entry(wit) {
  return { session: wit.session, index: fromU64(wit.index), hash: wit.hash };
}

export function toEntry(reference) {
  return { session: reference.session, index: toU64(reference.index, '`index`'), hash: reference.hash };
}

export function episode(wit) {
  return { entry: entry(wit.entry), at: fromU64(wit.at), kind: wit.kind, payload: fromJson(wit.payload, 'an episode') };
}

export function difference(wit) {
  return { ...wit, added: wit.added.map(fact), changed: wit.changed.map(fact) };
}

export function numbers(record) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value]));
}

/** A mistyped key would change nothing, and nobody would be told. */
export function known(record, keys, what) {
  const strange = Object.keys(record).find((key) => !keys.includes(key));
  if (strange !== undefined) throw KeepsakeError.invalid(`${what} have no \`${strange}\`; there are ${keys.join(', ')}`);
}
