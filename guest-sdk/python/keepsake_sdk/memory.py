"""The memory of one customer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from . import records
from .error import KeepsakeError, ask
from .records import (
    Compaction,
    Episode,
    EpisodeNode,
    Fact,
    ForkDifference,
    MergeReport,
    Recollection,
    Remembered,
)
from .values import from_json, milliseconds, record, to_json

#: How often `update` tries again when another session was faster.
_UPDATE_ATTEMPTS = 16
#: Items that are asked for at once where all of them are wanted.
_PAGE = 100


class Scope:
    """The memory of one customer. Each call is one transaction, and what it
    answers has reached the disk."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def get(self, key: str) -> Any:
        """The value under a key of working memory; none where there is none."""
        text = ask(self._host.get, key)
        return None if text is None else from_json(text, f"the value under `{key}`")

    def set(self, key: str, value: Any) -> None:
        """Sets the value under a key; the last write wins."""
        ask(self._host.set, key, to_json(value, f"the value for `{key}`"))

    def compare_and_set(self, key: str, expected: Any, value: Any) -> bool:
        """Sets the value under a key, or deletes it where it is none, if the old
        one is `expected`; none is expected where there is no value. Answers
        whether it was."""
        sides = [None if side is None else to_json(side) for side in (expected, value)]
        return ask(self._host.compare_and_set, key, *sides)

    def delete(self, key: str) -> bool:
        """Deletes a key, and answers whether it was there."""
        return ask(self._host.delete, key)

    def update(self, key: str, change: Callable[[Any], Any]) -> Any:
        """Changes the value under a key. `change` is given the old value, or
        none, and answers with the new one, or none to delete it; it is asked
        again where another session was faster."""
        for _ in range(_UPDATE_ATTEMPTS):
            known = ask(self._host.get, key)
            value = change(None if known is None else from_json(known))
            text = None if value is None else to_json(value)
            if ask(self._host.compare_and_set, key, known, text):
                return value
        raise KeepsakeError.unavailable(
            f"other sessions changed `{key}` {_UPDATE_ATTEMPTS} times while it was being changed: try again"
        )

    def values(self) -> Iterator[tuple[str, Any]]:
        """All of working memory, read by pages."""
        for key, text in _pages(self._host.list_working, "items"):
            yield key, from_json(text, f"the value under `{key}`")

    def profile(self) -> dict[str, Any]:
        """The profile; empty when none was written."""
        return from_json(ask(self._host.profile))

    def update_profile(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Applies a JSON merge patch: members are set, those that are none
        removed. Answers with the new profile."""
        return from_json(ask(self._host.update_profile, to_json(patch, "the patch")))

    def clear_profile(self) -> None:
        """Deletes the profile."""
        ask(self._host.clear_profile)

    def remember(self, content: str, **more: Any) -> Remembered:
        """Remembers a fact in one sentence or a few. `more` are `metadata`,
        `source` (an `EntryRef`, which makes it verified), `quote`, `subject` and
        `attribute`, `supersedes`, `valid_from`, `expires_at`, `thread` and
        `position`, `keep`."""
        return records.remembered(ask(self._host.remember, records.new_fact(content, **more)))

    def remember_many(self, facts: Sequence[str | Mapping[str, Any]]) -> list[Remembered]:
        """Remembers up to 10,000 facts, all or none: texts, or the arguments
        of `remember` as mappings."""
        wit = [
            records.new_fact(fact) if isinstance(fact, str) else records.new_fact(**fact)
            for fact in facts
        ]
        return [records.remembered(one) for one in ask(self._host.remember_many, wit)]

    def recall(self, query: str, **options: Any) -> Recollection:
        """Facts that answer a question, best first. `options` are `limit` (5),
        `mode` (`hybrid`, `words`, `vectors`), `min_score`, `metadata`, `since`,
        `until`, `as_of`, `verified_only`, `include_superseded`, `wider`."""
        return records.recollection(
            ask(self._host.recall, query, records.recall_options(**options))
        )

    def find(self, id: str) -> Fact | None:
        """One fact; none when this scope has no such fact."""
        found = ask(self._host.find, id)
        return None if found is None else records.fact(found)

    def facts(self) -> Iterator[Fact]:
        """Every current fact, newest first, read by pages."""
        return map(records.fact, _pages(self._host.list_facts, "facts"))

    def forget(self, ids: Sequence[str]) -> int:
        """Deletes facts for good, and answers how many there were."""
        return ask(self._host.forget, list(ids))

    def expire(self, id: str, at: int | datetime) -> bool:
        """Sets when a fact ceases to hold, and answers whether it is known."""
        return ask(self._host.expire, id, milliseconds(at))

    def compact(
        self, *, max_age_ms: int | None = None, max_facts: int | None = None
    ) -> Compaction:
        """Lets old facts go, by age and by number; verified ones last. An agent
        with a summarizer puts summaries in their place."""
        options = record(max_age_ms=max_age_ms, max_facts=max_facts, extras=None)
        done = ask(self._host.compact, options)
        return Compaction(done.removed, done.summarised, done.remaining)

    def fork(self, child: str) -> Branch:
        """A copy of this memory under a name of its own, to try things out in."""
        return Branch(ask(self._host.fork, child))

    def snippet(self, query: str | None = None, **options: Any) -> str:
        """Text to put before a prompt. `options` are `max_bytes` (4,096),
        `max_facts` (20) and `max_tokens`."""
        return ask(self._host.snippet, records.snippet_options(query, **options))

    def episodes(
        self,
        *,
        session: str | None = None,
        since: int | datetime | None = None,
        until: int | datetime | None = None,
        lineage: bool = False,
    ) -> Iterator[Episode]:
        """What happened, oldest first, read by pages; with `lineage` also what
        happened in the memory that this one was forked from."""

        def read(page: Any) -> Any:
            options = record(
                page=page,
                since=milliseconds(since),
                until=milliseconds(until),
                session=session,
                lineage=lineage,
            )
            return self._host.episodes(options)

        return map(records.episode, _pages(read, "episodes"))

    def episode_tree(self) -> list[EpisodeNode]:
        """The sessions of this memory and of its forks, each with what happened
        in it."""
        return [records.episode_node(node) for node in ask(self._host.episode_tree)]


class Branch:
    """A fork of a memory, and its way back."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def scope(self) -> Scope:
        """The fork's memory."""
        return Scope(ask(self._host.scope))

    def diff(self) -> ForkDifference:
        """What it has changed."""
        return records.difference(ask(self._host.diff))

    def merge(self) -> MergeReport:
        """Takes over what it has changed. The fork stays."""
        return records.merge_report(ask(self._host.merge))

    def discard(self) -> None:
        """Deletes the fork, with all that only it knows."""
        ask(self._host.discard)


def _pages(read: Callable[[Any], Any], items: str) -> Iterator[Any]:
    after = None
    while True:
        page = ask(read, record(after=after, limit=_PAGE))
        yield from getattr(page, items)
        after = page.next
        if after is None:
            return
