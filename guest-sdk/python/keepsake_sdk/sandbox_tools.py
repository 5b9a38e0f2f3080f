"""The tools with which a model works in the session's sandbox."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from .error import KeepsakeError
from .sandbox import ExecResult
from .session import Session
from .tool import Tool, tool
from .values import first_bytes

#: Bytes of each of a command's two outputs that the model is given: both,
#: escaped as JSON, fit into one answer.
_OUTPUT_BYTES = 7 * 1024
#: Of these, bytes of the end: errors stand there.
_END_BYTES = 2 * 1024
#: Bytes of a file that the model is given at a time.
_FILE_BYTES = 14 * 1024
#: How long a command may run; a customer waits for it.
_COMMAND_MS = 30_000


def sandbox_tools() -> list[Tool]:
    """`run_command`, `read_file` and `write_file`, in the session's sandbox,
    which the first call of one of them starts."""
    return [_run_command, _read_file, _write_file]


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


@tool(
    "run_command",
    "Runs a shell command in this conversation's sandbox, apart from everything else and without "
    "a network, for at most 30 seconds. The answer's `entry` can be the `source` of a fact that "
    "the output shows.",
    {
        "type": "object",
        "properties": {"command": _text("The line for `sh -c`.")},
        "required": ["command"],
    },
)
def _run_command(given: dict[str, Any], session: Session) -> Any:
    return _told(session.sandbox().exec(given["command"], timeout_ms=_COMMAND_MS))


def _told(result: ExecResult) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "stdout": _readable(result.stdout, _OUTPUT_BYTES),
        "stderr": _readable(result.stderr, _OUTPUT_BYTES),
        "entry": {key: value for key, value in asdict(result.entry).items() if value is not None},
    }
    if result.truncated:
        answer["truncated"] = "there was more output than was kept"
    if result.status == "code":
        answer["exit_code"] = result.code
    else:
        answer["error"] = {
            "signal": f"it was ended by {result.detail}",
            "timed-out": "it took too long and was ended",
            "limit": f"it reached the limit {result.detail} and was ended",
        }.get(result.status, f"how it ended is not known: {result.detail}")
    return answer


@tool(
    "read_file",
    "Gives the text of a file in this conversation's sandbox. Of a long file it gives the "
    "beginning, and in `next_line` where to go on.",
    {
        "type": "object",
        "properties": {
            "path": _text("The file, from the work directory, such as `report/summary.txt`."),
            "from_line": {
                "type": "integer",
                "description": "The line to begin with, counted from 1; the first unless given.",
            },
        },
        "required": ["path"],
    },
)
def _read_file(given: dict[str, Any], session: Session) -> Any:
    text = session.sandbox().read_text(given["path"])
    return _page(text, max(given.get("from_line", 1), 1))


def _page(text: str, from_line: int) -> dict[str, Any]:
    """The lines from that one on that fit."""
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text)
    if from_line > max(len(lines), 1):
        raise KeepsakeError.invalid(f"the file has {len(lines)} lines, and no line {from_line}")
    rest = lines[from_line - 1 :]
    size = count = 0
    for line in rest:
        size += len(line.encode())
        if size > _FILE_BYTES:
            break
        count += 1
    # A line that is too long by itself is cut; or the model could never go on.
    count = min(max(count, 1), len(rest))
    answer = {"content": _readable("".join(rest[:count]), _FILE_BYTES), "lines": len(lines)}
    if count < len(rest):
        answer["next_line"] = from_line + count
    return answer


@tool(
    "write_file",
    "Writes a text file in this conversation's sandbox, in place of one that is there.",
    {
        "type": "object",
        "properties": {
            "path": _text("The file, from the work directory; folders that are missing are made."),
            "content": _text("All that is to stand in it."),
        },
        "required": ["path", "content"],
    },
)
def _write_file(given: dict[str, Any], session: Session) -> Any:
    session.sandbox().write_file(given["path"], given["content"])
    return {"bytes": len(given["content"].encode())}


def _readable(text: str, most: int) -> str:
    """The beginning and the end of an output, without what drives terminals."""
    plain = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)
    encoded = plain.encode()
    if len(encoded) <= most:
        return plain
    head = first_bytes(plain, most - _END_BYTES)
    tail = encoded[-_END_BYTES:].decode(errors="ignore")
    left = len(encoded) - len(head.encode()) - len(tail.encode())
    return f"{head}\n… ({left} bytes are left out here) …\n{tail}"
