// The customer's message as a file in the sandbox, so that a command can show
// what was said and its entry can be a fact's source.

import { KeepsakeError } from '#keepsake';

/** How long looking into a file may take. */
const LOOK_MS = 10_000;
/** Letters that are looked for by themselves; for longer words the whole message is printed. */
const SEARCHED = 1024;

/** One turn's message. */
export class CaseFile {
  #sandbox;
  #message;

  constructor(sandbox, path, message) {
    this.#sandbox = sandbox;
    this.path = path;
    this.#message = message;
  }

  /** Writes the message into the session's sandbox. */
  static write(session, message) {
    const sandbox = session.sandbox();
    const path = `case/turn-${session.info().turn}.txt`;
    sandbox.writeFile(path, message);
    return new CaseFile(sandbox, path, message);
  }

  /**
   * The entry of a command that shows these words in the message; none when they
   * do not stand there, or when the sandbox fails, which is logged: a fact is
   * worth keeping without a proof.
   */
  find(session, words) {
    // A command of this turn may have changed the file, but not this.
    if (words.trim() === '' || !this.#message.includes(words)) return undefined;
    let reason;
    try {
      const found = this.#sandbox.exec({ line: this.#look(words), timeoutMs: LOOK_MS });
      if (found.ok && found.stdout.includes(words)) return found.entry;
      reason = `the command ended with ${found.status.tag} ${found.status.val ?? ''}`.trim();
    } catch (error) {
      if (!(error instanceof KeepsakeError)) throw error;
      reason = error.message;
    }
    session.log('warn', `the customer's words could not be shown in the sandbox: ${reason}`);
    return undefined;
  }

  #look(words) {
    // In a search each line is a pattern of its own, and a file with a zero byte is no text.
    const searchable = words.length <= SEARCHED && !words.includes('\n') && !this.#message.includes('\0');
    return searchable ? `grep -n -F -e ${quoted(words)} -- ${quoted(this.path)}` : `cat -- ${quoted(this.path)}`;
  }
}

/** A text as one word of a shell's line. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
