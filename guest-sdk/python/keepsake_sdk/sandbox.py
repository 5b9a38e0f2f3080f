"""A place to run commands, apart from the host and from other sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .error import KeepsakeError, ask
from .records import EntryRef, entry
from .values import from_json, record, variant


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


@dataclass(frozen=True)
class ExecOutput:
    """A piece of what a running command prints: to `stdout` or `stderr`."""

    stream: str
    text: str


@dataclass(frozen=True)
class Checkpoint:
    """The files of a sandbox as they were. `created_at` is in milliseconds since
    1970."""

    id: str
    name: str
    created_at: int
    entry: EntryRef


@dataclass(frozen=True)
class Metrics:
    """What a sandbox uses; none where the backend does not tell."""

    memory_bytes: int | None
    cpu_ms: int | None
    disk_bytes: int | None
    processes: int | None
    extras: dict[str, Any]


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
        command = _command(line, directory, environment, stdin, timeout_ms)
        return _result(ask(self._host.exec, command))

    def start(
        self,
        line: str,
        *,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
        timeout_ms: int | None = None,
    ) -> Iterator[ExecOutput | ExecResult]:
        """What a command tells while it runs, and at last its end. Leaving the
        loop early kills it."""
        command = _command(line, directory, environment, stdin, timeout_ms)
        execution = ask(self._host.start, command)
        ended = False
        try:
            while (event := ask(execution.next)) is not None:
                kind = variant(event)
                ended = kind == "completed"
                if ended:
                    yield _result(event.value)
                else:
                    yield ExecOutput(kind, bytes(event.value).decode(errors="replace"))
        finally:
            if not ended:
                ask(execution.kill)

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

    def checkpoint(self, name: str) -> Checkpoint:
        """Keeps its files as they are now."""
        made = ask(self._host.checkpoint, name)
        return Checkpoint(made.id, made.name, made.created_at, entry(made.entry))

    def fork(self, checkpoint: str | None = None) -> Sandbox:
        """A sandbox that begins with the files of a checkpoint, by its id, or
        with those of now."""
        return Sandbox(ask(self._host.fork, checkpoint))

    def metrics(self) -> Metrics:
        """What it uses now."""
        told = ask(self._host.metrics)
        return Metrics(
            memory_bytes=told.memory_bytes,
            cpu_ms=told.cpu_ms,
            disk_bytes=told.disk_bytes,
            processes=told.processes,
            extras=from_json(told.extras or "{}"),
        )

    def close(self) -> None:
        """Ends it, with all that runs in it."""
        ask(self._host.close)


def _command(
    line: str,
    directory: str | None,
    environment: Mapping[str, str] | None,
    stdin: str | bytes | None,
    timeout_ms: int | None,
) -> Any:
    return record(
        line=line,
        directory=directory,
        environment=list((environment or {}).items()),
        stdin=stdin.encode() if isinstance(stdin, str) else stdin,
        timeout_ms=timeout_ms,
    )


def _result(done: Any) -> ExecResult:
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
