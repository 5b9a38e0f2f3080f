"""What a plugin is: a class of its own, of one of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .answer import Question, Said
from .session import Context, EmbeddingInfo, ModelInfo, Session


@dataclass(frozen=True)
class Reply:
    """One reply out; `data` is for the program that reads it."""

    text: str
    data: Any = None


class Agent(ABC):
    """A plugin that answers customers. Each turn runs in a new instance of the
    component: what is to last belongs into memory."""

    #: From 1 to 64 of `a-z 0-9 -`.
    name: ClassVar[str]
    version: ClassVar[str]
    #: One sentence for the operator.
    summary: ClassVar[str]
    #: The JSON Schema that profiles must fit; without one, any object does.
    profile_schema: ClassVar[dict[str, Any] | None] = None

    @abstractmethod
    def handle(self, session: Session, message: str) -> str | Reply:
        """Answers one message."""


class EmbeddingProvider(ABC):
    """A plugin that turns texts into vectors."""

    @abstractmethod
    def info(self, context: Context) -> EmbeddingInfo:
        """What this provider is. Does not change while it runs."""

    @abstractmethod
    def embed(self, context: Context, texts: Sequence[str], kind: str) -> list[list[float]]:
        """One vector for each text, in their order. An empty text is allowed;
        `kind` is `query` or `passage`."""


class ModelProvider(ABC):
    """A plugin that answers chats."""

    @abstractmethod
    def info(self, context: Context) -> ModelInfo:
        """What this provider is. Does not change while it runs."""

    @abstractmethod
    def chat(self, context: Context, question: Question) -> Said:
        """Answers a question: with a text, or, as a generator, with the pieces of
        one as they come, and at last with an `AnswerEnd`."""
