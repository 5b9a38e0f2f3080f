// An agent that calls what tests on the author's machine do not simulate, and
// replies with what came of it.

import { defineAgent } from '#keepsake';

export default defineAgent({
  description: { name: 'whole-host', version: '0.1.0', summary: 'Calls what is not simulated.' },
  handle: (session) => JSON.stringify({ ...memory(session), ...forks(session), ...sandbox(session) }),
});

function memory(session) {
  const scope = session.scope();
  scope.rememberMany(['Jordan likes tea.', 'Jordan owns a red bicycle.']);
  const swapped = [
    scope.compareAndSet('step', undefined, 1),
    scope.compareAndSet('step', 7, 2),
    scope.compareAndSet('step', 1, undefined),
  ];
  const [vector] = session.embed(['tea'], 'query');
  return {
    swapped,
    vector: vector.length === session.embeddingInfo().dimensions,
    model: session.modelInfo().model !== '',
  };
}

function forks(session) {
  const scope = session.scope();
  const branch = scope.fork('draft');
  branch.scope().remember('Jordan moved to Oslo.');
  branch.scope().set('step', 'packing');
  const difference = branch.diff();
  const merged = branch.merge();
  branch.discard();
  const thrownAway = scope.fork('second');
  thrownAway.scope().remember('Jordan sold the bicycle.');
  thrownAway.discard();
  const { removed, remaining } = scope.compact({ maxFacts: 1 });
  return {
    added: difference.added.map(({ content }) => content),
    working: difference.working,
    merged: merged.added,
    step: scope.get('step'),
    compacted: [removed, remaining],
    tree: scope.episodeTree().length > 0,
    lineage: [...scope.episodes({ lineage: true })].some(({ kind }) => kind === 'memory-merged'),
  };
}

function sandbox(session) {
  const box = session.sandbox();
  const printed = { stdout: '', stderr: '' };
  let code;
  for (const event of box.start('echo one; echo two >&2; exit 3')) {
    if (event.completed) code = event.completed.status.val;
    else for (const [stream, text] of Object.entries(event)) printed[stream] += text;
  }
  box.writeFile('kept.txt', 'kept');
  const checkpoint = box.checkpoint('before');
  box.removeFile('kept.txt');
  const copy = box.fork(checkpoint.id);
  const kept = copy.readText('kept.txt');
  copy.close();
  let begun;
  for (const event of box.start('echo begun; sleep 60')) {
    begun = event.stdout;
    break;
  }
  let missing;
  try {
    box.readFile('kept.txt');
  } catch (error) {
    missing = error.code;
  }
  return { ...printed, code, kept, missing, begun, metrics: box.metrics().diskBytes !== undefined };
}
