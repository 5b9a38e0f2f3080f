// Memory in this process. It keeps what an agent can see of the real one:
// working memory, profiles by merge patch, facts with sources that are checked
// against recorded commands, values that supersede older ones, recall by words.
// Facts that say nearly the same are not compared: only the host does that.

import { invalid, unsupported } from './failure.js';
import { recall, snippet } from './recall.js';

/** When a test begins: 2026-01-01. Each event takes a millisecond. */
const BEGINNING = 1_767_225_600_000n;

/** The memory of all customers, and what happened. */
export class Memory {
  #resources = new Map();
  #entries = [];
  #ticks = 0n;
  /** Ids of the facts that this turn showed. */
  #shown = new Set();

  now() {
    return BEGINNING + this.#ticks;
  }

  newTurn() {
    this.#shown.clear();
  }

  of(resource) {
    if (!this.#resources.has(resource)) {
      this.#resources.set(resource, { working: new Map(), profile: {}, facts: [] });
    }
    return this.#resources.get(resource);
  }

  record(resource, session, kind, payload) {
    const index = BigInt(this.#entries.filter((entry) => entry.reference.session === session).length);
    const reference = { session, index, hash: undefined };
    this.#entries.push({ resource, reference, at: this.#tick(), kind, payload });
    return reference;
  }

  /** What the component's `scope` is. */
  scope(resource, record) {
    return new TestScope(this, resource, record);
  }

  #tick() {
    this.#ticks += 1n;
    return this.now();
  }

  /** Current facts, newest first. */
  current(resource) {
    const now = this.now();
    return this.of(resource).facts.filter((fact) => holds(fact, now)).reverse();
  }

  show(facts) {
    for (const { id } of facts) this.#shown.add(id);
  }

  entries(resource) {
    return this.#entries.filter((entry) => entry.resource === resource);
  }

  /** What was said in a session before a turn, newest first. */
  exchanges(resource, session, before, limit) {
    if (limit < 1 || limit > 1000) invalid('`limit` is from 1 to 1,000');
    const said = this.entries(resource).filter(({ reference }) => reference.session === session);
    const of = (kind, turn) => said.find((entry) => entry.kind === kind && entry.payload.turn === turn);
    const found = [];
    for (let turn = before - 1; turn >= 0 && found.length < limit; turn -= 1) {
      const [began, ended] = [of('turn-started', turn), of('turn-completed', turn)];
      if (began && ended) found.push({ turn, at: began.at, message: began.payload.message, reply: ended.payload.reply });
    }
    return found;
  }

  check(resource, fact) {
    if (fact.content.trim() === '') invalid('a fact must not be empty');
    if ((fact.subject === undefined) !== (fact.attribute === undefined)) {
      invalid("a fact's subject and attribute are given together or not at all");
    }
    if (!fact.source) {
      if (fact.quote !== undefined) invalid('a quote needs the source that it is taken from');
      return;
    }
    const { session, index } = fact.source;
    const entry = this.entries(resource).find(
      ({ reference }) => reference.session === session && reference.index === index,
    );
    if (!entry) invalid('the source is no entry of this scope');
    const { stdout = '', stderr = '' } = entry.payload;
    if (fact.quote !== undefined && !stdout.includes(fact.quote) && !stderr.includes(fact.quote)) {
      invalid("the quote does not stand in the source's output");
    }
  }

  remember(resource, fresh) {
    const at = this.#tick();
    const { facts } = this.of(resource);
    const same = facts.find((known) => holds(known, at) && known.content === fresh.content);
    if (same) {
      if (this.#shown.has(same.id)) return { outcome: 'echo', fact: { ...same }, near: [] };
      same.updatedAt = at;
      if (!same.source && fresh.source) Object.assign(same, { source: fresh.source, verification: 'verified' });
      return { outcome: 'repeated', fact: { ...same }, near: [] };
    }
    const fact = stored(fresh, `fact-${at}`, at);
    const older = facts.filter((known) => holds(known, at) && ends(fresh, known));
    for (const known of older) Object.assign(known, { validUntil: at, supersededBy: fact.id });
    facts.push(fact);
    return { outcome: older.length > 0 ? 'superseded' : 'stored', fact: { ...fact }, near: [] };
  }
}

function holds(fact, now) {
  return fact.validUntil === undefined || fact.validUntil > now;
}

/** Whether a new fact replaces a known one. */
function ends(fresh, known) {
  const sameProperty =
    fresh.subject !== undefined && fresh.subject === known.subject && fresh.attribute === known.attribute;
  return sameProperty || fresh.supersedes.includes(known.id);
}

function stored(fresh, id, at) {
  return {
    id,
    content: fresh.content,
    metadata: fresh.metadata ?? '{}',
    source: fresh.source,
    verification: fresh.source ? 'verified' : 'unverified',
    createdAt: at,
    updatedAt: at,
    subject: fresh.subject,
    attribute: fresh.attribute,
    validFrom: fresh.validFrom ?? at,
    validUntil: fresh.expiresAt,
    supersededBy: undefined,
    thread: fresh.thread,
    position: fresh.position,
    instructionLike: false,
    masked: false,
    extras: fresh.extras,
  };
}

/** Gives what the component's `scope` gives. */
class TestScope {
  #memory;
  #resource;
  #record;

