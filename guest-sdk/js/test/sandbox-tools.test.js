import assert from 'node:assert/strict';
import { test } from 'node:test';

import { AGENT_LOOP, memoryTools, runAgentLoop, sandboxTools, user } from '../src/index.js';
import { Host } from '../src/testing.js';

async function call(host, name, given) {
  host.modelCalls([name, given]).modelSays('done');
  const tools = [...memoryTools(), ...sandboxTools()];
  const { messages } = await runAgentLoop(host.session(), [user('go on')], { tools });
  const { content } = messages.findLast(({ role }) => role === 'tool');
  assert.ok(content.length <= AGENT_LOOP.toolAnswerBytes);
  return JSON.parse(content);
}

const working = () => new Host().commands(() => '');

test('a file that was written is read back', async () => {
  const host = working();
  assert.deepEqual(await call(host, 'write_file', { path: 'notes/a.txt', content: 'one\ntwo' }), { bytes: 7 });
  assert.deepEqual(await call(host, 'read_file', { path: 'notes/a.txt', from_line: 2 }), { content: 'two', lines: 2 });
  assert.equal((await call(host, 'read_file', { path: 'notes/b.txt' })).error.code, 'not-found');
  assert.match((await call(host, 'read_file', { path: 'notes/a.txt', from_line: 3 })).error.message, /2 lines, and no line 3/);
});

test('a long file is read by pages, and no line is lost', async () => {
  const host = working();
  const text = Array.from({ length: 5000 }, (_, number) => `line ${number}\n`).join('');
  await call(host, 'write_file', { path: 'long', content: text });
  let read = '';
  let from = 1;
  let pages = 0;
  while (from !== undefined) {
    const answer = await call(host, 'read_file', { path: 'long', from_line: from });
    read += answer.content;
    from = answer.next_line;
    pages += 1;
  }
  assert.equal(read, text);
  assert.ok(pages > 1);
});

test('a line that is too long is cut, and the next one can be read', async () => {
  const host = working();
  host.session().sandbox().writeFile('long', `${'"'.repeat(100_000)}\nsecond`);
  const answer = await call(host, 'read_file', { path: 'long' });
  assert.match(answer.content, /bytes are left out/);
  assert.deepEqual(await call(host, 'read_file', { path: 'long', from_line: answer.next_line }), { content: 'second', lines: 2 });
});

test('what a command printed makes a fact verified', async () => {
  const host = new Host().commands(() => ({ code: 3, stdout: 'plan: Pro\n', stderr: 'a\u001b[31mb' }));
  const ran = await call(host, 'run_command', { command: 'cat plan' });
  assert.equal(ran.exit_code, 3);
  assert.equal(ran.stderr, 'a\ufffd[31mb');
  const { fact } = await call(host, 'remember_fact', { content: 'Jordan is on Pro.', source: ran.entry, quote: 'plan: Pro' });
  assert.equal(fact.verified, true);
});

test('a long output keeps its beginning and its end', async () => {
  const host = new Host().commands(() => `first\n${'é'.repeat(50_000)}\nlast`);
  const { stdout } = await call(host, 'run_command', { command: 'x' });
  assert.match(stdout, /^first\n/);
  assert.match(stdout, /bytes are left out here/);
  assert.match(stdout, /\nlast$/);
});

test('without a sandbox the model is told', async () => {
  assert.equal((await call(new Host(), 'run_command', { command: 'true' })).error.code, 'unavailable');
});
