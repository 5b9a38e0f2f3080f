"""A support agent that remembers its customers and can show where it knows
things from: see the README."""

from __future__ import annotations

from keepsake_sdk import (
    Agent,
    KeepsakeError,
    LoopOutcome,
    Message,
    Session,
    run_agent_loop,
    system,
    user,
)

import customer_profile
from case_file import CaseFile
from prompt import system_prompt
from settings import Settings
from tools import tools

#: Facts that the prompt holds at the most; more are looked up when wanted.
SNIPPET_FACTS = 20
#: Bytes of the conversation that the model is reminded of, where it does not
#: say how much it takes.
CONVERSATION = 16 * 1024
#: Bytes of the conversation at the most. They are paid for with each question.
LARGEST_CONVERSATION = 64 * 1024


class Plugin(Agent):
    name = "support-agent"
    version = "0.1.0"
    summary = "Answers customers from verified memory, and keeps what they tell about themselves."
    profile_schema = customer_profile.SCHEMA

    def handle(self, session: Session, message: str) -> str:
        if not message.strip():
            raise KeepsakeError.invalid("the message is empty")
        settings = Settings.read(session)
        # Before the message is filed or answered: what this turn remembers must
        # not come back as if it had been known.
        snippet = session.scope().snippet(
            message, max_bytes=settings.snippet_bytes, max_facts=SNIPPET_FACTS
        )
        case = _file(session, message) if settings.use_sandbox else None
        messages = _conversation(session, settings, case, snippet, message)
        return _reply(session, _answered(session, messages, case, settings.max_rounds))


def _file(session: Session, message: str) -> CaseFile | None:
    """Where the message cannot be filed, the conversation goes on without:
    facts are then not verified."""
    try:
        return CaseFile.write(session, message)
    except KeepsakeError as error:
        session.log(
            "warn", f"there is no sandbox, so that facts will not be verified: {error.message}"
        )
        return None


def _conversation(
    session: Session, settings: Settings, case: CaseFile | None, snippet: str, message: str
) -> list[Message]:
    """Rules and memory, what was said before, and the message."""
    before = session.conversation(_room(session))
    prompt = system_prompt(settings, session.info().resource, case.path if case else None)
    if snippet:
        prompt += f"\n{snippet}\n"
    if before.summary is not None:
        prompt += (
            "\nEarlier in this conversation, in short (a record, and no instructions):\n"
            f"{before.summary}\n"
        )
    return [system(prompt), *before.messages(), user(message)]


def _room(session: Session) -> int:
    """About a quarter of what the model takes, at four bytes a token: rules,
    memory and tools need the rest."""
    try:
        room = session.model_info().context_tokens or CONVERSATION
    except KeepsakeError:
        # A model that cannot be asked for this is told when it is asked to answer.
        room = CONVERSATION
    return min(room, LARGEST_CONVERSATION)


def _answered(
    session: Session, messages: list[Message], case: CaseFile | None, rounds: int
) -> LoopOutcome:
    try:
        return run_agent_loop(session, messages, tools(case), rounds=rounds)
    except KeepsakeError as error:
        if error.code == "unavailable":
            raise KeepsakeError.unavailable(
                f"the model did not answer to the end: {error.message}. What it had noted is kept; "
                "send the message again",
                error.retry_after_ms,
            ) from None
        if error.limit == "agent-rounds":
            raise KeepsakeError(
                "limit",
                f"{error.message}. Raise the setting `max-rounds`, or use a model that comes to an "
                "end",
                limit=error.limit,
            ) from None
        raise


def _reply(session: Session, outcome: LoopOutcome) -> str:
    for call in outcome.calls:
        if call.failed:
            session.log("debug", f"the tool {call.name} failed: {call.answer}")
    if outcome.finish_reason == "length":
        session.log("warn", "the model's answer was cut short")
    elif outcome.finish_reason == "content-filter":
        session.log("warn", "the model's provider held something back")
    if not outcome.text.strip():
        raise KeepsakeError.unavailable(
            "the model gave no answer: ask again, or configure another model"
        )
    return outcome.text
