"""The tools with which a model uses memory."""

from __future__ import annotations

import json
from typing import Any

from .error import KeepsakeError
from .memory import Scope
from .records import EntryRef, Fact
from .session import Session
from .tool import Tool, tool

#: Facts that one recall gives at the most.
_RECALLED = 20
#: Bytes of values that `get_working_memory` gives: more would be cut.
_VALUES_BYTES = 16 * 1024


def memory_tools() -> list[Tool]:
    """`set_working_memory`, `get_working_memory`, `remember_fact` and
    `recall_facts`, on the memory of the session's customer."""
    return [_set_working_memory, _get_working_memory, _remember_fact, _recall_facts]


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


@tool(
    "set_working_memory",
    "Keeps a value for this and later conversations with this customer. Use remember_fact for"
    " what the customer told about themselves.",
    {
        "type": "object",
        "properties": {
            "key": _text("The name of the value, such as `open_case`."),
            "value": {"description": "The value, any JSON; null deletes it."},
        },
        "required": ["key", "value"],
    },
)
def _set_working_memory(given: dict[str, Any], session: Session) -> Any:
    scope = session.scope()
    if given["value"] is None:
        scope.delete(given["key"])
    else:
        scope.set(given["key"], given["value"])
    return {"ok": True}


@tool(
    "get_working_memory",
    "Gives the customer's profile and all values that were kept.",
    {
        "type": "object",
        "properties": {
            "key": _text("The name of one value; leave it out for the profile and all values.")
        },
    },
)
def _get_working_memory(given: dict[str, Any], session: Session) -> Any:
    scope = session.scope()
    return {"value": scope.get(given["key"])} if "key" in given else _all_values(scope)


def _all_values(scope: Scope) -> Any:
    values: dict[str, Any] = {}
    left_out: list[str] = []
    room = _VALUES_BYTES
    for key, value in scope.values():
        size = len(key) + len(json.dumps(value))
        if size <= room:
            values[key] = value
            room -= size
        elif len(key) <= room:
            left_out.append(key)
            room -= len(key)
        else:
            break
    answer = {"profile": scope.profile(), "values": values}
    if left_out:
        answer["left_out"] = left_out
        answer["note"] = "there is more than fits here: ask for a value by its key"
    return answer


#: What a model can do where nothing was stored.
_NOTES = {
    "near-duplicate": "nothing was stored, because known facts in `near` say nearly the same. If"
    " they do, leave it. If they do not hold any more, call again with their ids in"
    " `supersedes`. If both hold and differ, call again with `keep` true",
    "echo": "nothing was stored: this was recalled in this conversation and is known",
}


@tool(
    "remember_fact",
    "Remembers a lasting fact about this customer. With a source it is marked as verified.",
    {
        "type": "object",
        "properties": {
            "content": _text(
                "The fact as one sentence in the third person, such as"
                ' "Jordan is on the Pro plan."'
            ),
            "source": {
                "type": "object",
                "description": "The `entry` of a command's answer that shows the fact; makes it"
                " verified.",
                "properties": {
                    "session": {"type": "string"},
                    "index": {"type": "integer"},
                    "hash": {"type": "string"},
                },
                "required": ["session", "index"],
            },
            "quote": _text("Words that the source printed, to the letter."),
            "subject": _text("Whom or what the fact is about; only together with `attribute`."),
            "attribute": _text(
                "Which property it gives, such as `plan`: a new value replaces the old one."
            ),
            "metadata": {"type": "object", "description": 'Such as {"order": "A-1042"}.'},
            "supersedes": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The ids of known facts that this one replaces, because they do"
                " not hold any more.",
            },
            "keep": {
                "type": "boolean",
                "description": "True stores the fact beside known ones that say nearly the same.",
            },
        },
        "required": ["content"],
        "additionalProperties": False,
    },
)
def _remember_fact(given: dict[str, Any], session: Session) -> Any:
    if "quote" in given and "source" not in given:
        raise KeepsakeError.invalid("a quote needs the source that it is taken from")
    source = given.pop("source", None)
    if source is not None:
        given["source"] = EntryRef(source["session"], source["index"], source.get("hash"))
    remembered = session.scope().remember(**given)
    answer = {
        "outcome": remembered.outcome,
        "fact": _told(remembered.fact),
        "near": [_told(fact) for fact in remembered.near],
    }
    if remembered.outcome in _NOTES:
        answer["note"] = _NOTES[remembered.outcome]
    return answer


@tool(
    "recall_facts",
    "Looks up what is remembered about this customer.",
    {
        "type": "object",
        "properties": {
            "query": _text("What to look for, in a few words or as a question."),
            "limit": {"type": "integer", "description": "At most so many facts; 5 unless given."},
        },
        "required": ["query"],
    },
)
def _recall_facts(given: dict[str, Any], session: Session) -> Any:
    limit = min(max(given.get("limit", 5), 1), _RECALLED)
    found = session.scope().recall(given["query"], limit=limit).facts
    return {"facts": [{**_told(one.fact), "score": one.score} for one in found]}


def _told(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "content": fact.content,
        "verified": fact.verified,
        "verification": fact.verification,
        "created_at": fact.created_at,
    }
