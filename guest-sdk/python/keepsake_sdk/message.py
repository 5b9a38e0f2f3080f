"""Messages of a conversation with a model, and its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .error import ask
from .values import case, enum, optional_json, record, to_json, variant

_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class ToolCall:
    """The model wants a tool to be run; `arguments` is JSON, as it wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message. `role` is `system`, `user`, `assistant` or `tool`."""

    role: str
    content: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_call_id: str | None = None


def system(content: str) -> Message:
    """What sets the rules."""
    return Message("system", content)


def user(content: str) -> Message:
    """What the customer says."""
    return Message("user", content)


def assistant(content: str) -> Message:
    """What the model said."""
    return Message("assistant", content)


@dataclass(frozen=True)
class Usage:
    """What an answer cost, in tokens."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Response:
    """A whole answer. `finish_reason` is `stop`, `length`, `tool-calls`,
    `content-filter`, or the provider's own word."""

    message: Message
    finish_reason: str
    usage: Usage | None
    model: str


def request(
    messages: Sequence[Message],
    *,
    tools: Sequence[Any] = (),
    temperature: float | None = None,
    max_tokens: int | None = None,
    stop: Sequence[str] = (),
    extras: Any = None,
) -> Any:
    return record(
        messages=[
            record(
                role=enum(_ROLES, message.role, "role"),
                content=message.content,
                tool_calls=message.tool_calls,
                tool_call_id=message.tool_call_id,
            )
            for message in messages
        ],
        tools=[
            record(
                name=tool.name,
                description=tool.description,
                parameters=to_json(tool.parameters, "a schema"),
            )
            for tool in tools
        ],
        temperature=temperature,
        max_tokens=max_tokens,
        stop=list(stop),
        extras=optional_json(extras, "`extras`"),
    )


class Completion:
    """An answer on its way: loop over it for the pieces of its text, or
    `finish` it."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __iter__(self) -> Iterator[str]:
        while (piece := ask(self._host.next)) is not None:
            if variant(piece) == "text":
                yield piece.value

    def finish(self, on_text: Callable[[str], None] | None = None) -> Response:
        """The whole answer; `on_text` is given the text as it comes."""
        if on_text is not None:
            for text in self:
                on_text(text)
        wit = ask(self._host.finish)
        calls = [ToolCall(call.id, call.name, call.arguments) for call in wit.message.tool_calls]
        reason = variant(wit.finish_reason)
        return Response(
            message=Message(case(wit.message.role), wit.message.content, calls),
            finish_reason=wit.finish_reason.value if reason == "other" else reason,
            usage=wit.usage and Usage(wit.usage.input_tokens, wit.usage.output_tokens),
            model=wit.model,
        )
