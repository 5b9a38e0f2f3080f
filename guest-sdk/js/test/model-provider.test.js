import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defineModelProvider, KeepsakeError, user } from '../src/index.js';
import { Host } from '../src/testing.js';

const info = () => ({ model: 'm' });
const ask = (chat, request = [user('Hi')]) => new Host().chat(defineModelProvider({ info, chat }), request);

test('a text is a whole answer', async () => {
  assert.deepEqual(await ask(() => 'Hello'), {
    message: { role: 'assistant', content: 'Hello', toolCalls: [], toolCallId: undefined },
    finishReason: 'stop',
    usage: undefined,
    model: 'm',
    pieces: ['Hello'],
  });
});

test('a generator gives pieces, and at last how it ended', async () => {
  const usage = { inputTokens: 1, outputTokens: 2 };
  async function* chat(context, { messages }) {
    yield `${messages[0].content}, `;
    yield 'you';
    return { finishReason: 'length', usage, model: 'other' };
  }
  const { message, pieces, ...rest } = await ask(chat);
  assert.equal(message.content, 'Hi, you');
  assert.deepEqual(pieces, ['Hi, ', 'you']);
  assert.deepEqual(rest, { finishReason: 'length', usage, model: 'other' });
});

test('tool calls may come in pieces, several at once', async () => {
  function* chat() {
    yield { toolCall: { index: 0, id: 'a', name: 'one', arguments: '{"x"' } };
    yield { toolCall: { index: 1, id: 'b', name: 'two' } };
    yield { toolCall: { index: 0, arguments: ':1}' } };
  }
  const { message, finishReason } = await ask(chat);
  assert.equal(finishReason, 'tool-calls');
  assert.deepEqual(message.toolCalls, [
    { id: 'a', name: 'one', arguments: '{"x":1}' },
    { id: 'b', name: 'two', arguments: '' },
  ]);
});

test('a question that is refused is refused at once, by a generator too', async () => {
  function* chat() {
    throw KeepsakeError.invalid('no messages');
  }
  await assert.rejects(ask(chat), { code: 'invalid' });
});

test('what is no answer is a fault of the provider', async () => {
  await assert.rejects(ask(() => 7), /`chat` answers with a text/);
  await assert.rejects(ask(function* () { yield 7; }), /a piece of an answer is a text/);
  await assert.rejects(ask(function* () { yield { toolCall: {} }; }), /has an `id` and a `name`/);
  await assert.rejects(ask(function* () { return { finish: 'stop' }; }), /have no `finish`/);
});
