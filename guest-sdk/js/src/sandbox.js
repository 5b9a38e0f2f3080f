// A place to run commands, apart from the host and from other sessions.

import { ask, KeepsakeError } from './error.js';
import { fromJson, fromU64, toU64 } from './json.js';
import { entry, known } from './records.js';

const COMMAND_KEYS = ['line', 'directory', 'environment', 'stdin', 'timeoutMs'];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One sandbox. It runs until the session ends. */
export class Sandbox {
  #host;

  constructor(host) {
    this.#host = host;
  }

  get id() {
    return this.#host.id();
  }

  exec(command) {
    const wit = toCommand(command);
    return result(ask(() => this.#host.exec(wit)));
  }

  /** What a command tells while it runs. Leaving the loop early kills it. */
  *start(command) {
    const wit = toCommand(command);
    const execution = ask(() => this.#host.start(wit));
    let ended = false;
    try {
      for (;;) {
        const event = ask(() => execution.next());
        if (event === undefined) return;
        ended = event.tag === 'completed';
        if (ended) yield { completed: result(event.val) };
        else yield { [event.tag]: decoder.decode(event.val) };
      }
    } finally {
      if (!ended) ask(() => execution.kill());
      // The engine drops no handle by itself.
      execution[Symbol.dispose ?? Symbol.for('dispose')]?.();
    }
  }

  readFile(path) {
    return ask(() => this.#host.readFile(path));
  }

  readText(path) {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.readFile(path));
    } catch (error) {
      if (error instanceof KeepsakeError) throw error;
      throw KeepsakeError.invalid(`the file \`${path}\` is no text`);
    }
  }

  writeFile(path, content) {
    const bytes = typeof content === 'string' ? encoder.encode(content) : content;
    ask(() => this.#host.writeFile(path, bytes));
  }

  listFiles(path) {
    return ask(() => this.#host.listFiles(path)).map((file) => ({
      ...file,
      size: fromU64(file.size),
      modifiedAt: fromU64(file.modifiedAt),
    }));
  }

  removeFile(path) {
    return ask(() => this.#host.removeFile(path));
  }

  checkpoint(name) {
    const made = ask(() => this.#host.checkpoint(name));
    return { ...made, createdAt: fromU64(made.createdAt), entry: entry(made.entry) };
  }

  fork(checkpoint) {
    return new Sandbox(ask(() => this.#host.fork(checkpoint)));
  }

  metrics() {
    const told = ask(() => this.#host.metrics());
    return {
      memoryBytes: fromU64(told.memoryBytes),
      cpuMs: fromU64(told.cpuMs),
      diskBytes: fromU64(told.diskBytes),
      processes: told.processes,
      extras: told.extras === undefined ? {} : fromJson(told.extras),
    };
  }

  close() {
    ask(() => this.#host.close());
  }
}

function toCommand(command) {
  if (typeof command === 'string') return toCommand({ line: command });
  known(command, COMMAND_KEYS, 'commands');
  return {
    line: command.line,
    directory: command.directory,
    environment: Object.entries(command.environment ?? {}),
    stdin: typeof command.stdin === 'string' ? encoder.encode(command.stdin) : command.stdin,
    timeoutMs: toU64(command.timeoutMs, '`timeoutMs`'),
  };
}

function result(wit) {
  return {
    ...wit,
    ok: wit.status.tag === 'code' && wit.status.val === 0,
    stdout: decoder.decode(wit.stdout),
    stderr: decoder.decode(wit.stderr),
    stdoutBytes: wit.stdout,
    stderrBytes: wit.stderr,
    durationMs: fromU64(wit.durationMs),
    entry: entry(wit.entry),
  };
}
