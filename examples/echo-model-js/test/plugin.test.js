import assert from 'node:assert/strict';
import { test } from 'node:test';

import { system, user } from '#keepsake';
import { Host } from '#keepsake/testing';
import provider from '../src/plugin.js';

test('the last message of the user is said back, up to the bound', async () => {
  const messages = [user('Hello!'), user('Where is my order?')];
  const whole = await new Host().chat(provider, messages);
  assert.equal(whole.message.content, 'You said: Where is my order?');
  assert.deepEqual(whole.usage, { inputTokens: 5, outputTokens: 6 });
  const cut = await new Host().chat(provider, { messages, maxTokens: 3 });
  assert.deepEqual([cut.message.content, cut.finishReason], ['You said: Where ', 'length']);
});

test('a conversation without a user is refused', async () => {
  await assert.rejects(new Host().chat(provider, [system('Be kind.')]), { code: 'invalid' });
});
