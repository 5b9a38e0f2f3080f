"""The component's entry for a model provider."""

from __future__ import annotations

from typing import Any

# The plugin's own module, and what is generated with the component.
import plugin
from wit_world import exports
from wit_world.exports import model as wit
from wit_world.imports import log, settings

from ..answer import Answer, Piece, question
from ..message import Response
from ..plugin import ModelProvider
from ..session import Context
from ..values import optional_json, record
from .guard import guarded, the_only

_plugin = the_only(ModelProvider, vars(plugin))
_context = Context(record(log=log, settings=settings))

_REASONS: dict[str, Any] = {
    "stop": wit.FinishReason_Stop,
    "length": wit.FinishReason_Length,
    "tool-calls": wit.FinishReason_ToolCalls,
    "content-filter": wit.FinishReason_ContentFilter,
}


class Completion(wit.Completion):
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def next(self) -> Any:
        return guarded(lambda: _delta(self._answer.next()))

    def finish(self) -> Any:
        return guarded(lambda: _response(self._answer.finish()))


class Model(exports.Model):
    def info(self) -> Any:
        return guarded(_info)

    def chat(self, request: Any) -> Any:
        return guarded(_chat, request)


def _info() -> Any:
    info = _plugin.info(_context)
    return wit.ModelInfo(info.model, info.context_tokens, optional_json(info.extras or None))


def _chat(request: Any) -> Completion:
    said = _plugin.chat(_context, question(request))
    return Completion(Answer(said, _plugin.info(_context).model))


def _delta(piece: Piece | None) -> Any:
    if piece is None:
        return None
    if isinstance(piece, str):
        return wit.Delta_Text(piece)
    return wit.Delta_ToolCall(
        wit.ToolCallDelta(piece.index, piece.id, piece.name, piece.arguments)
    )


def _response(response: Response) -> Any:
    calls = [wit.ToolCall(one.id, one.name, one.arguments) for one in response.message.tool_calls]
    reason = response.finish_reason
    usage = response.usage
    return wit.Response(
        message=wit.Message(wit.Role.ASSISTANT, response.message.content, calls, None),
        finish_reason=_REASONS[reason]() if reason in _REASONS else wit.FinishReason_Other(reason),
        usage=usage and wit.Usage(usage.input_tokens, usage.output_tokens),
        model=response.model,
    )
