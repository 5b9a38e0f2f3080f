// Builds the component of a project: `node build.js PROJECT KIND OUT`. The
// source is bundled into one file, with what it imports, and put into a
// JavaScript engine that is WebAssembly.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { BUNDLE, original } from '../src/component/stack.js';

/** The world in the WIT package and the entry of each kind. */
const KINDS = { agent: 'agent-plugin', 'embedding-provider': 'embedding-provider', 'model-provider': 'model-provider' };

/** Where a project's source begins, in the order in which they are tried. */
const BEGINNINGS = ['src/plugin.ts', 'src/plugin.js'];

const sdk = dirname(dirname(fileURLToPath(import.meta.url)));

async function main([folder, kind, out]) {
  const project = resolve(folder);
  const file = resolve(out);
  const world = KINDS[kind];
  if (!world) throw new Told(`plugins of the kind ${kind} cannot be written in JavaScript yet; there are ${Object.keys(KINDS).join(', ')}`);
  const beginning = BEGINNINGS.find((name) => existsSync(join(project, name)));
  if (!beginning) throw new Told(`there is no ${BEGINNINGS.join(' and no ')}: the plugin's source begins there`);
  if (beginning.endsWith('.ts')) checkTypes(project);
  const stage = join(project, 'dist', '.stage');
  await mkdir(stage, { recursive: true });
  try {
    console.error(`bundling ${beginning}`);
    const code = await bundle(project, kind, beginning);
    await writeFile(join(stage, BUNDLE), code.text);
    console.error('making the component, which takes some 10 to 40 seconds');
    const component = await componentize(project, stage, world, code);
    await writeFile(file, component);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** The bundler takes types away without a look at them. */
function checkTypes(project) {
  if (!existsSync(join(project, 'tsconfig.json'))) throw new Told('there is no tsconfig.json, by which the types are checked');
  console.error('checking the types');
  let compiler;
  try {
    compiler = join(dirname(createRequire(join(project, 'x')).resolve('typescript/package.json')), 'bin', 'tsc');
  } catch (error) {
    throw new Told(`the build needs typescript, which cannot be found: run \`npm ci\` in ${project} (${error.message})`);
  }
  // What the compiler says goes where everything else goes.
  const checked = spawnSync(process.execPath, [compiler, '--noEmit', '-p', project], { cwd: project, stdio: ['ignore', 2, 2] });
  if (checked.status !== 0) throw new Told('the types do not fit');
}

async function bundle(project, kind, beginning) {
  const { rolldown } = await load(project, 'rolldown');
  const plugin = join(project, beginning);
  const built = await rolldown({
    cwd: project,
    input: join(sdk, 'src', 'component', `${kind}.js`),
    external: [/^keepsake:host\//],
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'default'] },
    logLevel: 'silent',
    plugins: [{ name: 'keepsake-plugin', resolveId: (name) => (name === 'keepsake:plugin' ? plugin : undefined) }],
  });
  // An import that is left would fail in the component with fewer words.
  const { output } = await built.generate({ format: 'esm', sourcemap: true, file: join(project, 'dist', 'plugin.js') });
  await built.close();
  const [{ code, map, imports }] = output;
  const strange = imports.find((name) => !name.startsWith('keepsake:host/'));
  if (strange) {
    const why = strange.startsWith('node:') ? 'a component has no Node.js around it' : 'it cannot be found: `npm install` it';
    throw new Told(`the source imports \`${strange}\`, and ${why}`);
  }
  const names = map.sources.map((source) => relative(project, resolve(project, 'dist', source)));
  const sources = { mappings: map.mappings, names };
  // Behind the code, so that no line of it moves.
  const text = `${code.replace(/\n\/\/# sourceMappingURL=.*$/m, '')}\nglobalThis.keepsakeSources = ${JSON.stringify(sources)};\n`;
  return { text, sources };
}

async function componentize(project, stage, world, { sources }) {
  const tool = await load(project, '@bytecodealliance/componentize-js');
  const wit = [join(sdk, '..', '..', 'wit'), join(sdk, 'wit')].find((folder) => existsSync(folder));
  // The engine's own words name the directory that it is run in.
  process.chdir(stage);
  try {
    const { component } = await tool.componentize({
      sourcePath: join(stage, BUNDLE),
      witPath: wit,
      worldName: world,
      // Clock and random numbers stay: without them the engine would answer
      // with those of the build, the same each time. The host decides what a
      // plugin gets of them.
      disableFeatures: ['http', 'fetch-event'],
    });
    return component;
  } catch (error) {
    throw new Told(beginningFailed(String(error.message), sources));
  }
}

/** The engine runs the module's top level while it builds. */
function beginningFailed(message, sources) {
  const words = message
    .split('\n')
    // Which program fails, and in what folder, is nothing of the author's.
    .filter((line) => !line.startsWith('Failed to initialize component'))
    .map((line) => line.replaceAll(/(\S*\/)?plugin\.js:(\d+):(\d+)/g, (place, _, line, column) => original(sources, Number(line), Number(column)) ?? place))
    .join('\n')
    .trim();
  return `the component cannot be made: the module fails when it is loaded\n${words}`;
}

/** A package of the project's `node_modules`, or of a folder above it. */
async function load(project, name) {
  try {
    return await import(name);
  } catch (error) {
    throw new Told(`the build needs ${name}, which cannot be loaded: run \`npm ci\` in ${project} (${error.message})`);
  }
}

/** A failure that is for the author and needs no stack of this program. */
class Told extends Error {}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const told = error instanceof Told || Array.isArray(error.errors);
  const text = told ? error.message : error.stack;
  // The bundler colours what it says, wherever it goes.
  console.error(process.stderr.isTTY ? text : text.replaceAll(/\u001b\[[0-9;]*m/g, ''));
  process.exitCode = 1;
}
