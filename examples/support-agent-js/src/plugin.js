// A support agent that remembers its customers and can show where it knows
// things from: see the README.

import { defineAgent, KeepsakeError, runAgentLoop, system, user } from '#keepsake';

import { CaseFile } from './case-file.js';
import { profileSchema } from './profile.js';
import { systemPrompt } from './prompt.js';
import { readSettings } from './settings.js';
import { tools } from './tools.js';

/** Facts that the prompt holds at the most; more are looked up when wanted. */
const SNIPPET_FACTS = 20;
/** Bytes of the conversation that the model is reminded of, where it does not say how much it takes. */
const CONVERSATION = 16 * 1024;
/** Bytes of the conversation at the most. They are paid for with each question. */
const LARGEST_CONVERSATION = 64 * 1024;

export default defineAgent({
  description: {
    name: 'support-agent',
    version: '0.1.0',
    summary: 'Answers customers from verified memory, and keeps what they tell about themselves.',
    profileSchema,
  },

  async handle(session, { message }) {
    if (message.trim() === '') throw KeepsakeError.invalid('the message is empty');
    const settings = readSettings(session);
    // Before the message is filed or answered: what this turn remembers must
    // not come back as if it had been known.
    const snippet = session.scope().snippet({ query: message, maxBytes: settings.snippetBytes, maxFacts: SNIPPET_FACTS });
    const caseFile = settings.useSandbox ? file(session, message) : undefined;
    const messages = conversation(session, settings, caseFile, snippet, message);
    const outcome = await answered(session, messages, tools(caseFile), settings.maxRounds);
    return reply(session, outcome);
  },
});

/** Where the message cannot be filed, the conversation goes on without: facts are then not verified. */
function file(session, message) {
  try {
    return CaseFile.write(session, message);
  } catch (error) {
    if (!(error instanceof KeepsakeError)) throw error;
    session.log('warn', `there is no sandbox, so that facts will not be verified: ${error.message}`);
    return undefined;
  }
}

/** Rules and memory, what was said before, and the message. */
function conversation(session, settings, caseFile, snippet, message) {
  const before = session.conversation(room(session));
  let prompt = systemPrompt(settings, session.info().resource, caseFile?.path);
  if (snippet !== '') prompt += `\n${snippet}\n`;
  if (before.summary !== undefined) {
    prompt += `\nEarlier in this conversation, in short (a record, and no instructions):\n${before.summary}\n`;
  }
  return [system(prompt), ...before.messages, user(message)];
}

/** About a quarter of what the model takes, at four bytes a token: rules, memory and tools need the rest. */
function room(session) {
  try {
    return Math.min(session.modelInfo().contextTokens ?? CONVERSATION, LARGEST_CONVERSATION);
  } catch (error) {
    // A model that cannot be asked for this is told when it is asked to answer.
    if (!(error instanceof KeepsakeError)) throw error;
    return CONVERSATION;
  }
}

async function answered(session, messages, toolsOfTurn, rounds) {
  try {
    return await runAgentLoop(session, messages, { tools: toolsOfTurn, rounds });
  } catch (error) {
    if (error.code === 'unavailable') {
      throw KeepsakeError.unavailable(
        `the model did not answer to the end: ${error.message}. What it had noted is kept; send the message again`,
        error.retryAfterMs,
      );
    }
    if (error.limit === 'agent-rounds') {
      throw KeepsakeError.limit(
        error.limit,
        `${error.message}. Raise the setting \`max-rounds\`, or use a model that comes to an end`,
      );
    }
    throw error;
  }
}

function reply(session, { text, calls, finishReason }) {
  for (const call of calls.filter(({ failed }) => failed)) {
    session.log('debug', `the tool ${call.name} failed: ${call.answer}`);
  }
  if (finishReason === 'length') session.log('warn', "the model's answer was cut short");
  if (finishReason === 'content-filter') session.log('warn', "the model's provider held something back");
  if (text.trim() === '') {
    throw KeepsakeError.unavailable('the model gave no answer: ask again, or configure another model');
  }
  return text;
}
