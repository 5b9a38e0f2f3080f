// Questions to a model, and its answers.

import { ask, KeepsakeError } from './error.js';
import { fromU64, optionalJson, toJson } from './json.js';
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
    const response = answer(ask(() => this.#host.finish()));
    this.close();
    return response;
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

function answer(wit) {
  const { finishReason, usage } = wit;
  return {
    message: wit.message,
    finishReason: finishReason.tag === 'other' ? finishReason.val : finishReason.tag,
    usage: usage && { inputTokens: fromU64(usage.inputTokens), outputTokens: fromU64(usage.outputTokens) },
    model: wit.model,
  };
}
