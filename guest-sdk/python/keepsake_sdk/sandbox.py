"""A place to run commands, apart from the host and from other sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .error import KeepsakeError, ask
from .records import EntryRef, entry
from .values import record, variant


@dataclass(frozen=True)
class ExecResult:
    """What a command did. `status` is `code`, `signal`, `timed-out`, `limit` or
    `unknown`; `code` is none unless it ended by itself, and `detail` names the
    signal or the limit, or says why its end is not known."""

    status: str
    code: int | None
    detail: str | None
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: int
    entry: EntryRef

    @property
    def ok(self) -> bool:
        """It ended by itself, with 0."""
        return self.code == 0


class Sandbox:
    """One sandbox. It runs until the session ends."""

    def __init__(self, host: Any) -> None:
        self._host = host

    @property
    def id(self) -> str:
        """The sandbox's id, unlike that of any other."""
        return self._host.id()

    def exec(
        self,
        line: str,
        *,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
        timeout_ms: int | None = None,
    ) -> ExecResult:
        """Runs a command to its end. One that fails is no error."""
        command = record(
            line=line,
            directory=directory,
            environment=list((environment or {}).items()),
            stdin=stdin.encode() if isinstance(stdin, str) else stdin,
            timeout_ms=timeout_ms,
        )
        done = ask(self._host.exec, command)
        status = variant(done.status)
        return ExecResult(
            status=status,
            code=done.status.value if status == "code" else None,
            detail=done.status.value if status in ("signal", "limit", "unknown") else None,
            stdout=bytes(done.stdout).decode(errors="replace"),
            stderr=bytes(done.stderr).decode(errors="replace"),
            truncated=done.truncated,
            duration_ms=done.duration_ms,
            entry=entry(done.entry),
        )

    def read_file(self, path: str) -> bytes:
        """A whole file, up to 8 MiB."""
        return bytes(ask(self._host.read_file, path))

    def read_text(self, path: str) -> str:
        """A whole file as text."""
        try:
            return self.read_file(path).decode()
        except UnicodeDecodeError:
            raise KeepsakeError.invalid(f"the file `{path}` is no text") from None

    def write_file(self, path: str, content: str | bytes) -> None:
        """Writes a whole file, up to 8 MiB. Missing directories are made."""
        ask(self._host.write_file, path, content.encode() if isinstance(content, str) else content)

    def list_files(self, path: str) -> list[str]:
        """The paths of what a directory holds."""
        return [file.path for file in ask(self._host.list_files, path)]

    def remove_file(self, path: str) -> bool:
        """Deletes a file or directory, and answers whether it was there."""
        return ask(self._host.remove_file, path)

    def close(self) -> None:
        """Ends it, with all that runs in it."""
        ask(self._host.close)
