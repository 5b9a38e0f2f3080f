"""The loop of an agent: ask the model, run the tools that it wants, tell it
their answers, until it has a final message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .error import KeepsakeError
from .message import Message, Response, ToolCall, Usage
from .repeats import Repeats
from .session import Session
from .tool import Tool, Toolbox, failed
from .values import first_bytes

#: Model answers of one loop, unless another number is asked for.
ROUNDS = 8
#: Calls that are run of one model answer; the rest are told to wait.
CALLS_PER_ROUND = 16
#: Bytes of one tool's answer that the model is given.
TOOL_ANSWER_BYTES = 32 * 1024
#: Bytes of all tool answers; they are sent again with each later question.
TOOL_OUTPUT_BYTES = 256 * 1024


@dataclass(frozen=True)
class CallMade:
    """A tool that was run, with what it was given and answered, as JSON."""

    name: str
    arguments: str
    answer: str
    failed: bool


@dataclass
class LoopOutcome:
    """How a loop ended: all that the model said to the customer, why its last
    answer ended, how often it was asked, and the whole conversation."""

    messages: list[Message]
    text: str = ""
    finish_reason: str = "stop"
    rounds: int = 0
    calls: list[CallMade] = field(default_factory=list)
    usage: Usage | None = None


@dataclass
class _Bounds:
    """What one loop has left: bytes of tool answers, and whether the model
    wanted nothing but what it has had too often."""

    room: int
    repeats: Repeats = field(default_factory=Repeats)
    stuck: bool = False


def run_agent_loop(
    session: Session,
    messages: Sequence[Message],
    tools: Iterable[Tool] | Toolbox = (),
    *,
    rounds: int = ROUNDS,
    tool_output_bytes: int = TOOL_OUTPUT_BYTES,
    stream: bool = True,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> LoopOutcome:
    """Runs a conversation to its end. In the last round no tools are offered,
    so that the model has to answer. A call that keeps giving the same answer,
    while nothing else new is learned, is not run again; a model that then wants
    nothing else is offered no tools any more. Raises `limit` `agent-rounds` when
    it still wants tools in the last round."""
    toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    outcome = LoopOutcome(list(messages))
    bounds = _Bounds(tool_output_bytes)
    for number in range(1, max(rounds, 1) + 1):
        last = number == max(rounds, 1)
        offered = [] if last or bounds.room <= 0 or bounds.stuck else toolbox.definitions()
        response = _ask(
            session, outcome, stream, tools=offered, temperature=temperature, max_tokens=max_tokens
        )
        outcome.rounds = number
        outcome.usage = _sum(outcome.usage, response.usage)
        outcome.finish_reason = response.finish_reason
        outcome.messages.append(response.message)
        # What a provider held back is nothing to act on.
        if not response.message.tool_calls or response.finish_reason == "content-filter":
            return outcome
        if not last:
            _run_tools(session, toolbox, response.message.tool_calls, bounds, outcome)
    raise KeepsakeError(
        "limit", f"the model still wants tools after {rounds} rounds", limit="agent-rounds"
    )


def _ask(session: Session, outcome: LoopOutcome, stream: bool, **options: object) -> Response:
    """One answer. Its text goes to the customer and to what was said so far."""
    gap = "\n\n" if outcome.text else ""

    def said(text: str) -> None:
        nonlocal gap
        piece, gap = gap + text, ""
        if stream:
            session.emit(piece)
        outcome.text += piece

    return session.chat(outcome.messages, **options).finish(said)


def _run_tools(
    session: Session,
    toolbox: Toolbox,
    calls: list[ToolCall],
    bounds: _Bounds,
    outcome: LoopOutcome,
) -> None:
    """Runs the calls of one answer, within what the loop has left. Every call
    gets an answer: providers refuse a conversation in which one has none."""
    repeated = 0
    for number, call in enumerate(calls):
        refusal = _refusal(call, number, bounds.room, outcome.finish_reason)
        times = bounds.repeats.too_often(call)
        if times is not None:
            repeated += 1
            refusal = refusal or (
                f"this call was run {times} times with these arguments and gave the same answer "
                "each time, so it is not run again: do something else, or answer with what is there"
            )
        if refusal is not None:
            content = failed(KeepsakeError("limit", refusal)).content
        else:
            answered = toolbox.answer(session, call)
            bounds.repeats.answered(call, answered.content)
            content = _bounded(answered.content, min(TOOL_ANSWER_BYTES, bounds.room))
            bounds.room -= len(content.encode())
            outcome.calls.append(
                CallMade(call.name, call.arguments, answered.content, answered.failed)
            )
        outcome.messages.append(Message("tool", content, tool_call_id=call.id))
    bounds.stuck = repeated == len(calls)


def _refusal(call: ToolCall, number: int, room: int, finish_reason: str) -> str | None:
    if number >= CALLS_PER_ROUND:
        return f"only {CALLS_PER_ROUND} calls are run at once: call again for the rest"
    if room <= 0:
        return "there is no room for more tool answers: answer with what you have"
    if finish_reason == "length" and not _is_json(call.arguments):
        return "your answer was cut off within this call: make it shorter"
    return None


def _bounded(answer: str, bound: int) -> str:
    size = len(answer.encode())
    if size <= bound:
        return answer
    return f"{first_bytes(answer, bound)} … (cut: the answer has {size} bytes)"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    return Usage(one.input_tokens + other.input_tokens, one.output_tokens + other.output_tokens)
