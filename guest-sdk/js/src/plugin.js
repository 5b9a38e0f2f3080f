// What a plugin's module exports by default.

import { KeepsakeError } from './error.js';

/** Marks what a `define` function made, so that a build can tell what it is. */
export const KIND = Symbol.for('keepsake.kind');

/** An agent: what it is, and how it answers a message. */
export function defineAgent({ description, handle, ...rest }) {
  nothingElse(rest, 'an agent', 'description, handle');
  for (const key of ['name', 'version', 'summary']) {
    if (typeof description?.[key] !== 'string') {
      throw KeepsakeError.invalid(`an agent's \`description\` has a text as its \`${key}\``);
    }
  }
  isFunction(handle, 'handle', 'an agent');
  return { [KIND]: 'agent', description, handle };
}

/** An embedding provider: what it is, and how it turns texts into vectors. */
export function defineEmbeddingProvider({ info, embed, ...rest }) {
  nothingElse(rest, 'an embedding provider', 'info, embed');
  isFunction(info, 'info', 'an embedding provider');
  isFunction(embed, 'embed', 'an embedding provider');
  return { [KIND]: 'embedding-provider', info, embed };
}

/** A model provider: what it is, and how it answers a question. */
export function defineModelProvider({ info, chat, ...rest }) {
  nothingElse(rest, 'a model provider', 'info, chat');
  isFunction(info, 'info', 'a model provider');
  isFunction(chat, 'chat', 'a model provider');
  return { [KIND]: 'model-provider', info, chat };
}

/** A reply as an agent may give it, a text or an object, as one object. */
export function toReply(reply) {
  if (typeof reply === 'string') return { text: reply };
  if (typeof reply?.text === 'string') return reply;
  throw KeepsakeError.invalid('`handle` answers with a text, or with an object that has a `text`');
}

function isFunction(given, name, what) {
  if (typeof given !== 'function') throw KeepsakeError.invalid(`${what} has a function \`${name}\``);
}

function nothingElse(rest, what, names) {
  const [strange] = Object.keys(rest);
  if (strange !== undefined) throw KeepsakeError.invalid(`${what} has no \`${strange}\`; there are ${names}`);
}
