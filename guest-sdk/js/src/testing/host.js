// The host of a test: what a test says, and what an agent may ask.

import { Answer, response } from '../answer.js';
import { toRequest } from '../model.js';
import { KIND, toReply } from '../plugin.js';
import { Context, Session } from '../session.js';
import { toJson } from '../json.js';
import { entry } from '../records.js';
import { invalid, unavailable, unsupported } from './failure.js';
import { Memory } from './memory.js';
import { TestSandbox } from './sandbox.js';

/** Keeps one customer's memory, and answers as the test says. */
export class Host {
  #memory = new Memory();
  #settings = new Map();
  #answers = [];
  #commands;
  #files = new Map();
  #session = 1;
  #turn = 0;
  #emitted = [];
  #modelInfo = { model: 'scripted' };

  /** What the model was asked, in order. */
  requests = [];
  /** The lines of the commands that were run. */
  commandsRun = [];
  /** What was logged: `{ level, message, fields }`. */
  logged = [];

  constructor({ resource = 'customer', settings = {} } = {}) {
    this.resource = resource;
    for (const [key, value] of Object.entries(settings)) this.#settings.set(key, toJson(value));
  }

  /** What the model answers next, as text. */
  modelSays(text) {
    return this.modelAnswers({ message: { role: 'assistant', content: text, toolCalls: [] }, finishReason: { tag: 'stop' } });
  }

  /** The tools that the model calls next: `[name, arguments]` for each. */
  modelCalls(...calls) {
    const toolCalls = calls.map(([name, given], number) => ({
      id: `call-${this.#answers.length}-${number}`,
      name,
      arguments: typeof given === 'string' ? given : toJson(given ?? {}),
    }));
    return this.modelAnswers({ message: { role: 'assistant', content: '', toolCalls }, finishReason: { tag: 'tool-calls' } });
  }

  /** What the model answers next; an error is thrown to the agent. */
  modelAnswers(answer) {
    this.#answers.push(answer);
    return this;
  }

  /** What the model tells of itself: `{ model, contextTokens, extras }`. */
  modelIs({ model = 'scripted', contextTokens, extras }) {
    this.#modelInfo = { model, contextTokens, extras };
    return this;
  }

  /**
   * How commands end: a function of the command's line to what it prints, or to
   * `{ code, stdout, stderr }`. Without this there is no sandbox.
   */
  commands(answer) {
    this.#commands = answer;
    return this;
  }

  /** Begins another session of the same customer, with a sandbox of its own. */
  newSession() {
    this.#session += 1;
    this.#turn = 0;
    this.#files.clear();
  }

  /** Handles one message as the real host does, and gives the reply. */
  async turn(agent, message) {
    if (agent?.[KIND] !== 'agent') throw new TypeError('a turn is handled by what `defineAgent` made');
    this.#emitted = [];
    this.#memory.newTurn();
    const turn = this.#turn;
    this.record('turn-started', { turn, message });
    try {
      const reply = toReply(await agent.handle(this.session(), { message, extras: undefined }));
      this.record('turn-completed', { turn, reply: reply.text });
      return reply;
    } catch (error) {
      this.record('turn-failed', { turn, error: String(error.message) });
      throw error;
    } finally {
      this.#turn += 1;
    }
  }

  /** Asks a model provider, and gives its whole answer with the pieces of text that it came in. */
  async chat(provider, request) {
    if (provider?.[KIND] !== 'model-provider') throw new TypeError('a question is answered by what `defineModelProvider` made');
    const answer = await Answer.begin(provider, this.context(), toRequest(request));
    const pieces = [];
    for (let piece = await answer.next(); piece; piece = await answer.next()) if (piece.tag === 'text') pieces.push(piece.val);
    return { ...response(await answer.finish()), pieces };
  }

  /** The session as an agent sees it, for tests of parts of an agent. */
  session() {
    return new Session(this.imports());
  }

  /** What a provider sees. */
  context() {
    return new Context(this.imports());
  }

  /** What was emitted in the last turn. */
  get emitted() {
    return this.#emitted.join('');
  }

  /** The customer's profile. */
  get profile() {
    return structuredClone(this.#memory.of(this.resource).profile);
  }

  /** The customer's current facts, newest first. */
  get facts() {
    return [...this.session().scope().facts()];
  }

  /** A value of working memory. */
  working(key) {
    return this.session().scope().get(key);
  }

  /** Writes an entry of the ledger, and gives what points at it. */
  record(kind, payload) {
    return entry(this.#record(kind, payload));
  }

  /** What the component's imports are to a plugin. */
  imports() {
    return {
      settings: { get: (key) => this.#settings.get(key) },
      log: { log: (level, message, fields) => void this.logged.push({ level, message, fields: fields && JSON.parse(fields) }) },
      session: {
        info: () => this.#info(),
        exchanges: (before, limit) => this.#memory.exchanges(this.resource, this.#sessionId(), before ?? this.#turn, limit),
        openScope: () => this.#memory.scope(this.resource, (kind, payload) => this.#record(kind, payload)),
        openAccountScope: () => undefined,
        openTeamScope: () => undefined,
        openSandbox: () => this.#openSandbox(),
        emit: (chunk) => void this.#emitted.push(chunk),
      },
      model: {
        info: () => ({ ...this.#modelInfo, extras: this.#modelInfo.extras && toJson(this.#modelInfo.extras) }),
        chat: (request) => this.#chat(request),
      },
      embeddings: { info: () => unsupported('embeddings.info'), embed: () => unsupported('embeddings.embed') },
      agents: { spawn: () => unsupported('agents.spawn') },
    };
  }

  #record(kind, payload) {
    return this.#memory.record(this.resource, this.#sessionId(), kind, payload);
  }

  #sessionId() {
    return `session-${this.#session}`;
  }

  #info() {
    return {
      session: this.#sessionId(),
      resource: this.resource,
      account: undefined,
      team: undefined,
      agent: 'agent-under-test',
      turn: this.#turn,
      startedAt: this.#memory.now(),
      channel: '{}',
    };
  }

  #openSandbox() {
    if (!this.#commands) unavailable('this test has no sandbox: give it one with `host.commands`');
    return new TestSandbox({
      id: `sandbox-of-${this.#sessionId()}`,
      files: this.#files,
      run: (command) => {
        this.commandsRun.push(command.line);
        return this.#commands(command.line, command);
      },
      record: (kind, payload) => this.#record(kind, payload),
    });
  }

  #chat(request) {
    if (!request.messages.length) invalid('a request without messages');
    this.requests.push(request);
    const answer = this.#answers.shift();
    if (answer === undefined) unavailable('the test says nothing of what the model answers now: use `host.modelSays`');
    if (answer instanceof Error) throw { payload: { tag: 'unavailable', val: { message: answer.message } } };
    return completion({ usage: undefined, model: 'scripted', ...answer });
  }
}

/** A whole answer, piece by piece as providers give it. */
function completion(response) {
  const { content, toolCalls } = response.message;
  const pieces = toolCalls.map(({ id, name, arguments: given }, index) => ({
    tag: 'tool-call',
    val: { index, id, name, arguments: given },
  }));
  // Two pieces, as a text of which nothing is cut tests nothing.
  const middle = Math.ceil(content.length / 2);
  const texts = [content.slice(0, middle), content.slice(middle)].filter((text) => text !== '');
  pieces.unshift(...texts.map((val) => ({ tag: 'text', val })));
  return {
    next: () => pieces.shift(),
    finish: () => response,
    [Symbol.dispose ?? Symbol.for('dispose')]() {},
  };
}
