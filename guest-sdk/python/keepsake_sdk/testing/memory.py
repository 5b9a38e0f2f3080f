"""Memory in this process. It keeps what an agent can see of the real one:
working memory, profiles by merge patch, facts with sources that are checked
against recorded commands, values that supersede older ones, recall by words.
Facts that say nearly the same are not compared: only the host does that."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..values import record
from . import wit
from .recall import recall, snippet

#: When a test begins: 2026-01-01. Each event takes a millisecond.
_BEGINNING = 1_767_225_600_000


class Memory:
    """The memory of all customers, and what happened."""

    def __init__(self) -> None:
        #: Ids of the facts that this turn showed.
        self.shown: set[str] = set()
        self.entries: list[Any] = []
        self._resources: dict[str, Any] = {}
        self._ticks = 0

    def now(self) -> int:
        return _BEGINNING + self._ticks

    def tick(self) -> int:
        self._ticks += 1
        return self.now()

    def of(self, resource: str) -> Any:
        empty = record(working={}, profile={}, facts=[])
        return self._resources.setdefault(resource, empty)

    def record(self, resource: str, session: str, kind: str, payload: Any) -> Any:
        index = sum(entry.reference.session == session for entry in self.entries)
        reference = record(session=session, index=index, hash=None)
        self.entries.append(
            record(
                resource=resource, reference=reference, at=self.tick(), kind=kind, payload=payload
            )
        )
        return reference

    def current(self, resource: str) -> list[Any]:
        """Current facts, newest first."""
        now = self.now()
        return [fact for fact in reversed(self.of(resource).facts) if _holds(fact, now)]

    def exchanges(self, resource: str, session: str, before: int, limit: int) -> list[Any]:
        """What was said in a session before a turn, newest first."""
        if not 1 <= limit <= 1000:
            wit.invalid("`limit` is from 1 to 1,000")
        said = {
            (entry.kind, entry.payload.get("turn")): entry
            for entry in self.entries
            if (entry.resource, entry.reference.session) == (resource, session)
        }
        found = []
        for turn in range(before - 1, -1, -1):
            began, ended = said.get(("turn-started", turn)), said.get(("turn-completed", turn))
            if began is not None and ended is not None:
                message, reply = began.payload["message"], ended.payload["reply"]
                found.append(record(turn=turn, at=began.at, message=message, reply=reply))
        return found[:limit]

    def check(self, resource: str, fact: Any) -> None:
        if not fact.content.strip():
            wit.invalid("a fact must not be empty")
        if (fact.subject is None) != (fact.attribute is None):
            wit.invalid("a fact's subject and attribute are given together or not at all")
        if fact.source is None:
            if fact.quote is not None:
                wit.invalid("a quote needs the source that it is taken from")
            return
        wanted = (resource, fact.source.session, fact.source.index)
        for entry in self.entries:
            if (entry.resource, entry.reference.session, entry.reference.index) != wanted:
                continue
            printed = (entry.payload.get("stdout", ""), entry.payload.get("stderr", ""))
            if fact.quote is not None and not any(fact.quote in text for text in printed):
                wit.invalid("the quote does not stand in the source's output")
            return
        wit.invalid("the source is no entry of this scope")

    def remember(self, resource: str, new: Any) -> Any:
        at = self.tick()
        facts = self.of(resource).facts
        for known in facts:
            if _holds(known, at) and known.content == new.content:
                if known.id in self.shown:
                    return _remembered("echo", known)
                known.updated_at = at
                if known.source is None and new.source is not None:
                    known.source, known.verification = new.source, wit.case("verified")
                return _remembered("repeated", known)
        fact = _stored(new, f"fact-{at}", at)
        older = [known for known in facts if _holds(known, at) and _ends(new, known)]
        for known in older:
            known.valid_until, known.superseded_by = at, fact.id
        facts.append(fact)
        return _remembered("superseded" if older else "stored", fact)


def _holds(fact: Any, now: int) -> bool:
    return fact.valid_until is None or fact.valid_until > now


def _ends(new: Any, known: Any) -> bool:
    """Whether a new fact replaces a known one."""
    same = (new.subject, new.attribute) == (known.subject, known.attribute)
    return (new.subject is not None and same) or known.id in new.supersedes


def _remembered(outcome: str, fact: Any) -> Any:
    return record(outcome=wit.case(outcome), fact=copy.copy(fact), near=[])


def _stored(new: Any, id: str, at: int) -> SimpleNamespace:
    return record(
        id=id,
        content=new.content,
        metadata=new.metadata or "{}",
        source=new.source,
        verification=wit.case("verified" if new.source else "unverified"),
        created_at=at,
        updated_at=at,
        subject=new.subject,
        attribute=new.attribute,
        valid_from=at if new.valid_from is None else new.valid_from,
        valid_until=new.expires_at,
        superseded_by=None,
        thread=new.thread,
        position=new.position,
        instruction_like=False,
        masked=False,
        extras=new.extras,
    )


class TestScope:
    """Gives what the component's `scope` gives."""

    def __init__(self, memory: Memory, resource: str, note: Callable[[str, Any], Any]) -> None:
        self._memory, self._resource, self._note = memory, resource, note
        self._mine = memory.of(resource)

    def get(self, key: str) -> str | None:
        return self._mine.working.get(key)

    def set(self, key: str, value: str) -> None:
        if not 1 <= len(key.encode()) <= 256 or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in key):
            wit.invalid("a key is from 1 to 256 bytes without control characters")
        self._mine.working[key] = value

    def compare_and_set(self, key: str, expected: str | None, value: str | None) -> bool:
        if _parsed(self.get(key)) != _parsed(expected):
            return False
        if value is None:
            self.delete(key)
        else:
            self.set(key, value)
        return True

    def delete(self, key: str) -> bool:
        return self._mine.working.pop(key, None) is not None

    def list_working(self, page: Any) -> Any:
        keys = sorted(key for key in self._mine.working if key > (page.after or ""))
        items = [(key, self._mine.working[key]) for key in keys[: page.limit]]
        return record(items=items, next=items[-1][0] if len(keys) > page.limit else None)

    def profile(self) -> str:
        return json.dumps(self._mine.profile)

    def update_profile(self, text: str) -> str:
        patch = json.loads(text)
        if not isinstance(patch, dict):
            wit.invalid("a profile is an object, and so is its patch")
        self._mine.profile = _merged(self._mine.profile, patch)
        return self.profile()

    def clear_profile(self) -> None:
        self._mine.profile = {}

    def remember(self, fact: Any) -> Any:
        return self.remember_many([fact])[0]

    def remember_many(self, facts: list[Any]) -> list[Any]:
        for fact in facts:
            self._memory.check(self._resource, fact)
        return [self._memory.remember(self._resource, fact) for fact in facts]

    def recall(self, query: str, options: Any) -> Any:
        if not 1 <= options.limit <= 1000:
            wit.invalid("`limit` is from 1 to 1,000")
        found = recall(self._memory.current(self._resource), query, options)
        self._memory.shown.update(one.fact.id for one in found)
        receipt = self._note("recalled", {"query": query, "facts": len(found)})
        return record(facts=found, receipt=receipt)

    def find(self, id: str) -> Any:
        return next((fact for fact in self._mine.facts if fact.id == id), None)

    def list_facts(self, page: Any) -> Any:
        every = self._memory.current(self._resource)
        ids = [fact.id for fact in every]
        if page.after is not None and page.after not in ids:
            wit.invalid("no page answered with this")
        begin = 0 if page.after is None else ids.index(page.after) + 1
        facts = every[begin : begin + page.limit]
        return record(facts=facts, next=facts[-1].id if begin + page.limit < len(every) else None)

    def forget(self, ids: list[str]) -> int:
        before = len(self._mine.facts)
        self._mine.facts = [fact for fact in self._mine.facts if fact.id not in ids]
        return before - len(self._mine.facts)

    def expire(self, id: str, at: int) -> bool:
        fact = self.find(id)
        if fact is not None:
            fact.valid_until = at
        return fact is not None

    def snippet(self, options: Any) -> str:
        facts = self._memory.current(self._resource)
        text, used = snippet(self._mine.profile, self._mine.working, facts, options)
        self._memory.shown.update(fact.id for fact in used)
        return text

    def episodes(self, options: Any) -> Any:
        fits = [
            entry
            for entry in self._memory.entries
            if entry.resource == self._resource
            and options.session in (None, entry.reference.session)
            and (options.since is None or entry.at >= options.since)
            and (options.until is None or entry.at < options.until)
        ]
        begin = int(options.page.after or 0)
        end = begin + options.page.limit
        episodes = [
            record(
                entry=entry.reference,
                at=entry.at,
                kind=entry.kind,
                payload=json.dumps(entry.payload),
            )
            for entry in fits[begin:end]
        ]
        return record(episodes=episodes, next=str(end) if end < len(fits) else None)


def _parsed(text: str | None) -> Any:
    # JSON texts are compared as values: spaces mean nothing.
    return (False, None) if text is None else (True, json.loads(text))


def _merged(target: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    members = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            members.pop(key, None)
        else:
            members[key] = _merged(members.get(key), value)
    return members
