"""The records of memory, as authors read and write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .values import case, enum, first_bytes, from_json, milliseconds, optional_json, record

#: How long a query may be; of longer messages a snippet looks for the beginning.
QUERY_BYTES = 16 * 1024
_MODES = ("hybrid", "words", "vectors")


@dataclass(frozen=True)
class EntryRef:
    """Points at one ledger entry; a source for facts."""

    session: str
    index: int
    hash: str | None = None


@dataclass(frozen=True)
class Fact:
    """A remembered fact, as it stood when it was read. Times are milliseconds
    since 1970; `valid_until` is none while it holds."""

    id: str
    content: str
    metadata: dict[str, Any]
    source: EntryRef | None
    verification: str
    created_at: int
    updated_at: int
    subject: str | None
    attribute: str | None
    valid_from: int
    valid_until: int | None
    superseded_by: str | None
    thread: str | None
    position: int | None
    instruction_like: bool
    masked: bool
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether its source exists, belongs to this scope and is intact."""
        return self.verification == "verified"


@dataclass(frozen=True)
class Remembered:
    """What became of a fact: `stored`, `repeated`, `merged`, `superseded`,
    `near-duplicate` or `echo`; nothing was stored for the last two."""

    outcome: str
    fact: Fact
    near: list[Fact]


@dataclass(frozen=True)
class Recalled:
    """A fact that was recalled, and the number that facts are ordered by.
    `layer` is whose memory it is in: `this`, `account` or `team`."""

    fact: Fact
    score: float
    layer: str
    word_rank: int | None
    vector_rank: int | None
    cosine: float | None


@dataclass(frozen=True)
class Recollection:
    """The answer to a recall, best first, and the entry that tells of it."""

    facts: list[Recalled]
    receipt: EntryRef


@dataclass(frozen=True)
class Episode:
    """One thing that happened."""

    entry: EntryRef
    at: int
    kind: str
    payload: Any


@dataclass(frozen=True)
class EpisodeNode:
    """What happened in one session. `node` and `parent` are places in the list
    of nodes; the parent is the session that made the fork which this one worked
    on."""

    node: int
    parent: int | None
    session: str
    episodes: list[Episode]


@dataclass(frozen=True)
class Compaction:
    """What a compaction did: facts that went, how many of them are part of a
    summary, and how many there are afterwards."""

    removed: int
    summarised: int
    remaining: int


@dataclass(frozen=True)
class ForkDifference:
    """How a fork differs from its parent: its new and changed facts, the ids of
    those that it forgot, keys of working memory and members of the profile, and
    which of all that the parent changed in another way."""

    added: list[Fact]
    changed: list[Fact]
    removed: list[str]
    working: list[str]
    profile: list[str]
    conflicts: list[str]


@dataclass(frozen=True)
class MergeReport:
    """What a merge took over. Where both sides changed the same in another way,
    the parent's was kept."""

    added: int
    changed: int
    removed: int
    conflicts: list[str]


def new_fact(
    content: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    source: EntryRef | None = None,
    quote: str | None = None,
    subject: str | None = None,
    attribute: str | None = None,
    supersedes: Sequence[str] = (),
    valid_from: int | datetime | None = None,
    expires_at: int | datetime | None = None,
    thread: str | None = None,
    position: int | None = None,
    keep: bool = False,
) -> Any:
    return record(
        content=content,
        metadata=optional_json(metadata, "a fact's metadata"),
        source=source,
        quote=quote,
        subject=subject,
        attribute=attribute,
        supersedes=list(supersedes),
        valid_from=milliseconds(valid_from),
        expires_at=milliseconds(expires_at),
        thread=thread,
        position=position,
        extras='{"keep":true}' if keep else None,
    )


def recall_options(
    *,
    limit: int = 5,
    mode: str = "hybrid",
    min_score: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    since: int | datetime | None = None,
    until: int | datetime | None = None,
    as_of: int | datetime | None = None,
    verified_only: bool = False,
    include_superseded: bool = False,
    wider: bool = False,
) -> Any:
    return record(
        limit=limit,
        mode=enum(_MODES, mode, "mode"),
        min_score=min_score,
        metadata=optional_json(metadata),
        since=milliseconds(since),
        until=milliseconds(until),
        as_of=milliseconds(as_of),
        verified_only=verified_only,
        include_superseded=include_superseded,
        wider=wider,
        extras=None,
    )


def snippet_options(
    query: str | None = None,
    *,
    max_bytes: int = 4096,
    max_facts: int = 20,
    max_tokens: int | None = None,
) -> Any:
    return record(
        query=None if query is None else first_bytes(query, QUERY_BYTES),
        max_bytes=max_bytes,
        max_facts=max_facts,
        extras=None if max_tokens is None else f'{{"max-tokens":{max_tokens}}}',
    )


def entry(wit: Any) -> EntryRef:
    return EntryRef(wit.session, wit.index, wit.hash)


def fact(wit: Any) -> Fact:
    return Fact(
        id=wit.id,
        content=wit.content,
        metadata=from_json(wit.metadata),
        source=wit.source and entry(wit.source),
        verification=case(wit.verification),
        created_at=wit.created_at,
        updated_at=wit.updated_at,
        subject=wit.subject,
        attribute=wit.attribute,
        valid_from=wit.valid_from,
        valid_until=wit.valid_until,
        superseded_by=wit.superseded_by,
        thread=wit.thread,
        position=wit.position,
        instruction_like=wit.instruction_like,
        masked=wit.masked,
        extras=from_json(wit.extras or "{}"),
    )


def remembered(wit: Any) -> Remembered:
    return Remembered(case(wit.outcome), fact(wit.fact), [fact(near) for near in wit.near])


def recollection(wit: Any) -> Recollection:
    found = [
        Recalled(
            fact(one.fact),
            one.score.total,
            case(one.layer),
            one.score.word_rank,
            one.score.vector_rank,
            one.score.cosine,
        )
        for one in wit.facts
    ]
    return Recollection(found, entry(wit.receipt))


def episode(wit: Any) -> Episode:
    return Episode(entry(wit.entry), wit.at, wit.kind, from_json(wit.payload))


def episode_node(wit: Any) -> EpisodeNode:
    return EpisodeNode(wit.node, wit.parent, wit.session, [episode(one) for one in wit.episodes])


def difference(wit: Any) -> ForkDifference:
    return ForkDifference(
        added=[fact(one) for one in wit.added],
        changed=[fact(one) for one in wit.changed],
        removed=list(wit.removed),
        working=list(wit.working),
        profile=list(wit.profile),
        conflicts=list(wit.conflicts),
    )


def merge_report(wit: Any) -> MergeReport:
    return MergeReport(wit.added, wit.changed, wit.removed, list(wit.conflicts))
