"""What changed between two runs, whoever shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, column, select, table

from dedup.ledger.document_rows import key_digest
from dedup.report.explanation.stored import PAGES, VERSIONS
from dedup.report.explanation.words import WordDiff
from dedup.rules.documents import Verdict


class Change(StrEnum):
    """What became of a document from one run to a later one.

    ADDED: up to the first run none has seen it, or it was gone then. CHANGED: it has another text. MOVED: it has
    another key, since its text is found there now, or its old address leads there for good. REMOVED: it is gone, or
    asks not to be stored. DROPPED: it was kept, and is a duplicate now. KEPT: it was a duplicate, and is kept now.
    NOT_SEEN: the second run has not come across it, or could not fetch it, which says nothing about whether it is
    there.
    """

    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"
    REMOVED = "removed"
    DROPPED = "dropped"
    KEPT = "kept"
    NOT_SEEN = "not seen"


class ChangeRow(NamedTuple):
    """What became of one document.

    Attributes:
        change: what.
        key: its key, the new one where it has moved.
        moved_from: the key that it had; None where it has not moved.
        before: the last verdict of the first run, or of those before it where that has not come across it; None where
            none has seen it.
        now: the last verdict of the second run, `new` where it is added and is no duplicate; None where that has not
            seen it.
        original: the key of the document that it is a duplicate of now, or resembles; None for none.
        why: why the second run could not take it, such as `http 404`; empty where it could, or nobody knows.
        decided: when the last verdict named here was given, in seconds since 1970.
        difference: how the words differ from those before; None where one of the texts is not stored, or they are too
            long to be compared.
    """

    change: Change
    key: str
    moved_from: str | None
    before: Verdict | None
    now: Verdict | None
    original: str | None
    why: str
    decided: float
    difference: WordDiff | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed between two runs.

    Attributes:
        runs: the names of the two, the earlier one first.
        host: the host that it is confined to; empty: none.
        counts: how many documents there are of each change, all of them.
        unchanged: how many documents both runs have seen as the same.
        rows: what changed, in the order of the changes and of the keys, the differences found while they are asked for:
            once, and only while the changes are open.
    """

    runs: Sequence[str]
    host: str
    counts: Mapping[Change, int]
    unchanged: int
    rows: Iterator[ChangeRow]


# The crawl's; this library stands without them, and other projects keep no texts here.
_VISITS = table("visits", column("url_digest"), column("url"), column("run"), column("gone"), column("moved_to_digest"))
_KEYS_AT_ONCE = 500
_MOST_STEPS = 10

T = TypeVar("T")


class StoredTexts:
    """The texts of the pages of a crawl.

    Args:
        connection: to the database, in a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        has_table = connection.dialect.has_table
        self._tables = [each for each in (VERSIONS, PAGES) if has_table(connection, each.name)]
        self._has_visits = has_table(connection, _VISITS.name)

    def as_of(self, keys: Collection[str], runs: Collection[str]) -> dict[str, str]:
        """Return what some pages held when the last of some runs had ended.

        Args:
            keys: those of the pages.
            runs: the names of that run and of all runs before it.

        Returns:
            The texts by the keys; those are missing that are not stored, or not any more.
        """
        by_digest = {key_digest(key): key for key in keys}
        found: dict[str, str] = {}
        # Each page's versions from the earliest to the latest, which stands among the pages.
        for stored in self._tables:
            statement = select(stored.c.url_digest, stored.c.text, stored.c.run)
            if stored is VERSIONS:
                statement = statement.order_by(VERSIONS.c.id)
            for some in portions(sorted(by_digest), _KEYS_AT_ONCE):
                for digest, text, run in self._connection.execute(statement.where(stored.c.url_digest.in_(some))):
                    if run is None or run in runs:
                        found[by_digest[bytes(digest)]] = text
        return found

    def gone(self, keys: Iterable[str], runs: Collection[str]) -> set[str]:
        """Return those of some pages that some runs found gone, whether they or what they redirect to."""
        if not self._has_visits:
            return set()
        by_digest = {key_digest(key): key for key in keys}
        statement = select(_VISITS.c.url_digest, _VISITS.c.run).where(_VISITS.c.gone.is_not(None))
        return {
            by_digest[bytes(digest)]
            for some in portions(sorted(by_digest), _KEYS_AT_ONCE)
            for digest, run in self._connection.execute(statement.where(_VISITS.c.url_digest.in_(some)))
            if run in runs
        }

    def moved(self, keys: Iterable[str], runs: Collection[str]) -> dict[str, str]:
        """Return where those of some pages have moved that some runs found redirecting for good: keys by old keys."""
        if not self._has_visits:
            return {}
        ends = {key: key_digest(key) for key in keys}
        for _ in range(_MOST_STEPS):
            targets = self._targets(set(ends.values()), runs)
            if not targets:
                break
            ends = {key: targets.get(digest, digest) for key, digest in ends.items()}
        ends = {key: digest for key, digest in ends.items() if digest != key_digest(key)}
        urls = self._urls(set(ends.values()))
        return {key: urls[digest] for key, digest in ends.items() if digest in urls}

    def _targets(self, digests: Collection[bytes], runs: Collection[str]) -> dict[bytes, bytes]:
        is_moved = _VISITS.c.moved_to_digest.is_not(None)
        statement = select(_VISITS.c.url_digest, _VISITS.c.moved_to_digest, _VISITS.c.run).where(is_moved)
        return {
            bytes(digest): bytes(target)
            for some in portions(sorted(digests), _KEYS_AT_ONCE)
            for digest, target, run in self._connection.execute(statement.where(_VISITS.c.url_digest.in_(some)))
            if run in runs
        }

    def _urls(self, digests: Collection[bytes]) -> dict[bytes, str]:
        statement = select(_VISITS.c.url_digest, _VISITS.c.url)
        return {
            bytes(digest): url
            for some in portions(sorted(digests), _KEYS_AT_ONCE)
            for digest, url in self._connection.execute(statement.where(_VISITS.c.url_digest.in_(some)))
        }


def portions(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield so many of some items at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
