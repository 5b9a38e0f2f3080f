"""A sandbox whose files are in this process and whose commands answer what the
test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..values import record
from . import wit


class TestSandbox:
    """Gives what the component's `sandbox` gives."""

    def __init__(
        self,
        id: str,
        files: dict[str, bytes],
        run: Callable[[str], Any],
        note: Callable[[str, Any], Any],
    ) -> None:
        self._id, self._files, self._run, self._note = id, files, run, note
        self._closed = False

    def id(self) -> str:
        return self._id

    def exec(self, command: Any) -> Any:
        self._open()
        said = self._run(command.line)
        code, stdout, stderr = (0, said, "") if isinstance(said, str) else said
        told = {"line": command.line, "stdout": stdout, "stderr": stderr}
        return record(
            status=wit.ExitStatus_Code(code),
            stdout=stdout.encode(),
            stderr=stderr.encode(),
            truncated=False,
            duration_ms=0,
            entry=self._note("exec-completed", told),
        )

    def read_file(self, path: str) -> bytes:
        self._open()
        if _within(path) not in self._files:
            wit.not_found(f"there is no file `{path}`")
        return self._files[_within(path)]

    def write_file(self, path: str, content: bytes) -> None:
        self._open()
        self._files[_within(path)] = content

    def list_files(self, path: str) -> list[Any]:
        self._open()
        folder = "" if path in (".", "/work") else f"{_within(path)}/"
        names = [name for name in sorted(self._files) if name.startswith(folder)]
        return [record(path=name) for name in names if "/" not in name[len(folder) :]]

    def remove_file(self, path: str) -> bool:
        self._open()
        return self._files.pop(_within(path), None) is not None

    def close(self) -> None:
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            wit.not_found("the sandbox is closed")


def _within(path: str) -> str:
    """The path from the work directory."""
    inner = path.removeprefix("/work/")
    if inner == "" or inner.startswith("/") or ".." in inner.split("/"):
        wit.invalid(f"the path `{path}` leads out of the sandbox")
    return inner
