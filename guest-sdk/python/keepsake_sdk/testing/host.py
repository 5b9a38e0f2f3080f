"""The host of a test: what a test says, and what an agent may ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .. import records
from ..answer import Answer, Question
from ..message import Message, Response
from ..plugin import Agent, ModelProvider, Reply
from ..records import EntryRef, Fact
from ..session import Context, Session
from ..values import record
from . import wit
from .memory import Memory, TestScope
from .sandbox import TestSandbox


class Host:
    """Keeps one customer's memory, and answers as the test says.

    `requests`, `commands_run` and `logged` tell what the agent asked for.
    """

    def __init__(
        self, resource: str = "customer", settings: Mapping[str, Any] | None = None
    ) -> None:
        self.resource = resource
        self.requests: list[Any] = []
        self.commands_run: list[str] = []
        self.logged: list[tuple[str, str]] = []
        self._settings = {key: json.dumps(value) for key, value in (settings or {}).items()}
        self._memory = Memory()
        self._answers: list[Any] = []
        self._model_info = record(model="scripted", context_tokens=None, extras=None)
        self._commands: Callable[[str], Any] | None = None
        self._files: dict[str, bytes] = {}
        self._session = 1
        self._turn = 0
        self._emitted: list[str] = []

    def model_says(self, text: str) -> Host:
        """What the model answers next, as text."""
        return self._answer(text, [], wit.FinishReason_Stop())

    def model_calls(self, *calls: tuple[str, Any]) -> Host:
        """The tools that the model calls next, by name and arguments."""
        made = [
            record(
                id=f"call-{len(self._answers)}-{number}",
                name=name,
                arguments=given if isinstance(given, str) else json.dumps(given),
            )
            for number, (name, given) in enumerate(calls)
        ]
        return self._answer("", made, wit.FinishReason_ToolCalls())

    def model_is(
        self,
        model: str = "scripted",
        *,
        context_tokens: int | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> Host:
        """What the model tells of itself."""
        told = None if extras is None else json.dumps(extras)
        self._model_info = record(model=model, context_tokens=context_tokens, extras=told)
        return self

    def commands(self, answer: Callable[[str], Any]) -> Host:
        """How commands end: a function of the line to what it prints, or to a
        tuple of its code, what it prints and what it complains about. Without
        this there is no sandbox."""
        self._commands = answer
        return self

    def new_session(self) -> None:
        """Begins another session of the same customer."""
        self._session += 1
        self._turn = 0
        self._files.clear()

    def turn(self, agent: Agent, message: str) -> Reply:
        """Handles one message as the real host does, and gives the reply."""
        self._emitted.clear()
        self._memory.shown.clear()
        turn = self._turn
        self._record("turn-started", {"turn": turn, "message": message})
        try:
            reply = agent.handle(self.session(), message)
        except Exception as error:
            self._record("turn-failed", {"turn": turn, "error": str(error)})
            raise
        finally:
            self._turn += 1
        reply = Reply(reply) if isinstance(reply, str) else reply
        self._record("turn-completed", {"turn": turn, "reply": reply.text})
        return reply

    def chat(
        self, provider: ModelProvider, question: Question | list[Message]
    ) -> tuple[Response, list[str]]:
        """Asks a model provider, and gives its whole answer with the pieces of
        text that it came in."""
        if not isinstance(question, Question):
            question = Question(question)
        context = self.context()
        answer = Answer(provider.chat(context, question), provider.info(context).model)
        pieces = []
        while (piece := answer.next()) is not None:
            if isinstance(piece, str):
                pieces.append(piece)
        return answer.finish(), pieces

    def session(self) -> Session:
        """The session as an agent sees it, for tests of parts of an agent."""
        return Session(self._imports())

    def context(self) -> Context:
        """What a provider sees."""
        return Context(self._imports())

    @property
    def emitted(self) -> str:
        """What was emitted in the last turn."""
        return "".join(self._emitted)

    @property
    def profile(self) -> dict[str, Any]:
        """The customer's profile."""
        return self.session().scope().profile()

    @property
    def facts(self) -> list[Fact]:
        """The customer's current facts, newest first."""
        return list(self.session().scope().facts())

    def working(self, key: str) -> Any:
        """A value of working memory."""
        return self.session().scope().get(key)

    def record(self, kind: str, payload: Mapping[str, Any]) -> EntryRef:
        """Writes an entry of the ledger, and gives what points at it."""
        return records.entry(self._record(kind, payload))

    def _record(self, kind: str, payload: Mapping[str, Any]) -> Any:
        return self._memory.record(self.resource, f"session-{self._session}", kind, payload)

    def _answer(self, text: str, calls: list[Any], reason: Any) -> Host:
        message = record(role=wit.case("assistant"), content=text, tool_calls=calls)
        self._answers.append(
            record(message=message, finish_reason=reason, usage=None, model="scripted")
        )
        return self

    def _imports(self) -> Any:
        """What the component's imports are to a plugin."""
        return record(
            settings=record(get=self._settings.get),
            log=record(log=lambda level, text, fields: self.logged.append((level.name, text))),
            session=record(
                info=self._info,
                exchanges=self._exchanges,
                open_scope=lambda: TestScope(self._memory, self.resource, self._record),
                open_account_scope=lambda: None,
                open_team_scope=lambda: None,
                open_sandbox=self._open_sandbox,
                emit=self._emitted.append,
            ),
            model=record(info=lambda: self._model_info, chat=self._chat),
            embeddings=record(embed=lambda texts, kind: wit.unsupported("embeddings.embed")),
        )

    def _info(self) -> Any:
        return record(
            session=f"session-{self._session}",
            resource=self.resource,
            account=None,
            team=None,
            agent="agent-under-test",
            turn=self._turn,
            started_at=self._memory.now(),
            channel="{}",
        )

    def _exchanges(self, before: int | None, limit: int) -> list[Any]:
        before = self._turn if before is None else before
        session = f"session-{self._session}"
        return self._memory.exchanges(self.resource, session, before, limit)

    def _open_sandbox(self) -> TestSandbox:
        commands = self._commands
        if commands is None:
            wit.unavailable("this test has no sandbox: give it one with `host.commands`")

        def run(line: str) -> Any:
            self.commands_run.append(line)
            return commands(line)

        return TestSandbox(f"sandbox-of-session-{self._session}", self._files, run, self._record)

    def _chat(self, request: Any) -> Any:
        self.requests.append(request)
        if not self._answers:
            wit.unavailable(
                "the test says nothing of what the model answers now: use `host.model_says`"
            )
        answer = self._answers.pop(0)
        text = answer.message.content
        # Two pieces, as a text of which nothing is cut tests nothing.
        middle = (len(text) + 1) // 2
        pieces = [wit.Delta_Text(part) for part in (text[:middle], text[middle:]) if part]
        return record(next=lambda: pieces.pop(0) if pieces else None, finish=lambda: answer)
