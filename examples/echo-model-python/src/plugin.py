"""The smallest model provider: it says back what the customer said last, and
takes each word for a token."""

import re
from collections.abc import Generator

from keepsake_sdk import AnswerEnd, Context, KeepsakeError, ModelInfo, ModelProvider, Question, Usage


class Plugin(ModelProvider):
    def info(self, context: Context) -> ModelInfo:
        return ModelInfo("echo-model")

    def chat(self, context: Context, question: Question) -> Generator[str, None, AnswerEnd]:
        said = [one.content for one in question.messages if one.role == "user"]
        if not said:
            raise KeepsakeError.invalid("there is no message of a user to answer")
        words = pieces(f"You said: {said[-1]}")
        given = words[: question.max_tokens]
        yield from given
        asked = sum(len(pieces(one.content)) for one in question.messages)
        reason = "length" if len(given) < len(words) else "stop"
        return AnswerEnd(reason, Usage(asked, len(given)))


def pieces(text: str) -> list[str]:
    """The words of a text, each with the space behind it."""
    return re.findall(r"[^ ]* |[^ ]+\Z", text)
