// The memory of one customer.

import { ask, KeepsakeError } from './error.js';
import { fromJson, fromU64, toJson, toU64 } from './json.js';
import * as records from './records.js';

/** How often `update` tries again when another session was faster. */
const UPDATE_ATTEMPTS = 16;
/** Items that are asked for at once where all of them are wanted. */
const PAGE = 100;

/**
 * The memory of one customer. Each call is one transaction, and what it answers
 * has reached the disk.
 */
export class Scope {
  #host;

  constructor(host) {
    this.#host = host;
  }

  get(key) {
    const text = ask(() => this.#host.get(key));
    return text === undefined ? undefined : fromJson(text, `the value under \`${key}\``);
  }

  set(key, value) {
    const text = toJson(value, `the value for \`${key}\``);
    ask(() => this.#host.set(key, text));
  }

  compareAndSet(key, expected, value) {
    const [from, to] = [expected, value].map((side) => (side === undefined ? undefined : toJson(side)));
    return ask(() => this.#host.compareAndSet(key, from, to));
  }

  delete(key) {
    return ask(() => this.#host.delete(key));
  }

  update(key, change) {
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS; attempt += 1) {
      const known = ask(() => this.#host.get(key));
      const value = change(known === undefined ? undefined : fromJson(known));
      const text = value === undefined ? undefined : toJson(value, `the value for \`${key}\``);
      if (ask(() => this.#host.compareAndSet(key, known, text))) return value;
    }
    throw KeepsakeError.unavailable(
      `other sessions changed \`${key}\` ${UPDATE_ATTEMPTS} times while it was being changed: try again`,
    );
  }

  *values() {
    yield* pages((page) => {
      const { items, next } = ask(() => this.#host.listWorking(page));
      return { items: items.map(([key, text]) => [key, fromJson(text, `the value under \`${key}\``)]), next };
    });
  }

  profile() {
    return fromJson(ask(() => this.#host.profile()), 'the profile');
  }

  updateProfile(patch) {
    const text = toJson(patch, 'the patch');
    return fromJson(ask(() => this.#host.updateProfile(text)), 'the profile');
  }

  clearProfile() {
    ask(() => this.#host.clearProfile());
  }

  remember(fact) {
    const wit = records.newFact(fact);
    return records.remembered(ask(() => this.#host.remember(wit)));
  }

  rememberMany(facts) {
    const wit = facts.map(records.newFact);
    return ask(() => this.#host.rememberMany(wit)).map(records.remembered);
  }

  recall(query, options) {
    const wit = records.recallOptions(options);
    return records.recollection(ask(() => this.#host.recall(query, wit)));
  }

  find(id) {
    const found = ask(() => this.#host.find(id));
    return found === undefined ? undefined : records.fact(found);
  }

  *facts() {
    yield* pages((page) => {
      const { facts, next } = ask(() => this.#host.listFacts(page));
      return { items: facts.map(records.fact), next };
    });
  }

  forget(ids) {
    return fromU64(ask(() => this.#host.forget(ids)));
  }

  expire(id, at) {
    const time = toU64(at, '`at`');
    return ask(() => this.#host.expire(id, time));
  }

  compact({ maxAgeMs, maxFacts } = {}) {
    const options = { maxAgeMs: toU64(maxAgeMs, '`maxAgeMs`'), maxFacts, extras: undefined };
    return records.numbers(ask(() => this.#host.compact(options)));
  }

  snippet(options) {
    const wit = records.snippetOptions(options);
    return ask(() => this.#host.snippet(wit));
  }

  fork(child) {
    return new Branch(ask(() => this.#host.fork(child)));
  }

  *episodes({ session, since, until, lineage = false } = {}) {
    const bounds = { session, lineage, since: toU64(since, '`since`'), until: toU64(until, '`until`') };
    yield* pages((page) => {
      const { episodes, next } = ask(() => this.#host.episodes({ page, ...bounds }));
      return { items: episodes.map(records.episode), next };
    });
  }

  episodeTree() {
    return ask(() => this.#host.episodeTree()).map((node) => ({ ...node, episodes: node.episodes.map(records.episode) }));
  }
}

/** A fork of a memory, and its way back. */
export class Branch {
  #host;

  constructor(host) {
    this.#host = host;
  }

  scope() {
    return new Scope(ask(() => this.#host.scope()));
  }

  diff() {
    return records.difference(ask(() => this.#host.diff()));
  }

  merge() {
    return records.numbers(ask(() => this.#host.merge()));
  }

  discard() {
    ask(() => this.#host.discard());
  }
}

function* pages(read) {
  let after;
  do {
    const { items, next } = read({ after, limit: PAGE });
    yield* items;
    after = next;
  } while (after !== undefined);
}

