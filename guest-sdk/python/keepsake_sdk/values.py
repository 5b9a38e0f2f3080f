"""JSON as it travels, text on the outside and values on the inside, and the
records and enums that the host takes."""

from __future__ import annotations

import json
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from .error import KeepsakeError


def to_json(value: Any, what: str = "the value") -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise KeepsakeError.invalid(f"{what} cannot be written as JSON: {error}") from None


def optional_json(value: Any, what: str = "the value") -> str | None:
    return None if value is None else to_json(value, what)


def from_json(text: str, what: str = "the value") -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise KeepsakeError.invalid(f"{what} is not JSON: {error}") from None


def milliseconds(time: int | datetime | None) -> int | None:
    """A time as the host takes it: milliseconds since 1970."""
    if isinstance(time, datetime):
        return round(time.timestamp() * 1000)
    return time


def record(**fields: Any) -> SimpleNamespace:
    """A record: the host reads its fields by their names."""
    return SimpleNamespace(**fields)


def enum(names: tuple[str, ...], name: str, what: str) -> SimpleNamespace:
    """A case of an enum, which the host takes by its place."""
    if name not in names:
        raise KeepsakeError.invalid(f"there is no {what} `{name}`; there are {', '.join(names)}")
    return SimpleNamespace(name=name.upper().replace("-", "_"), value=names.index(name))


def case(value: Any) -> str:
    """The name of an enum's case, as the WIT package spells it."""
    return value.name.lower().replace("_", "-")


def variant(value: Any) -> str:
    """The name of a variant's case, from a class such as `Delta_ToolCall`."""
    name = type(value).__name__.split("_", 1)[1]
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


def first_bytes(text: str, bound: int) -> str:
    """The beginning of a text in at most so many bytes, cut between characters."""
    encoded = text.encode()
    return text if len(encoded) <= bound else encoded[:bound].decode(errors="ignore")
