// An answer that a model provider gives, from the pieces that its function yields.

import { fromU64, fromJson, toJson, toU64 } from './json.js';
import { known } from './records.js';

const REASONS = ['stop', 'length', 'tool-calls', 'content-filter'];
const END_KEYS = ['finishReason', 'usage', 'model'];
const CALL_KEYS = ['index', 'id', 'name', 'arguments'];

/** A question as a provider reads it, from what the host gives. */
export function question(wit) {
  return {
    messages: wit.messages,
    tools: wit.tools.map((tool) => ({ ...tool, parameters: fromJson(tool.parameters, 'a schema') })),
    temperature: wit.temperature,
    maxTokens: wit.maxTokens,
    stop: wit.stop,
    extras: wit.extras === undefined ? {} : fromJson(wit.extras, '`extras`'),
  };
}

/** What a provider is, as the host takes it. */
export function modelInfo({ model, contextTokens, extras, ...rest }) {
  known(rest, [], 'the facts of a model, besides `model`, `contextTokens` and `extras`,');
  return { model, contextTokens, extras: extras === undefined ? undefined : toJson(extras, '`extras`') };
}

/** An answer on its way: its pieces as the host takes them, and the whole at the end. */
export class Answer {
  #pieces;
  #model;
  #first;
  #content = '';
  #calls = [];
  #end;

  /**
   * Begins an answer. The first piece is waited for, so that a question that is
   * refused is refused at once.
   */
  static async begin(provider, context, wit) {
    const said = await provider.chat(context, question(wit));
    const { model } = await provider.info(context);
    const answer = new Answer(typeof said === 'string' ? [said][Symbol.iterator]() : said, model);
    answer.#first = await answer.#read();
    return answer;
  }

  constructor(pieces, model) {
    if (typeof pieces?.next !== 'function') {
      throw new TypeError('`chat` answers with a text, or is a generator that yields the pieces of one');
    }
    this.#pieces = pieces;
    this.#model = model;
  }

  /** The next piece; undefined at the end. */
  async next() {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#read();
  }

  /** The whole answer. */
  async finish() {
    while ((await this.next()) !== undefined);
    const { finishReason, usage, model } = this.#end;
    const reason = finishReason ?? (this.#calls.length > 0 ? 'tool-calls' : 'stop');
    return {
      message: { role: 'assistant', content: this.#content, toolCalls: this.#calls.filter(Boolean), toolCallId: undefined },
      finishReason: REASONS.includes(reason) ? { tag: reason } : { tag: 'other', val: reason },
      usage: usage && { inputTokens: toU64(usage.inputTokens, '`inputTokens`'), outputTokens: toU64(usage.outputTokens, '`outputTokens`') },
      model: model ?? this.#model,
    };
  }

  /** Nobody wants the rest: what the generator holds is let go. */
  async close() {
    await this.#pieces.return?.();
  }

  async #read() {
    if (this.#end) return undefined;
    const { value, done } = await this.#pieces.next();
    if (!done) return this.#take(value);
    this.#end = value ?? {};
    known(this.#end, END_KEYS, 'the end of an answer');
    return undefined;
  }

  #take(piece) {
    if (typeof piece === 'string') {
      this.#content += piece;
      return { tag: 'text', val: piece };
    }
    if (typeof piece?.toolCall !== 'object') {
      throw new TypeError('a piece of an answer is a text, or `{ toolCall: { index, id, name, arguments } }`');
    }
    return { tag: 'tool-call', val: this.#takeCall(piece.toolCall) };
  }

  #takeCall(given) {
    known(given, CALL_KEYS, 'pieces of a tool call');
    const { index = 0, id, name, arguments: text = '' } = given;
    if (this.#calls[index]) {
      this.#calls[index].arguments += text;
    } else {
      if (typeof id !== 'string' || typeof name !== 'string') throw new TypeError('the first piece of a tool call has an `id` and a `name`');
      this.#calls[index] = { id, name, arguments: text };
    }
    return { index, id, name, arguments: text };
  }
}

/** A whole answer as authors read it. */
export function response(wit) {
  const { finishReason, usage } = wit;
  return {
    message: wit.message,
    finishReason: finishReason.tag === 'other' ? finishReason.val : finishReason.tag,
    usage: usage && { inputTokens: fromU64(usage.inputTokens), outputTokens: fromU64(usage.outputTokens) },
    model: wit.model,
  };
}
