"""An answer that a model provider gives, from the pieces that it yields."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Union

from .message import Message, Response, ToolCall, Usage
from .values import case, from_json


@dataclass(frozen=True)
class ToolDefinition:
    """A tool that a model may ask for, with the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Question:
    """What a model is asked. `extras` are options that only one provider knows."""

    messages: list[Message]
    tools: list[ToolDefinition] = field(default_factory=list)
    temperature: float | None = None
    max_tokens: int | None = None
    stop: list[str] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolCallPiece:
    """A piece of a tool call, whose first one has an `id` and a `name`."""

    index: int = 0
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True)
class AnswerEnd:
    """How an answer ended. Without them: `stop`, or `tool-calls` where there are
    any; nothing counted; the model of `info`."""

    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None


Piece = Union[str, ToolCallPiece]
#: What `chat` answers with: a text, or its pieces and at last how it ended.
Said = Union[str, Generator[Piece, None, Union[AnswerEnd, None]]]


def question(wit: Any) -> Question:
    """A question as a provider reads it, from what the host gives."""
    messages = [
        Message(
            case(one.role),
            one.content,
            [ToolCall(call.id, call.name, call.arguments) for call in one.tool_calls],
            one.tool_call_id,
        )
        for one in wit.messages
    ]
    tools = [
        ToolDefinition(tool.name, tool.description, from_json(tool.parameters, "a schema"))
        for tool in wit.tools
    ]
    extras = from_json(wit.extras or "{}", "`extras`")
    return Question(messages, tools, wit.temperature, wit.max_tokens, list(wit.stop), extras)


class Answer:
    """An answer on its way. The first piece is waited for, so that a question
    that is refused is refused at once."""

    def __init__(self, said: Said, model: str) -> None:
        if isinstance(said, str):
            said = _whole(said)
        if not isinstance(said, Generator):
            raise TypeError(
                "`chat` answers with a text, or is a generator that yields the pieces of one, not "
                f"{type(said).__name__}"
            )
        self._pieces = said
        self._model = model
        self._content: list[str] = []
        self._calls: dict[int, ToolCallPiece] = {}
        self._end: AnswerEnd | None = None
        self._first = self._read()

    def next(self) -> Piece | None:
        """The next piece; none at the end."""
        first, self._first = self._first, None
        return self._read() if first is None else first

    def finish(self) -> Response:
        """The whole answer."""
        while self.next() is not None:
            pass
        end = self._end or AnswerEnd()
        calls = [
            ToolCall(call.id or "", call.name or "", call.arguments)
            for _, call in sorted(self._calls.items())
        ]
        return Response(
            message=Message("assistant", "".join(self._content), calls),
            finish_reason=end.finish_reason or ("tool-calls" if calls else "stop"),
            usage=end.usage,
            model=end.model or self._model,
        )

    def _read(self) -> Piece | None:
        if self._end is not None:
            return None
        try:
            piece = next(self._pieces)
        except StopIteration as stop:
            self._end = AnswerEnd() if stop.value is None else stop.value
            if not isinstance(self._end, AnswerEnd):
                raise TypeError(
                    f"`chat` returns an AnswerEnd or nothing, not {type(stop.value).__name__}"
                ) from None
            return None
        self._take(piece)
        return piece

    def _take(self, piece: Piece) -> None:
        if isinstance(piece, str):
            self._content.append(piece)
            return
        if not isinstance(piece, ToolCallPiece):
            raise TypeError(
                f"a piece of an answer is a text or a ToolCallPiece, not {type(piece).__name__}"
            )
        begun = self._calls.get(piece.index)
        if begun is None and (piece.id is None or piece.name is None):
            raise TypeError("the first piece of a tool call has an `id` and a `name`")
        arguments = piece.arguments if begun is None else begun.arguments + piece.arguments
        first = begun or piece
        self._calls[piece.index] = ToolCallPiece(piece.index, first.id, first.name, arguments)


def _whole(text: str) -> Generator[Piece, None, AnswerEnd | None]:
    yield text
    return None
