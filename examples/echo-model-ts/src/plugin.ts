// The smallest model provider: it says back what the customer said last, and
// takes each word for a token.

import { type AnswerEnd, type Context, defineModelProvider, KeepsakeError, type ModelQuestion } from '#keepsake';

export default defineModelProvider({
  info: () => ({ model: 'echo-model' }),

  *chat(context: Context, { messages, maxTokens = Infinity }: ModelQuestion): Generator<string, AnswerEnd> {
    const said = messages.findLast(({ role }) => role === 'user');
    if (!said) throw KeepsakeError.invalid('there is no message of a user to answer');
    const words = pieces(`You said: ${said.content}`);
    const given = words.slice(0, maxTokens);
    yield* given;
    const asked = messages.reduce((sum, { content }) => sum + pieces(content).length, 0);
    return {
      finishReason: given.length < words.length ? 'length' : 'stop',
      usage: { inputTokens: asked, outputTokens: given.length },
    };
  },
});

/** The words of a text, each with the space behind it. */
function pieces(text: string): string[] {
  return text.match(/[^ ]* |[^ ]+$/g) ?? [];
}
