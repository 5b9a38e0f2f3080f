// The loop of an agent: ask the model, run the tools that it wants, tell it
// their answers, until it has a final message.

import { KeepsakeError } from './error.js';
import { byteLength, firstBytes } from './json.js';
import { toolAnswer } from './message.js';
import { Repeats } from './repeats.js';
import { failed, Toolbox } from './tool.js';

/** What a loop is bounded by, unless its options say otherwise. */
export const AGENT_LOOP = Object.freeze({
  /** Model answers of one loop. */
  rounds: 8,
  /** Calls that are run of one model answer; the rest are told to wait. */
  callsPerRound: 16,
  /** Bytes of one tool's answer that the model is given. */
  toolAnswerBytes: 32 * 1024,
  /** Bytes of all tool answers; they are sent again with each later question. */
  toolOutputBytes: 256 * 1024,
});

/**
 * Runs a conversation to its end. In the last round no tools are offered, so
 * that the model has to answer. Every call gets an answer: providers refuse a
 * conversation in which one has none. A call that keeps giving the same answer,
 * while nothing else new is learned, is not run again; a model that then wants
 * nothing else is offered no tools any more.
 */
export async function runAgentLoop(session, messages, options = {}) {
  const { tools = [], stream = true, temperature, maxTokens } = options;
  const toolbox = tools instanceof Toolbox ? tools : new Toolbox(tools);
  const rounds = Math.max(1, options.rounds ?? AGENT_LOOP.rounds);
  const outcome = { text: '', finishReason: 'stop', rounds: 0, calls: [], usage: undefined, messages: [...messages] };
  const bounds = { room: options.toolOutputBytes ?? AGENT_LOOP.toolOutputBytes, repeats: new Repeats(), stuck: false };
  for (let round = 1; round <= rounds; round += 1) {
    const last = round === rounds;
    const offered = last || bounds.room <= 0 || bounds.stuck ? [] : toolbox.definitions();
    const request = { messages: outcome.messages, tools: offered, temperature, maxTokens };
    const { message, finishReason, usage } = askOnce(session, request, outcome, stream);
    outcome.rounds = round;
    outcome.usage = sum(outcome.usage, usage);
    outcome.finishReason = finishReason;
    outcome.messages.push(message);
    // What a provider held back is nothing to act on.
    if (message.toolCalls.length === 0 || finishReason === 'content-filter') return outcome;
    if (!last) await runTools(session, toolbox, message.toolCalls, bounds, outcome);
  }
  throw KeepsakeError.limit('agent-rounds', `the model still wants tools after ${rounds} rounds`);
}

/** One answer. Its text goes to the customer and to what was said so far. */
function askOnce(session, request, outcome, stream) {
  let gap = outcome.text === '' ? '' : '\n\n';
  return session.chat(request).finish((text) => {
    const piece = gap + text;
    gap = '';
    if (stream) session.emit(piece);
    outcome.text += piece;
  });
}

/** Runs the calls of one answer, within what the loop has left. */
async function runTools(session, toolbox, calls, bounds, outcome) {
  let repeated = 0;
  for (const [number, call] of calls.entries()) {
    const times = bounds.repeats.tooOften(call);
    if (times) repeated += 1;
    const refusal = refusalOf(call, number, bounds.room, outcome.finishReason) ?? repetition(times);
    if (refusal) {
      const { content } = failed(KeepsakeError.limit('agent-tools', refusal));
      outcome.messages.push(toolAnswer(call, content));
      continue;
    }
    const answered = await toolbox.answer(session, call);
    bounds.repeats.answered(call, answered.content);
    const content = bounded(answered.content, Math.min(AGENT_LOOP.toolAnswerBytes, bounds.room));
    bounds.room -= byteLength(content);
    outcome.messages.push(toolAnswer(call, content));
    outcome.calls.push({ name: call.name, arguments: call.arguments, answer: answered.content, failed: answered.failed });
  }
  bounds.stuck = repeated === calls.length;
}

function repetition(times) {
  if (!times) return undefined;
  return (
    `this call was run ${times} times with these arguments and gave the same answer each time, so it is not run ` +
    'again: do something else, or answer with what is there'
  );
}

function refusalOf(call, number, room, finishReason) {
  if (number >= AGENT_LOOP.callsPerRound) {
    return `only ${AGENT_LOOP.callsPerRound} calls are run at once: call again for the rest`;
  }
  if (room <= 0) return 'there is no room for more tool answers: answer with what you have';
  if (finishReason === 'length' && !isJson(call.arguments)) {
    return 'your answer was cut off within this call: make it shorter';
  }
  return undefined;
}

function bounded(answer, bound) {
  const bytes = byteLength(answer);
  if (bytes <= bound) return answer;
  return `${firstBytes(answer, bound)} … (cut: the answer has ${bytes} bytes)`;
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function sum(one, other) {
  if (!one || !other) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}
