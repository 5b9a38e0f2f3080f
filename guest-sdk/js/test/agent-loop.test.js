import assert from 'node:assert/strict';
import { test } from 'node:test';

import { AGENT_LOOP, defineAgent, KeepsakeError, memoryTools, runAgentLoop, tool, user } from '../src/index.js';
import { Host } from '../src/testing.js';

const track = tool({
  name: 'track_parcel',
  description: 'Says where a parcel is.',
  parameters: {
    type: 'object',
    properties: { parcel: { type: 'string' }, days: { type: 'integer' } },
    required: ['parcel'],
    additionalProperties: false,
  },
  run: async ({ parcel }) => `${parcel} is in Oslo`,
});

const loop = (host, options) => runAgentLoop(host.session(), [user('Where is it?')], options);
const lastToolAnswer = (outcome) => JSON.parse(outcome.messages.findLast((message) => message.role === 'tool').content);

test('tools are run and their answers told to the model', async () => {
  const host = new Host().modelCalls(['track_parcel', { parcel: 'A-1' }]).modelSays('It is in Oslo.');
  const outcome = await loop(host, { tools: [track] });
  assert.equal(outcome.text, 'It is in Oslo.');
  assert.equal(host.emitted, 'It is in Oslo.');
  assert.equal(outcome.rounds, 2);
  assert.equal(lastToolAnswer(outcome), 'A-1 is in Oslo');
  assert.deepEqual(JSON.parse(host.requests[0].tools[0].parameters), track.parameters);
});

test('wrong arguments are told to the model and no fault', async () => {
  for (const [given, said] of [
    [{}, 'must have `parcel`'],
    [{ parcel: 7 }, 'must be of type string, not number'],
    [{ parcel: 'A', days: 1.5 }, 'must be of type integer'],
    [{ parcel: 'A', colour: 'red' }, 'must not have `colour`'],
    ['{"parcel":', 'is not JSON'],
  ]) {
    const outcome = await loop(new Host().modelCalls(['track_parcel', given]).modelSays('ok'), { tools: [track] });
    const { error } = lastToolAnswer(outcome);
    assert.equal(error.code, 'invalid');
    assert.match(error.message, new RegExp(said.replaceAll('`', '.')));
    assert.equal(outcome.calls[0].failed, true);
  }
});

test('an unknown tool is told with those that there are', async () => {
  const outcome = await loop(new Host().modelCalls(['fly']).modelSays('ok'), { tools: [track] });
  assert.match(lastToolAnswer(outcome).error.message, /no tool `fly`; there are track_parcel/);
});

test('a fault in a tool ends the turn', async () => {
  const broken = tool({ name: 'broken', description: 'x', run: () => undefined.nothing });
  await assert.rejects(loop(new Host().modelCalls(['broken']), { tools: [broken] }), TypeError);
});

test('the last round offers no tools, and a model that still wants them is an error', async () => {
  const host = new Host().modelCalls(['track_parcel', { parcel: 'A' }]).modelCalls(['track_parcel', { parcel: 'B' }]);
  await assert.rejects(loop(host, { tools: [track], rounds: 2 }), { code: 'limit', limit: 'agent-rounds' });
  assert.equal(host.requests[0].tools.length, 1);
  assert.equal(host.requests[1].tools.length, 0);
});

test('answers beyond the bound are cut, and calls beyond it are told to wait', async () => {
  const long = tool({ name: 'long', description: 'x', run: () => 'é'.repeat(AGENT_LOOP.toolAnswerBytes) });
  const calls = Array.from({ length: AGENT_LOOP.callsPerRound + 1 }, () => ['long']);
  const outcome = await loop(new Host().modelCalls(...calls).modelSays('ok'), { tools: [long] });
  const answers = outcome.messages.filter((message) => message.role === 'tool');
  assert.equal(answers.length, calls.length);
  assert.match(answers[0].content, /cut: the answer has \d+ bytes/);
  assert.match(answers.at(-1).content, /only 16 calls are run at once/);
  assert.ok(outcome.calls.length < calls.length, 'all room is used up before the last call');
});

test('the memory tools remember, recall and keep values', async () => {
  const host = new Host()
    .modelCalls(['remember_fact', { content: 'Jordan has a cat.' }], ['set_working_memory', { key: 'case', value: 7 }])
    .modelCalls(['recall_facts', { query: 'cat' }], ['get_working_memory'])
    .modelSays('Done.');
  const outcome = await loop(host, { tools: memoryTools() });
  assert.deepEqual(host.facts.map((fact) => fact.content), ['Jordan has a cat.']);
  assert.equal(host.working('case'), 7);
  assert.deepEqual(outcome.calls.map((call) => call.failed), [false, false, false, false]);
  assert.deepEqual(JSON.parse(outcome.calls[3].answer), { profile: {}, values: { case: 7 } });
});

test("a model's error reaches the agent with its case", async () => {
  await assert.rejects(loop(new Host()), (error) => error instanceof KeepsakeError && error.code === 'unavailable');
});

test('an agent that is defined wrongly is told so at once', () => {
  const description = { name: 'x', version: '1', summary: 's' };
  assert.throws(() => defineAgent({ description }), /a function `handle`/);
  assert.throws(() => defineAgent({ description: { name: 'x' }, handle() {} }), /a text as its `version`/);
  assert.throws(() => defineAgent({ description, handle() {}, summarise() {} }), /no `summarise`/);
});

test('wrong arguments are answered with the schema', async () => {
  const outcome = await loop(new Host().modelCalls(['track_parcel', {}]).modelSays('ok'), { tools: [track] });
  assert.deepEqual(lastToolAnswer(outcome).error.parameters, track.parameters);
});

test('a call that keeps giving the same answer is stopped, however it is written', async () => {
  const host = new Host();
  for (let number = 0; number < 4; number += 1) {
    host.modelCalls(['track_parcel', number % 2 ? '{"parcel":"A","days":1}' : '{ "days": 1, "parcel": "A" }']);
  }
  host.modelSays('It is in Oslo.');
  const outcome = await loop(host, { tools: [track] });
  assert.equal(outcome.calls.length, 3);
  assert.match(lastToolAnswer(outcome).error.message, /was run 3 times with these arguments/);
  assert.equal(host.requests.at(-1).tools.length, 0);
});

test('a call that learns something new counts anew', async () => {
  let count = 0;
  const look = tool({ name: 'look', description: 'x', run: () => (count += 1) });
  const host = new Host();
  for (let number = 0; number < 6; number += 1) host.modelCalls(['look']);
  const outcome = await loop(host.modelSays('ok'), { tools: [look] });
  assert.equal(outcome.calls.length, 6);
});
