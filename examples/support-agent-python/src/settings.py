"""What an operator may set."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keepsake_sdk import KeepsakeError, Session

#: Letters of a name that stands in the prompt.
_NAME_LETTERS = 200


@dataclass(frozen=True)
class Settings:
    """The operator's settings for this agent: the name it goes by and whom it
    speaks for, bytes of memory in the prompt, answers of the model in a turn,
    and whether messages are filed in the sandbox."""

    persona: str = "Sam"
    company: str | None = None
    snippet_bytes: int = 4096
    max_rounds: int = 8
    use_sandbox: bool = True

    @classmethod
    def read(cls, session: Session) -> Settings:
        """Reads the settings, and raises at the first that has no usable value."""
        # At least one round with tools and one that answers.
        known = {
            "persona": _name(),
            "company": _name(),
            "snippet-bytes": _number(64, 65_536),
            "max-rounds": _number(2, 64),
            "use-sandbox": (lambda value: isinstance(value, bool), "true or false"),
        }
        given = {}
        for key, (fits, wanted) in known.items():
            value = session.setting(key)
            if value is None:
                continue
            if not fits(value):
                raise KeepsakeError.invalid(
                    f"the setting `{key}` of support-agent must be {wanted}, not "
                    f"{json.dumps(value)}: change it in the host's configuration"
                )
            given[key.replace("-", "_")] = value.strip() if isinstance(value, str) else value
        return cls(**given)


Rule = tuple[Callable[[Any], bool], str]


def _name() -> Rule:
    def fits(value: Any) -> bool:
        is_text = isinstance(value, str) and 0 < len(value.strip()) and len(value) <= _NAME_LETTERS
        return is_text and value.isprintable()

    return fits, f"a name of 1 to {_NAME_LETTERS} letters on one line"


def _number(least: int, most: int) -> Rule:
    def fits(value: Any) -> bool:
        # Python takes true for a number; JSON does not.
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits, f"a whole number from {least} to {most}"
