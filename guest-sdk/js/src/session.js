// The conversation that an agent is in, and the way to everything else.

import { conversation } from './conversation.js';
import { ask, KeepsakeError } from './error.js';
import { fromJson, fromU64, optionalJson } from './json.js';
import { Scope } from './memory.js';
import { Completion, toRequest } from './model.js';
import { difference, numbers } from './records.js';
import { Sandbox } from './sandbox.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];

/** What every plugin may ask for: its settings and the operator's log. */
export class Context {
  #host;

  constructor(host) {
    this.#host = host;
  }

  setting(key) {
    const text = ask(() => this.#host.settings.get(key));
    return text === undefined ? undefined : fromJson(text, `the setting \`${key}\``);
  }

  log(level, message, fields) {
    if (!LEVELS.includes(level)) {
      throw KeepsakeError.invalid(`there is no level \`${level}\`; there are ${LEVELS.join(', ')}`);
    }
    this.#host.log.log(level, message, optionalJson(fields, 'the fields'));
  }
}

/** One turn of a conversation with one customer, whom the host chooses. */
export class Session extends Context {
  #host;

  constructor(host) {
    super(host);
    this.#host = host;
  }

  info() {
    const info = this.#host.session.info();
    return { ...info, startedAt: fromU64(info.startedAt), channel: fromJson(info.channel, 'what the channel tells') };
  }

  exchanges({ before, limit = 50 } = {}) {
    return ask(() => this.#host.session.exchanges(before, limit)).map((wit) => ({ ...wit, at: fromU64(wit.at) }));
  }

  conversation(room) {
    return conversation(this, room);
  }

  scope() {
    return new Scope(ask(() => this.#host.session.openScope()));
  }

  accountScope() {
    const scope = ask(() => this.#host.session.openAccountScope());
    return scope === undefined ? undefined : new Scope(scope);
  }

  teamScope() {
    const scope = ask(() => this.#host.session.openTeamScope());
    return scope === undefined ? undefined : new Scope(scope);
  }

  sandbox() {
    return new Sandbox(ask(() => this.#host.session.openSandbox()));
  }

  emit(chunk) {
    ask(() => this.#host.session.emit(chunk));
  }

  modelInfo() {
    const { model, contextTokens, extras } = ask(() => this.#host.model.info());
    return { model, contextTokens, extras: extras === undefined ? {} : fromJson(extras) };
  }

  chat(request) {
    const wit = toRequest(request);
    return new Completion(ask(() => this.#host.model.chat(wit)));
  }

  ask(request) {
    return this.chat(request).finish();
  }

  embeddingInfo() {
    const info = ask(() => this.#host.embeddings.info());
    return { ...info, extras: info.extras === undefined ? {} : fromJson(info.extras) };
  }

  embed(texts, kind = 'passage') {
    return ask(() => this.#host.embeddings.embed(texts, kind));
  }

  spawn(agent, { forkSandbox = false, settings } = {}) {
    const options = { forkSandbox, settings: optionalJson(settings, 'the settings'), extras: undefined };
    return new Child(ask(() => this.#host.agents.spawn(agent, options)));
  }
}

/** Another agent at work, with a fork of this session's memory. */
export class Child {
  #host;

  constructor(host) {
    this.#host = host;
  }

  get session() {
    return this.#host.session();
  }

  send(message) {
    ask(() => this.#host.send(message));
  }

  next() {
    return ask(() => this.#host.next());
  }

  diff() {
    return difference(ask(() => this.#host.diff()));
  }

  merge() {
    return numbers(ask(() => this.#host.merge()));
  }

  discard() {
    ask(() => this.#host.discard());
  }
}

