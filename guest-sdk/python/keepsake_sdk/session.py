"""The conversation that an agent is in, and the way to everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import conversation, message, records
from .conversation import Conversation, Exchange
from .error import ask
from .memory import Scope
from .message import Completion, Message, Response
from .records import ForkDifference, MergeReport
from .sandbox import Sandbox
from .values import enum, from_json, optional_json, record, variant

_LEVELS = ("trace", "debug", "info", "warn", "error")
_KINDS = ("query", "passage")


class Context:
    """What every plugin may ask for: its settings and the operator's log."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def setting(self, key: str) -> Any:
        """The operator's value for a setting; none where there is none."""
        text = ask(self._host.settings.get, key)
        return None if text is None else from_json(text, f"the setting `{key}`")

    def log(self, level: str, text: str, fields: Mapping[str, Any] | None = None) -> None:
        """Writes a line for the operator. Levels are `trace`, `debug`, `info`,
        `warn` and `error`."""
        self._host.log.log(enum(_LEVELS, level, "level"), text, optional_json(fields))


@dataclass(frozen=True)
class SessionInfo:
    """The facts of a turn. `started_at` is in milliseconds since 1970."""

    session: str
    resource: str
    account: str | None
    team: str | None
    agent: str
    turn: int
    started_at: int
    channel: dict[str, Any]


@dataclass(frozen=True)
class ModelInfo:
    """What a model is. `context_tokens` is how much it takes, where that is
    known; `{"summarises": False}` as `extras` says that it cannot put a text into
    fewer words."""

    model: str
    context_tokens: int | None = None
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EmbeddingInfo:
    """What a provider of vectors is. `model` names the vector space."""

    model: str
    dimensions: int
    normalised: bool = True
    max_texts: int = 256
    max_text_bytes: int = 8 * 1024
    relevance_threshold: float | None = None
    extras: str | None = None


class Session(Context):
    """One turn of a conversation with one customer, whom the host chooses."""

    def info(self) -> SessionInfo:
        """The facts of this turn."""
        info = self._host.session.info()
        return SessionInfo(
            session=info.session,
            resource=info.resource,
            account=info.account,
            team=info.team,
            agent=info.agent,
            turn=info.turn,
            started_at=info.started_at,
            channel=from_json(info.channel),
        )

    def exchanges(self, *, before: int | None = None, limit: int = 50) -> list[Exchange]:
        """What was said in this session before the turn `before`, or before
        this one, newest first; at most `limit` exchanges, from 1 to 1,000."""
        found = ask(self._host.session.exchanges, before, limit)
        return [Exchange(one.turn, one.at, one.message, one.reply) for one in found]

    def conversation(self, room: int) -> Conversation:
        """What was said before in this session, in at most so many bytes: the
        newest exchanges word for word, and a summary of the older ones, which
        the model is asked for once in a while and which is kept in the
        customer's working memory."""
        return conversation.read(self, room)

    def scope(self) -> Scope:
        """The customer's memory."""
        return Scope(ask(self._host.session.open_scope))

    def account_scope(self) -> Scope | None:
        """The memory of the account that the session was granted, if any."""
        scope = ask(self._host.session.open_account_scope)
        return None if scope is None else Scope(scope)

    def team_scope(self) -> Scope | None:
        """The memory of the team that the session was granted, if any."""
        scope = ask(self._host.session.open_team_scope)
        return None if scope is None else Scope(scope)

    def sandbox(self) -> Sandbox:
        """The session's sandbox, which the first call starts."""
        return Sandbox(ask(self._host.session.open_sandbox))

    def emit(self, chunk: str) -> None:
        """Shows a piece of the reply at once."""
        ask(self._host.session.emit, chunk)

    def model_info(self) -> ModelInfo:
        """What the model is."""
        info = ask(self._host.model.info)
        return ModelInfo(info.model, info.context_tokens, from_json(info.extras or "{}"))

    def chat(self, messages: Sequence[Message], **options: Any) -> Completion:
        """Asks the model, and gives the answer piece by piece. `options` are
        `tools`, `temperature`, `max_tokens`, `stop` and `extras`."""
        return Completion(ask(self._host.model.chat, message.request(messages, **options)))

    def ask(self, messages: Sequence[Message], **options: Any) -> Response:
        """Asks the model, and waits for the whole answer."""
        return self.chat(messages, **options).finish()

    def embedding_info(self) -> EmbeddingInfo:
        """What makes the vectors of this session."""
        info = ask(self._host.embeddings.info)
        return EmbeddingInfo(
            model=info.model,
            dimensions=info.dimensions,
            normalised=info.normalised,
            max_texts=info.max_texts,
            max_text_bytes=info.max_text_bytes,
            relevance_threshold=info.relevance_threshold,
            extras=info.extras,
        )

    def spawn(
        self, agent: str, *, fork_sandbox: bool = False, settings: Mapping[str, Any] | None = None
    ) -> Child:
        """Hands work to another agent, by the name that the host knows it under."""
        options = record(
            fork_sandbox=fork_sandbox,
            settings=optional_json(settings, "the settings"),
            extras=None,
        )
        return Child(ask(self._host.agents.spawn, agent, options))

    def embed(self, texts: Sequence[str], kind: str = "passage") -> list[list[float]]:
        """One vector for each text; `kind` is `query` or `passage`."""
        return ask(self._host.embeddings.embed, list(texts), enum(_KINDS, kind, "kind"))


@dataclass(frozen=True)
class ChildEvent:
    """What another agent tells: `emitted` before its `reply`."""

    kind: str
    text: str


class Child:
    """Another agent at work, with a fork of this session's memory."""

    def __init__(self, host: Any) -> None:
        self._host = host

    @property
    def session(self) -> str:
        """Its session's id."""
        return self._host.session()

    def send(self, message: str) -> None:
        """Gives it a message."""
        ask(self._host.send, message)

    def next(self) -> ChildEvent | None:
        """The next thing that it tells, waiting for it; none when nothing is
        under way."""
        event = ask(self._host.next)
        return None if event is None else ChildEvent(variant(event), event.value)

    def diff(self) -> ForkDifference:
        """What it learned."""
        return records.difference(ask(self._host.diff))

    def merge(self) -> MergeReport:
        """Takes over what it learned."""
        return records.merge_report(ask(self._host.merge))

    def discard(self) -> None:
        """Forgets what it learned."""
        ask(self._host.discard)
