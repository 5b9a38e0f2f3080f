// Questions to a model, and its answers.

import { response } from './answer.js';
import { ask, KeepsakeError } from './error.js';
import { optionalJson, toJson } from './json.js';
import { known } from './records.js';

const REQUEST_KEYS = ['messages', 'tools', 'temperature', 'maxTokens', 'stop', 'extras'];

/**
 * An answer on its way: loop over it for the pieces, or `finish` it. Leaving it
 * unfinished ends the request.
 */
export class Completion {
  #host;

  constructor(host) {
    this.#host = host;
  }

  *[Symbol.iterator]() {
    for (;;) {
      const piece = ask(() => this.#host.next());
      if (piece === undefined) return;
      yield piece;
    }
  }

  /** The whole answer; `onText` is given the text as it comes. */
  finish(onText) {
    if (onText) {
      for (const piece of this) if (piece.tag === 'text') onText(piece.val);
    }
    const answer = response(ask(() => this.#host.finish()));
    this.close();
    return answer;
  }

  /** Ends the request. The engine drops no handle by itself. */
  close() {
    this.#host[Symbol.dispose ?? Symbol.for('dispose')]?.();
  }
}

export function toRequest(request) {
  if (Array.isArray(request)) return toRequest({ messages: request });
  known(request, REQUEST_KEYS, 'requests');
  if (!Array.isArray(request.messages)) throw KeepsakeError.invalid('a request has a list of `messages`');
  return {
    messages: request.messages.map(toMessage),
    tools: (request.tools ?? []).map((tool) => ({ ...tool, parameters: toJson(tool.parameters, 'a schema') })),
    temperature: request.temperature,
    maxTokens: request.maxTokens,
    stop: request.stop ?? [],
    extras: optionalJson(request.extras, '`extras`'),
  };
}

function toMessage({ role, content, toolCalls = [], toolCallId }) {
  return { role, content, toolCalls, toolCallId };
}
