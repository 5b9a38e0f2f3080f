import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Host } from '#keepsake/testing';
import agent from '../src/plugin.js';

test('what was told in one session is known in the next', async () => {
  const host = new Host();
  await host.turn(agent, 'My cat is called Miso.');
  host.newSession();
  const { text } = await host.turn(agent, 'What is my cat called?');
  assert.equal(text, 'You told me: My cat is called Miso.');
});

test('what was not told is not made up', async () => {
  const { text } = await new Host().turn(agent, 'What is my dog called?');
  assert.equal(text, 'You have not told me.');
});
