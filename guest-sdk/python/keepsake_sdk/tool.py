"""Tools that a model may ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .error import KeepsakeError
from .message import ToolCall
from .schema import misfit
from .session import Session
from .values import from_json, to_json

Run = Callable[[dict[str, Any], Session], Any]


@dataclass(frozen=True)
class Tool:
    """One tool. `parameters` is the JSON Schema of its arguments; `run` is
    given arguments that fit it, and what it answers is told as JSON."""

    name: str
    description: str
    parameters: dict[str, Any]
    run: Run


def tool(
    name: str, description: str, parameters: dict[str, Any] | None = None
) -> Callable[[Run], Tool]:
    """Makes a tool of a function:

        @tool("track_parcel", "Says where a parcel is.", {...})
        def track(arguments, session): ...
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise KeepsakeError.invalid(
            f"`{name}` cannot be a tool's name: it is from 1 to 64 of A-Z a-z 0-9 _ -"
        )
    schema = parameters or {"type": "object", "properties": {}}
    return lambda run: Tool(name, description, schema, run)


@dataclass(frozen=True)
class Answered:
    """What the model is given, as JSON, and whether the tool failed."""

    content: str
    failed: bool


class Toolbox:
    """The tools of one turn. A later one takes the place of one of the same name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def definitions(self) -> list[Tool]:
        """What the model is told of."""
        return list(self._tools.values())

    def answer(self, session: Session, call: ToolCall) -> Answered:
        """Runs a call. What goes wrong in a way that the model can mend is part
        of the answer; a fault in the tool itself is raised."""
        try:
            found = self._tools.get(call.name)
            if found is None:
                names = ", ".join(self._tools) or "no tools at all"
                raise KeepsakeError.not_found(f"there is no tool `{call.name}`; there are {names}")
            try:
                # Models write nothing where a tool takes no arguments.
                given = from_json(call.arguments, "what is given") if call.arguments.strip() else {}
                wrong = misfit(found.parameters, given)
            except KeepsakeError as error:
                wrong = error.message
            if wrong is not None:
                return _misfit(found, wrong)
            return Answered(to_json(found.run(given, session), f"what `{call.name}` answers"), False)
        except KeepsakeError as error:
            return failed(error)


def _misfit(tool: Tool, wrong: str) -> Answered:
    """With the schema, so that the model need not look for it at the beginning
    of a long conversation."""
    message = (
        f"the arguments of `{tool.name}` do not fit: {wrong}; call it again with arguments that "
        "fit `parameters`"
    )
    told = {"error": {"code": "invalid", "message": message, "parameters": tool.parameters}}
    return Answered(json.dumps(told, ensure_ascii=False), True)


def failed(error: KeepsakeError) -> Answered:
    """A failure as the model is told it."""
    told = {"error": {"code": error.code, "message": error.message}}
    return Answered(json.dumps(told, ensure_ascii=False), True)