  constructor(memory, resource, record) {
    this.#memory = memory;
    this.#resource = resource;
    this.#record = record;
  }

  get #mine() {
    return this.#memory.of(this.#resource);
  }

  get(key) {
    return this.#mine.working.get(key);
  }

  set(key, value) {
    // As the host does: control characters are no part of a key.
    if (key === '' || new TextEncoder().encode(key).length > 256 || /\p{Cc}/u.test(key)) {
      invalid('a key is from 1 to 256 bytes without control characters');
    }
    this.#mine.working.set(key, value);
  }

  compareAndSet(key, expected, value) {
    if (normal(this.get(key)) !== normal(expected)) return false;
    if (value === undefined) this.delete(key);
    else this.set(key, value);
    return true;
  }

  delete(key) {
    return this.#mine.working.delete(key);
  }

  listWorking({ after = '', limit }) {
    const keys = [...this.#mine.working.keys()].sort().filter((key) => key > after);
    const items = keys.slice(0, limit).map((key) => [key, this.get(key)]);
    return { items, next: keys.length > limit ? keys[limit - 1] : undefined };
  }

  profile() {
    return JSON.stringify(this.#mine.profile);
  }

  updateProfile(text) {
    const patch = JSON.parse(text);
    if (!isObject(patch)) invalid('a profile is an object, and so is its patch');
    this.#mine.profile = merged(this.#mine.profile, patch);
    return this.profile();
  }

  clearProfile() {
    this.#mine.profile = {};
  }

  remember(fact) {
    return this.rememberMany([fact])[0];
  }

  rememberMany(facts) {
    for (const fact of facts) this.#memory.check(this.#resource, fact);
    return facts.map((fact) => this.#memory.remember(this.#resource, fact));
  }

  recall(query, options) {
    if (options.limit < 1 || options.limit > 1000) invalid('`limit` is from 1 to 1,000');
    const facts = recall(this.#memory.current(this.#resource), query, options);
    this.#memory.show(facts.map(({ fact }) => fact));
    return { facts, receipt: this.#record('recalled', { query, facts: facts.length }) };
  }

  find(id) {
    return this.#mine.facts.find((fact) => fact.id === id);
  }

  listFacts({ after, limit }) {
    const all = this.#memory.current(this.#resource);
    const begin = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && begin === 0) invalid('no page answered with this');
    const facts = all.slice(begin, begin + limit);
    return { facts, next: begin + limit < all.length ? facts.at(-1).id : undefined };
  }

  forget(ids) {
    const { facts } = this.#mine;
    const kept = facts.filter(({ id }) => !ids.includes(id));
    this.#mine.facts = kept;
    return BigInt(facts.length - kept.length);
  }

  expire(id, at) {
    const fact = this.find(id);
    if (fact) fact.validUntil = at;
    return fact !== undefined;
  }

  compact() {
    unsupported('scope.compact');
  }

  snippet(options) {
    const { profile, working } = this.#mine;
    const { text, used } = snippet(profile, working, this.#memory.current(this.#resource), options);
    this.#memory.show(used);
    return text;
  }

  fork() {
    unsupported('scope.fork');
  }

  episodes({ page, since, until, session }) {
    const fits = this.#memory.entries(this.#resource).filter(
      (entry) =>
        (session === undefined || entry.reference.session === session) &&
        (since === undefined || entry.at >= since) &&
        (until === undefined || entry.at < until),
    );
    const begin = page.after === undefined ? 0 : Number(page.after);
    const episodes = fits.slice(begin, begin + page.limit).map((entry) => ({
      entry: entry.reference,
      at: entry.at,
      kind: entry.kind,
      payload: JSON.stringify(entry.payload),
    }));
    return { episodes, next: begin + page.limit < fits.length ? String(begin + page.limit) : undefined };
  }

  episodeTree() {
    unsupported('scope.episode-tree');
  }
}

/** JSON texts are compared as values: spaces mean nothing. */
function normal(text) {
  return text === undefined ? undefined : JSON.stringify(JSON.parse(text));
}

/** A JSON merge patch (RFC 7386). */
function merged(target, patch) {
  if (!isObject(patch)) return patch;
  const members = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete members[key];
    else members[key] = merged(members[key], value);
  }
  return members;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
