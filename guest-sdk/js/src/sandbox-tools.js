// The tools with which a model works in the session's sandbox.

import { KeepsakeError } from './error.js';
import { byteLength, firstBytes, lastBytes } from './json.js';
import { tool } from './tool.js';

/** Bytes of each of a command's two outputs that the model is given: both, escaped as JSON, fit into one answer. */
const OUTPUT_BYTES = 7 * 1024;
/** Of these, bytes of the end: errors stand there. */
const END_BYTES = 2 * 1024;
/** Bytes of a file that the model is given at a time. */
const FILE_BYTES = 14 * 1024;
/** How long a command may run; a customer waits for it. */
const COMMAND_MS = 30_000;

/**
 * `run_command`, `read_file` and `write_file`, in the session's sandbox, which
 * the first call of one of them starts.
 */
export function sandboxTools() {
  return [runCommand, readFile, writeFile];
}

const runCommand = tool({
  name: 'run_command',
  description:
    "Runs a shell command in this conversation's sandbox, apart from everything else and without a network, for at most 30 seconds. " +
    "The answer's `entry` can be the `source` of a fact that the output shows.",
  parameters: {
    type: 'object',
    properties: { command: { type: 'string', description: 'The line for `sh -c`.' } },
    required: ['command'],
  },
  run({ command }, session) {
    return told(session.sandbox().exec({ line: command, timeoutMs: COMMAND_MS }));
  },
});

function told({ status, stdout, stderr, truncated, entry }) {
  return {
    stdout: readable(stdout, OUTPUT_BYTES),
    stderr: readable(stderr, OUTPUT_BYTES),
    entry,
    truncated: truncated ? 'there was more output than was kept' : undefined,
    ...(status.tag === 'code' ? { exit_code: status.val } : { error: ending(status) }),
  };
}

function ending({ tag, val }) {
  switch (tag) {
    case 'signal':
      return `it was ended by ${val}`;
    case 'timed-out':
      return 'it took too long and was ended';
    case 'limit':
      return `it reached the limit ${val} and was ended`;
    default:
      return `how it ended is not known: ${val}`;
  }
}

const readFile = tool({
  name: 'read_file',
  description:
    "Gives the text of a file in this conversation's sandbox. Of a long file it gives the beginning, and in `next_line` where to go on.",
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file, from the work directory, such as `report/summary.txt`.' },
      from_line: { type: 'integer', description: 'The line to begin with, counted from 1; the first unless given.' },
    },
    required: ['path'],
  },
  run({ path, from_line: fromLine = 1 }, session) {
    return page(session.sandbox().readText(path), Math.max(fromLine, 1));
  },
});

/** The lines from that one on that fit. */
function page(text, fromLine) {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (fromLine > Math.max(lines.length, 1)) {
    throw KeepsakeError.invalid(`the file has ${lines.length} lines, and no line ${fromLine}`);
  }
  const rest = lines.slice(fromLine - 1);
  let bytes = 0;
  const past = rest.findIndex((line) => (bytes += byteLength(line)) > FILE_BYTES);
  // A line that is too long by itself is cut; or the model could never go on.
  const count = past < 0 ? rest.length : Math.max(past, 1);
  const content = readable(rest.slice(0, count).join(''), FILE_BYTES);
  return { content, lines: lines.length, next_line: count < rest.length ? fromLine + count : undefined };
}

const writeFile = tool({
  name: 'write_file',
  description: "Writes a text file in this conversation's sandbox, in place of one that is there.",
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file, from the work directory; folders that are missing are made.' },
      content: { type: 'string', description: 'All that is to stand in it.' },
    },
    required: ['path', 'content'],
  },
  run({ path, content }, session) {
    session.sandbox().writeFile(path, content);
    return { bytes: byteLength(content) };
  },
});

/** The beginning and the end of an output, without what drives terminals. */
function readable(text, most) {
  const plain = text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
  const size = byteLength(plain);
  if (size <= most) return plain;
  const head = firstBytes(plain, most - END_BYTES);
  const tail = lastBytes(plain, END_BYTES);
  const left = size - byteLength(head) - byteLength(tail);
  return `${head}\n… (${left} bytes are left out here) …\n${tail}`;
}
