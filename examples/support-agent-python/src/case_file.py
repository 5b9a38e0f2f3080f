"""The customer's message as a file in the sandbox, so that a command can show
what was said and its entry can be a fact's source."""

from __future__ import annotations

import shlex

from keepsake_sdk import EntryRef, KeepsakeError, Sandbox, Session

#: How long looking into a file may take.
LOOK_MS = 10_000
#: Bytes that are looked for by themselves; for longer words the whole message
#: is printed, as a command's line is bounded.
SEARCHED_BYTES = 4096


class CaseFile:
    """One turn's message."""

    def __init__(self, sandbox: Sandbox, path: str, message: str) -> None:
        self._sandbox, self.path, self._message = sandbox, path, message

    @classmethod
    def write(cls, session: Session, message: str) -> CaseFile:
        """Writes the message into the session's sandbox."""
        sandbox = session.sandbox()
        path = f"case/turn-{session.info().turn}.txt"
        sandbox.write_file(path, message)
        return cls(sandbox, path, message)

    def find(self, session: Session, words: str) -> EntryRef | None:
        """The entry of a command that shows these words in the message; none
        when they do not stand there, or when the sandbox fails, which is logged:
        a fact is worth keeping without a proof."""
        # A command of this turn may have changed the file, but not this.
        if not words.strip() or words not in self._message:
            return None
        try:
            found = self._sandbox.exec(self._look(words), timeout_ms=LOOK_MS)
            if found.ok and words in found.stdout:
                return found.entry
            reason = f"the command ended with {found.status} {found.code or found.detail or ''}"
        except KeepsakeError as error:
            reason = error.message
        session.log(
            "warn", f"the customer's words could not be shown in the sandbox: {reason.strip()}"
        )
        return None

    def _look(self, words: str) -> str:
        path = shlex.quote(self.path)
        # In a search each line is a pattern of its own, and a file with a zero
        # byte is no text.
        searchable = (
            len(words.encode()) <= SEARCHED_BYTES
            and "\n" not in words
            and "\0" not in self._message
        )
        return f"grep -n -F -e {shlex.quote(words)} -- {path}" if searchable else f"cat -- {path}"
