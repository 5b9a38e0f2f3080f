"""Calls that a model makes again and again, though they tell it nothing new."""

from __future__ import annotations

import json

from .message import ToolCall

#: How often the same call may give the same answer while nothing else new is
#: learned. After that it is not run any more.
SAME_ANSWERS = 3


class Repeats:
    """What calls have answered so far. A call that is made again is no fault by
    itself: a test that fails is run again after each change. It is one where
    nothing new came of anything since."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], tuple[str, int]] = {}

    def too_often(self, call: ToolCall) -> int | None:
        """How often the call has given its last answer, if that was too often."""
        _, times = self._calls.get(_key(call), ("", 0))
        return times if times >= SAME_ANSWERS else None

    def answered(self, call: ToolCall, answer: str) -> None:
        """The call was answered so."""
        key = _key(call)
        known, times = self._calls.get(key, (None, 0))
        if known == answer:
            self._calls[key] = (answer, times + 1)
            return
        self._calls = {other: (past, 0) for other, (past, _) in self._calls.items()}
        self._calls[key] = (answer, 1)


def _key(call: ToolCall) -> tuple[str, str]:
    """A call by its name and arguments, however those are spaced and ordered."""
    try:
        return call.name, json.dumps(json.loads(call.arguments), sort_keys=True)
    except ValueError:
        return call.name, call.arguments
