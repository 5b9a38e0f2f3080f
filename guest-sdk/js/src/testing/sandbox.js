// A sandbox whose files are in this process and whose commands answer what the
// test says.

import { invalid, notFound, unsupported } from './failure.js';

const encoder = new TextEncoder();

/** Gives what the component's `sandbox` gives. */
export class TestSandbox {
  #parts;
  #closed = false;

  constructor(parts) {
    this.#parts = parts;
  }

  id() {
    return this.#parts.id;
  }

  exec(command) {
    this.#open();
    const said = this.#parts.run(command);
    const { code = 0, stdout = '', stderr = '' } = typeof said === 'string' ? { stdout: said } : said;
    const entry = this.#parts.record('exec-completed', { line: command.line, stdout, stderr });
    return {
      status: { tag: 'code', val: code },
      stdout: encoder.encode(stdout),
      stderr: encoder.encode(stderr),
      truncated: false,
      durationMs: 0n,
      entry,
    };
  }

  start() {
    unsupported('sandbox.start');
  }

  readFile(path) {
    this.#open();
    return this.#parts.files.get(within(path)) ?? notFound(`there is no file \`${path}\``);
  }

  writeFile(path, content) {
    this.#open();
    this.#parts.files.set(within(path), Uint8Array.from(content));
  }

  listFiles(path) {
    this.#open();
    const folder = ['.', '/work'].includes(path) ? '' : `${within(path)}/`;
    return [...this.#parts.files]
      .filter(([name]) => name.startsWith(folder) && !name.slice(folder.length).includes('/'))
      .map(([name, content]) => ({ path: name, kind: 'file', size: BigInt(content.length), modifiedAt: undefined }))
      .sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  removeFile(path) {
    this.#open();
    return this.#parts.files.delete(within(path));
  }

  checkpoint() {
    unsupported('sandbox.checkpoint');
  }

  fork() {
    unsupported('sandbox.fork');
  }

  metrics() {
    unsupported('sandbox.metrics');
  }

  close() {
    this.#closed = true;
  }

  #open() {
    if (this.#closed) notFound('the sandbox is closed');
  }
}

/** The path from the work directory. */
function within(path) {
  const inner = path.startsWith('/work/') ? path.slice('/work/'.length) : path;
  if (inner === '' || inner.startsWith('/') || inner.split('/').includes('..')) {
    invalid(`the path \`${path}\` leads out of the sandbox`);
  }
  return inner;
}
