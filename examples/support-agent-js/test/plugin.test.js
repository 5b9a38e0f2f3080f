import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Host } from '#keepsake/testing';
import agent from '../src/plugin.js';

const UPGRADE = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.";

/** A sandbox in which every look finds the message. */
const host = (settings) => new Host({ resource: 'jordan', settings }).commands(() => `1:${UPGRADE}\n`);
const remembering = (fact, settings) => host(settings).modelCalls(['remember_fact', fact]).modelSays('Noted.');
const lastAnswer = ({ requests }) => JSON.parse(requests.at(-1).messages.at(-1).content);

test('a quote is looked up in the message and makes the fact verified', async () => {
  const told = remembering({ content: 'Jordan is on Pro.', quote: 'I upgraded to the Pro plan' });
  await told.turn(agent, UPGRADE);
  assert.deepEqual(told.commandsRun, ["grep -n -F -e 'I upgraded to the Pro plan' -- 'case/turn-0.txt'"]);
  assert.equal(told.facts[0].verified, true);
});

test('a later session begins with what is known, and a new plan supersedes the old one', async () => {
  const told = remembering({ content: 'Jordan is on the Pro plan.', attribute: 'Plan', subject: 'the customer', quote: 'the Pro plan' });
  await told.turn(agent, UPGRADE);
  told.newSession();
  told.modelCalls(['remember_fact', { content: 'Jordan is on Free.', attribute: 'plan' }]).modelSays('Noted.');
  await told.turn(agent, 'I downgraded to the Free plan.');
  assert.match(told.requests[2].messages[0].content, /Jordan is on the Pro plan\..*\(verified\)/);
  assert.deepEqual(told.facts.map(({ content, subject, attribute }) => [content, subject, attribute]), [['Jordan is on Free.', 'jordan', 'plan']]);
});

test('without a sandbox facts are kept unverified, and the operator is told', async () => {
  const alone = new Host().modelCalls(['remember_fact', { content: 'Jordan is on Pro.', quote: 'the Pro plan' }]).modelSays('Noted.');
  await alone.turn(agent, UPGRADE);
  assert.equal(alone.facts[0].verified, false);
  assert.match(alone.logged[0].message, /there is no sandbox/);
  assert.match(lastAnswer(alone).note, /not shown to stand in the customer's message/);
  assert.ok(!alone.requests[0].tools.some(({ name }) => name === 'run_command'));
});

test('a command that fails proves nothing', async () => {
  const told = remembering({ content: 'Jordan is on Pro.', quote: 'the Pro plan' }).commands(() => ({ code: 1, stderr: 'no such file' }));
  await told.turn(agent, UPGRADE);
  assert.equal(told.facts[0].verified, false);
});

test('a source that was made up is told to the model, or the quote found in the message', async () => {
  const source = { session: 'elsewhere', index: 9 };
  const bare = remembering({ content: 'Jordan is on Pro.', source });
  await bare.turn(agent, UPGRADE);
  assert.equal(bare.facts.length, 0);
  assert.equal(lastAnswer(bare).error.code, 'invalid');
  const quoted = remembering({ content: 'Jordan is on Pro.', source, quote: 'the Pro plan' });
  await quoted.turn(agent, UPGRADE);
  assert.equal(quoted.facts[0].verified, true);
  assert.match(lastAnswer(quoted).note, /the source was refused/);
});

test('what must not be kept is refused', async () => {
  const told = remembering({ content: "Jordan's card is 4111 1111 1111 1111." });
  await told.turn(agent, 'My card is 4111 1111 1111 1111.');
  assert.equal(told.facts.length, 0);
});

test('the profile is set by a patch', async () => {
  const told = host().modelCalls(['update_profile', { patch: { name: 'Jordan', plan: 'Pro' } }]).modelSays('Hello Jordan!');
  const { text } = await told.turn(agent, UPGRADE);
  assert.equal(text, 'Hello Jordan!');
  assert.equal(told.emitted, text, 'the customer saw something else');
  assert.deepEqual(told.profile, { name: 'Jordan', plan: 'Pro' });
});

test('the model is reminded of what was said in this session only', async () => {
  const told = host().modelSays('Hello!').modelSays('Again!').modelSays('New!');
  await told.turn(agent, 'first words');
  await told.turn(agent, 'second words');
  told.newSession();
  await told.turn(agent, 'third words');
  const said = told.requests.map(({ messages }) => messages.slice(1).map(({ content }) => content));
  assert.deepEqual(said.slice(1), [['first words', 'Hello!', 'second words'], ['third words']]);
});

test('a model that never ends with its tools is stopped, and one that is away is told', async () => {
  const endless = host({ 'max-rounds': 2 }).modelCalls(['get_working_memory']).modelCalls(['get_working_memory']);
  await assert.rejects(endless.turn(agent, 'Hello'), { code: 'limit', message: /max-rounds/ });
  await assert.rejects(host().turn(agent, 'Hello'), { code: 'unavailable', message: /send the message again/ });
});

test('a setting that does not fit is named', async () => {
  for (const [key, value] of [['persona', ''], ['persona', 'a\nb'], ['snippet-bytes', 63], ['max-rounds', 1.5], ['use-sandbox', 'yes']]) {
    await assert.rejects(host({ [key]: value }).turn(agent, 'Hello'), { message: new RegExp(`\`${key}\`.*must be`) });
  }
});
