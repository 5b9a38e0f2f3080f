// Tools that a model may ask for.

import { KeepsakeError } from './error.js';
import { fromJson, toJson } from './json.js';
import { misfit } from './schema.js';

/**
 * One tool: its name, what it is for, the JSON Schema of its arguments, and the
 * function that it runs, which is given the arguments and the session.
 */
export function tool({ name, description, parameters = { type: 'object', properties: {} }, run }) {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name ?? '')) {
    throw KeepsakeError.invalid(`\`${name}\` cannot be a tool's name: it is from 1 to 64 of A-Z a-z 0-9 _ -`);
  }
  if (typeof description !== 'string') throw KeepsakeError.invalid(`the tool \`${name}\` has a text as its \`description\``);
  if (typeof run !== 'function') throw KeepsakeError.invalid(`the tool \`${name}\` has a function \`run\``);
  return Object.freeze({ name, description, parameters, run });
}

/** The tools of one turn. A later one takes the place of one of the same name. */
export class Toolbox {
  #tools = new Map();

  constructor(tools = []) {
    for (const one of tools) this.#tools.set(one.name, one);
  }

  /** What the model is told of them. */
  definitions() {
    return [...this.#tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  /**
   * Runs a call. What goes wrong in a way that the model can mend is part of
   * the answer; a fault in the tool itself is thrown.
   */
  async answer(session, call) {
    try {
      const found = this.#tools.get(call.name);
      if (!found) throw KeepsakeError.notFound(`there is no tool \`${call.name}\`; there are ${this.#names()}`);
      const { given, wrong } = read(found, call.arguments);
      if (wrong) return misfitting(found, wrong);
      const value = await found.run(given, session);
      return { content: toJson(value ?? null, `what \`${call.name}\` answers`), failed: false };
    } catch (error) {
      if (!(error instanceof KeepsakeError)) throw error;
      return failed(error);
    }
  }

  #names() {
    return this.#tools.size === 0 ? 'no tools at all' : [...this.#tools.keys()].join(', ');
  }
}

/** The arguments, or what is wrong with them. */
function read({ parameters }, text) {
  // Models write nothing where a tool takes no arguments.
  if (text.trim() === '') return { given: {}, wrong: misfit(parameters, {}) };
  try {
    const given = fromJson(text, 'what is given to the tool');
    return { given, wrong: misfit(parameters, given) };
  } catch (error) {
    return { wrong: error.message };
  }
}

/** With the schema, so that the model need not look for it at the beginning of a long conversation. */
function misfitting({ name, parameters }, wrong) {
  const message = `the arguments of \`${name}\` do not fit: ${wrong}; call it again with arguments that fit \`parameters\``;
  return { content: JSON.stringify({ error: { code: 'invalid', message, parameters } }), failed: true };
}

/** A failure as the model is told it. */
export function failed({ code, message }) {
  return { content: JSON.stringify({ error: { code, message } }), failed: true };
}
