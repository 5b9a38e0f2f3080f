"""What the generated modules give and raise, as far as tests need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ..values import record


class Err(Exception):
    """How a call is answered that was not carried out."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class Error_NotFound:
    value: str


@dataclass
class Error_Invalid:
    value: str


@dataclass
class Error_Unavailable:
    value: Any


@dataclass
class Error_Unsupported:
    value: str


@dataclass
class Delta_Text:
    value: str


@dataclass
class FinishReason_Stop:
    pass


@dataclass
class FinishReason_ToolCalls:
    pass


@dataclass
class ExitStatus_Code:
    value: int


def case(name: str) -> Any:
    """A case of an enum."""
    return record(name=name.upper().replace("-", "_"))


def not_found(message: str) -> NoReturn:
    raise Err(Error_NotFound(message))


def invalid(message: str) -> NoReturn:
    raise Err(Error_Invalid(message))


def unavailable(message: str) -> NoReturn:
    raise Err(Error_Unavailable(record(message=message, retry_after_ms=None)))


def unsupported(name: str) -> NoReturn:
    raise Err(Error_Unsupported(f"{name} is not simulated in tests: use the real host"))
