import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defineAgent, KeepsakeError, SUMMARY_BYTES } from '../src/index.js';
import { Host } from '../src/testing.js';

const ROOM = 2000;

const parrot = defineAgent({
  description: { name: 'parrot', version: '0.1.0', summary: 'Repeats what it hears.' },
  handle(session, { message }) {
    session.conversation(ROOM);
    if (message === 'fail') throw KeepsakeError.invalid('as you wish');
    return `You said: ${message}`;
  },
});

const reminded = (host) => host.session().conversation(ROOM);
const bytes = ({ exchanges }) => exchanges.reduce((sum, { message, reply }) => sum + message.length + reply.length, 0);

async function talk(host, turns) {
  for (let number = 0; number < turns; number += 1) await host.turn(parrot, `${'long '.repeat(20)} (no. ${number})`);
}

test('what fits is told word for word, and turns that failed are not', async () => {
  const host = new Host();
  assert.deepEqual(reminded(host), { summary: undefined, exchanges: [], messages: [] });
  await host.turn(parrot, 'Hello');
  await assert.rejects(host.turn(parrot, 'fail'));
  await host.turn(parrot, 'And?');
  const { messages, exchanges, summary } = reminded(host);
  assert.deepEqual(messages.map(({ content }) => content), ['Hello', 'You said: Hello', 'And?', 'You said: And?']);
  assert.deepEqual(exchanges.map(({ turn }) => turn), [0, 2]);
  assert.equal(summary, undefined);
  assert.deepEqual(host.requests, []);
  host.newSession();
  assert.deepEqual(reminded(host).exchanges, []);
});

test('older turns are summed up once in a while, and none is lost', async () => {
  const host = new Host();
  for (let number = 0; number < 12; number += 1) host.modelSays(`Summary ${number}.`);
  await talk(host, 30);
  const conversation = reminded(host);
  const asked = host.requests.map(({ messages }) => messages[1].content);
  assert.ok(asked.length > 1 && asked.length < 12, `${asked.length}`);
  assert.ok(asked[1].startsWith('What came before, in short: Summary 0.'), asked[1]);
  for (let number = 0; number < 30; number += 1) {
    const told = `(no. ${number})`;
    const there = conversation.exchanges.some(({ message }) => message.includes(told));
    assert.ok(there || asked.some((text) => text.includes(told)), `${told} is lost`);
  }
  assert.match(conversation.summary, /^Summary \d+\.$/);
  assert.ok(bytes(conversation) <= ROOM);
});

test('a model that does not sum up, or is away, leaves the beginnings', async () => {
  const quoting = new Host().modelIs({ extras: { summarises: false } });
  for (const host of [quoting, new Host()]) {
    await talk(host, 12);
    const { summary, exchanges } = reminded(host);
    assert.ok(summary.length <= Math.min(SUMMARY_BYTES, ROOM / 4), `${summary.length}`);
    assert.match(summary, /Customer: long long/);
    assert.ok(exchanges.at(-1).message.includes('(no. 11)'));
  }
  assert.equal(quoting.requests.length, 0);
});

test('a very long message is cut and leaves room for others', async () => {
  const host = new Host();
  await host.turn(parrot, 'ä'.repeat(100_000));
  await host.turn(parrot, 'short');
  const { exchanges } = reminded(host);
  assert.equal(exchanges.length, 2);
  assert.ok(exchanges[0].message.length < ROOM / 2);
});

test('a summary that another wrote in its place is passed over', async () => {
  const host = new Host();
  await host.turn(parrot, 'Hello');
  const scope = host.session().scope();
  for (const value of ['mine', { through: 'all' }, null]) {
    scope.set(`_conversation/${host.session().info().session}`, value);
    assert.equal(reminded(host).exchanges.length, 1);
  }
});

test('turns are counted from 0, as the host counts them', async () => {
  const turns = [];
  const counting = defineAgent({
    description: parrot.description,
    handle(session) {
      turns.push(session.info().turn);
      return 'ok';
    },
  });
  const host = new Host();
  await host.turn(counting, 'a');
  await host.turn(counting, 'b');
  assert.deepEqual(turns, [0, 1]);
});
