"""Why a call was not carried out, in the cases of the WIT package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: The cases whose payload is a text, by the names of the generated classes.
_TEXTS = {
    "Error_Denied": "denied",
    "Error_NotFound": "not-found",
    "Error_Invalid": "invalid",
    "Error_Unsupported": "unsupported",
    "Error_Internal": "internal",
}


class KeepsakeError(Exception):
    """A failure that the other side can act on.

    Raising one from `handle` ends the turn with that error; any other
    exception is taken for a fault in the plugin. `code` is `denied`,
    `not-found`, `invalid`, `unavailable`, `limit`, `unsupported`, `internal`,
    or a word of the plugin's own. `limit` names the bound that was reached.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        limit: str | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.limit = limit
        self.retry_after_ms = retry_after_ms

    @classmethod
    def invalid(cls, message: str) -> KeepsakeError:
        """The arguments break a rule, which the text names."""
        return cls("invalid", message)

    @classmethod
    def not_found(cls, message: str) -> KeepsakeError:
        """There is no such thing."""
        return cls("not-found", message)

    @classmethod
    def unavailable(cls, message: str, retry_after_ms: int | None = None) -> KeepsakeError:
        """A part that is needed did not answer; trying again may help."""
        return cls("unavailable", message, retry_after_ms=retry_after_ms)


def from_wit(error: Any) -> KeepsakeError:
    """An error of the host, which is an object of a generated class."""
    case, value = type(error).__name__, error.value
    if case in _TEXTS:
        return KeepsakeError(_TEXTS[case], value)
    if case == "Error_Unavailable":
        return KeepsakeError.unavailable(value.message, value.retry_after_ms)
    if case == "Error_Limit":
        return KeepsakeError("limit", value.message, limit=value.name)
    return KeepsakeError(value.code, value.message)


def to_wit(error: KeepsakeError, types: Any) -> Any:
    """The other way round; `types` is the generated module of that name."""
    for name, code in _TEXTS.items():
        if code == error.code:
            return getattr(types, name)(error.message)
    if error.code == "unavailable":
        return types.Error_Unavailable(types.Unavailable(error.message, error.retry_after_ms))
    if error.code == "limit":
        return types.Error_Limit(types.LimitReached(error.limit or "plugin", error.message))
    return types.Error_Other(types.OtherError(error.code, error.message))


def ask(question: Callable[..., T], *given: Any) -> T:
    """Asks the host; its errors come out as `KeepsakeError`."""
    try:
        return question(*given)
    except Exception as error:
        # The class is generated with the component, and not there in tests.
        payload = getattr(error, "value", None)
        if type(error).__name__ != "Err" or payload is None:
            raise
        raise from_wit(payload) from None
