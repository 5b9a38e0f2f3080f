"""What must not be kept, where it can be told from its shape. The prompt asks
the model to leave such things out; this is for when it does not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from keepsake_sdk import KeepsakeError

_NAMES = (
    "password|passwort|passcode|passphrase|pin(?: code| number)?|cvv|cvc|security code|secret key|"
    "api key|access token|client secret|private key"
)
#: What is said of a secret without giving it: "the password is wrong".
_NO_VALUES = (
    "not|no|never|expired|wrong|incorrect|invalid|forgotten|lost|locked|missing|unknown|required|"
    "reset|being|too|working|accepted|rejected"
)
#: "The password is hunter2", "pin: 1234", "CVV 123".
_NAMED = re.compile(
    rf"(?:^|[^a-z0-9])(?:{_NAMES})[\"']?"
    rf"(?:(?: ?[:=] ?| (?:is|was) )[\"']?(?!(?:{_NO_VALUES})(?:[^a-z0-9]|$))[^ \"']"
    r"| [0-9]{3,}(?:[^a-z0-9]|$))"
)
#: How the keys of well-known services begin.
_KEY = re.compile(
    r"(?:^|[^\w.-])(?:sk-|sk_live_|sk_test_|rk_live_|gh[pos]_|github_pat_|glpat-|xox[bp]-|AKIA|"
    r"AIza|eyJ|hf_)[\w.-]{12,}|PRIVATE KEY-----"
)
#: Groups of digits with nothing but blanks and dashes between them, and a plus
#: before a phone number.
_ROWS = re.compile(r"\+?[0-9]+(?:[ .\-\u00a0\u2011\u2013]+[0-9]+)*")
#: Digits in the longest phone number with its country (E.164).
_LONGEST_PHONE = 15
#: What the brands' numbers begin with, by how long they are.
_BRANDS = {13: "4", 14: "3[0689]", 15: "3[47]", 16: "[456]|2[2-7]|35", 19: "[46]"}


def refuse(values: Mapping[str, Any]) -> None:
    """Refuses texts and values with what must not be kept anywhere in them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            refuse(value)
        elif isinstance(value, list):
            refuse({f"{name} {at}": item for at, item in enumerate(value)})
        elif value is not None and not isinstance(value, bool):
            # With its name, which may be what tells.
            found = kind_of(str(value)) or kind_of(f"{name}: {value}")
            if found is not None:
                raise KeepsakeError.invalid(
                    f"this holds what looks like {found}, which is not kept: leave it out"
                )


def kind_of(text: str) -> str | None:
    """What a text holds that must not be kept."""
    if any(_has_card(row) for row in _ROWS.findall(text)):
        return "a card number"
    if _KEY.search(text):
        return "a key"
    return "a password" if _NAMED.search(re.sub(r"[-_\s]+", " ", text.lower())) else None


def _has_card(row: str) -> bool:
    groups = re.findall("[0-9]+", row)
    begin = _behind_phone(groups) if row.startswith("+") else 0
    return any(_is_card(groups[start:]) for start in range(begin, len(groups)))


def _behind_phone(groups: list[str]) -> int:
    """The first group that is no part of a phone number."""
    digits = 0
    for at, group in enumerate(groups):
        digits += len(group)
        if digits > _LONGEST_PHONE:
            return at
    return len(groups)


def _is_card(groups: list[str]) -> bool:
    digits = ""
    for group in groups:
        digits += group
        if len(group) < 3 or len(digits) > 19:
            return False
        brand = _BRANDS.get(len(digits))
        if brand and re.match(brand, digits) and _check_digit_holds(digits):
            return True
    return False


def _check_digit_holds(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
