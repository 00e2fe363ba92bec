"""Changes between two runs, queried from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    TableClause,
    and_,
    column,
    func,
    literal,
    null,
    or_,
    select,
    table,
    union_all,
)

from dedup.console import track
from dedup.errors import DedupError, InputError
from dedup.ledger.document_rows import CANCELLING, LOADED, key_digest
from dedup.ledger.runs import no_run
from dedup.report.explanation.stored import PAGES, VERSIONS, read_made_with
from dedup.report.explanation.words import WordDiff, are_too_long, diff_words, tokens_of
from dedup.report.queries import is_of_host
from dedup.rules.documents import Verdict
from dedup.rules.scope import host_of
from dedup.signature.schemes import Scheme
from dedup.signature.signature import digest
from dedup.sql.database import Database
from dedup.sql.schema import GIVEN_DIGEST, documents, runs, skipped, verdicts

# The crawl's; this library stands without them, and other projects keep no texts here.
_VISITS = table("visits", column("url_digest"), column("url"), column("run"), column("gone"), column("moved_to_digest"))
_KEYS_AT_ONCE = 500
_MOST_STEPS = 10

T = TypeVar("T")

# What a crawler calls a page that is gone, or asks not to be stored.
_GONE = ("http 404", "http 410", "noindex")
_NEWLY_DECIDED = (Verdict.NEW, Verdict.SIMILAR)
_KNOWN = (Verdict.UNCHANGED, Verdict.UPDATED)
# How a run ends that was stopped by hand or by an error: it has not seen all that it was to see.
_BROKEN_OFF = (
    CANCELLING,
    LOADED,
    "shutdown",
    "stopped",
    "database_error",
    "memusage_exceeded",
)
_ROWS_AT_ONCE = 1000
_ROWS_COMPARED_AT_ONCE = 100

_originals = documents.alias("originals")


class Change(StrEnum):
    """The change of a document from one run to a later one.

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
    """The change of one document.

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
    """Changes between two runs.

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


class StoredTexts:
    """The texts of the pages of a crawl.

    Args:
        connection: to the database, in a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tables = [
            each for each in (VERSIONS, PAGES, _VISITS) if connection.dialect.has_table(connection, each.name)
        ]

    def as_of(self, keys: Iterable[str], runs: Collection[str]) -> dict[str, str]:
        """Return what some pages held when the last of some runs had ended.

        Args:
            keys: those of the pages.
            runs: the names of that run and of all runs before it.

        Returns:
            The texts by the keys; those are missing that are not stored, or not any more.
        """
        by_digest = {key_digest(key): key for key in keys}
        # Each page's versions from the earliest to the latest, which stands among the pages.
        return {
            by_digest[bytes(digest)]: text
            for stored in (VERSIONS, PAGES)
            for digest, text, run in self._select(by_digest, stored, stored.c.text, stored.c.run)
            if run is None or run in runs
        }

    def gone(self, keys: Iterable[str], runs: Collection[str]) -> set[str]:
        """Return those of some pages that some runs found gone, whether they or what they redirect to."""
        by_digest = {key_digest(key): key for key in keys}
        found = self._select(by_digest, _VISITS, _VISITS.c.run, _VISITS.c.gone)
        return {by_digest[bytes(digest)] for digest, run, gone in found if gone is not None and run in runs}

    def moved(self, keys: Iterable[str], runs: Collection[str]) -> dict[str, str]:
        """Return where those of some pages have moved that some runs found redirecting for good: keys by old keys."""
        ends = {key: key_digest(key) for key in keys}
        for _ in range(_MOST_STEPS):
            found = self._select(ends.values(), _VISITS, _VISITS.c.moved_to_digest, _VISITS.c.run)
            targets = {bytes(digest): bytes(target) for digest, target, run in found if target and run in runs}
            if not targets:
                break
            ends = {key: targets.get(digest, digest) for key, digest in ends.items()}
        ends = {key: digest for key, digest in ends.items() if digest != key_digest(key)}
        urls = {bytes(digest): url for digest, url in self._select(ends.values(), _VISITS, _VISITS.c.url)}
        return {key: urls[digest] for key, digest in ends.items() if digest in urls}

    def _select(self, digests: Iterable[bytes], stored: TableClause, *columns: ColumnElement[Any]) -> Iterator[Any]:
        """Yield digests and columns of the rows of some pages; nothing where the database has no such table."""
        if stored not in self._tables:
            return
        statement = select(stored.c.url_digest, *columns)
        if stored is VERSIONS:
            statement = statement.order_by(VERSIONS.c.id)
        for some in portions(sorted(set(digests)), _KEYS_AT_ONCE):
            yield from self._connection.execute(statement.where(stored.c.url_digest.in_(some)))


def portions(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield so many of some items at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


_LEFT = (Change.REMOVED, Change.NOT_SEEN)


def _find_moves(rows: Sequence[ChangeRow], texts: StoredTexts, span: _Span) -> list[ChangeRow]:
    """Make one row of a document that is not at its address any more and of the same one at another.

    A document has moved where its old address leads to the new one for good; where the text that is stored of
    the new one is that of the old one; and where the new one was dropped as an exact duplicate of the old one.
    One whose address leads to a page that was there before is removed, and so is one that the crawl calls gone.
    """
    left = {row.key: row for row in rows if row.change in _LEFT}
    added = {row.key: row for row in rows if row.change is Change.ADDED}
    later = span.names_second - span.names_first
    redirects = texts.moved(left, later)
    moved: dict[str, str] = {}
    gone: set[str] = set()
    # What a server says itself counts most.
    for new_key, old_key in chain(
        ((new_key, old_key) for old_key, new_key in redirects.items() if new_key in added),
        _by_texts(left, added, texts, span),
        _by_verdicts(left, added),
    ):
        if new_key not in moved and old_key not in gone:
            moved[new_key] = old_key
            gone.add(old_key)
    no_more = texts.gone([key for key, row in left.items() if row.change is Change.NOT_SEEN], later)
    settled = []
    for row in rows:
        if row.change is Change.ADDED and row.key in moved:
            old = left[moved[row.key]]
            settled.append(row._replace(change=Change.MOVED, moved_from=old.key, before=old.before))
        elif row.change in _LEFT and row.key in redirects and row.key not in gone:
            settled.append(row._replace(change=Change.REMOVED, why=f"redirects to {redirects[row.key]}"))
        elif row.key in no_more and row.key not in gone:
            settled.append(row._replace(change=Change.REMOVED, why=row.why or "redirects to a page that is gone"))
        elif not (row.change in _LEFT and row.key in gone):
            settled.append(row)
    return settled


def _by_texts(
    left: Mapping[str, ChangeRow], added: Mapping[str, ChangeRow], texts: StoredTexts, span: _Span
) -> list[tuple[str, str]]:
    """Return the new and the old keys of texts that are stored under both."""
    old_keys: dict[bytes, str] = {}
    for some in portions([key for key, row in left.items() if _is_stored(row.before)], _KEYS_AT_ONCE):
        for key, text in texts.as_of(some, span.names_first).items():
            old_keys.setdefault(_digest(text), key)
    if not old_keys:
        return []
    return [
        (key, old_keys[_digest(text)])
        for some in portions([key for key, row in added.items() if _is_stored(row.now)], _KEYS_AT_ONCE)
        for key, text in texts.as_of(some, span.names_second).items()
        if text and _digest(text) in old_keys
    ]


def _by_verdicts(left: Mapping[str, ChangeRow], added: Mapping[str, ChangeRow]) -> list[tuple[str, str]]:
    return [
        (row.key, row.original)
        for row in added.values()
        if row.now is Verdict.EXACT_DUPLICATE and row.original is not None and row.original in left
    ]


def _is_stored(verdict: Verdict | None) -> bool:
    return verdict is not None and not verdict.is_duplicate


def _digest(text: str) -> bytes:
    return digest(text.encode("utf-8", "surrogatepass"))


_ORDER = tuple(Change)


@dataclass(frozen=True)
class _Span:
    """Two runs, rows of their table, and what a database knows of runs at their time.

    Attributes:
        first, second: the two.
        between: the ids of those between them.
        earlier: the ids of those before the first.
        names_first, names_second: the names of the runs up to each of the two.
    """

    first: Any
    second: Any
    between: Sequence[int]
    earlier: Sequence[int]
    names_first: frozenset[str]
    names_second: frozenset[str]

    @property
    def later(self) -> set[int]:
        """The ids of the runs behind the first one."""
        return {self.second.id, *self.between}


@contextmanager
def open_changes(database: Database, first: str = "", second: str = "", host: str = "") -> Iterator[Changes]:
    """Read what changed between two runs. What changed is held in memory, its texts are not.

    Args:
        database: an existing database with verdicts.
        first: the name of the earlier run; empty: the one before the second.
        second: the name of the later run; empty: the last one. Runs that are not named are of one site, have come to
            their end, and have decided something.
        host: only documents of this host; empty: of all.

    Yields:
        The changes; their rows can be iterated over once, while they are open.

    Raises:
        InputError: the second run started before the first.
        DedupError: there is no such run, or there are no two of one site.
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        span = _span(connection, database.name, first, second)
        texts = StoredTexts(connection)
        scheme = read_made_with(connection, database.name).scheme
        comparing = _Comparing(span, texts, scheme)
        changed, unchanged = _read(connection, span, host)
        settled = _find_moves(changed, texts, span)
        found = list(comparing.without_same_texts(settled))
        found.sort(key=lambda row: (_ORDER.index(row.change), row.key))
        counts = Counter(row.change for row in found)
        yield Changes(
            runs=(span.first.name, span.second.name),
            host=host,
            counts={change: counts[change] for change in Change},
            unchanged=unchanged + len(settled) - len(found),
            rows=comparing.with_differences(found),
        )


def _span(connection: Connection, database_name: str, first: str, second: str) -> _Span:
    known = connection.execute(select(runs.c.id, runs.c.name, runs.c.outcome).order_by(runs.c.started, runs.c.id)).all()
    places = {row.name: place for place, row in enumerate(known)}
    if not known:
        raise no_run(database_name, "", ())
    for name in filter(None, (first, second)):
        if name not in places:
            raise no_run(database_name, name, [row.name for row in known])
    sites = _Sites(connection, known)
    ends = [places[second]] if second else [place for place in reversed(range(len(known))) if sites.is_whole(place)]
    if first and not second:
        ends = [place for place in ends if place != places[first] and sites.are_one(places[first], place)]
    pairs = ((places[first] if first else sites.run_before(end), end) for end in ends)
    start, end = next(((start, end) for start, end in pairs if start is not None), (None, 0))
    if start is None:
        what = (
            f"run of the same site before {second!r} that came to its end"
            if second
            else "two runs of one site that came to their end"
        )
        raise DedupError(
            f"database {database_name} holds no {what}: crawl once more, or name two runs (dedup runs lists them)"
        )
    if start >= end:
        raise InputError(f"run {known[start].name!r} did not start before {known[end].name!r}: name the earlier first")
    return _Span(
        first=known[start],
        second=known[end],
        between=[row.id for row in known[start + 1 : end]],
        earlier=[row.id for row in known[:start]],
        names_first=frozenset(row.name for row in known[: start + 1]),
        names_second=frozenset(row.name for row in known[: end + 1]),
    )


class _Sites:
    """Tells which runs are whole, and of the same site: that of most of what each decided first."""

    def __init__(self, connection: Connection, known: Sequence[Any]) -> None:
        self._connection = connection
        self._known = known
        self._hosts: dict[int, Counter[str]] = {}

    def is_whole(self, place: int) -> bool:
        """Say whether a run has come to its end and has decided anything."""
        outcome = self._known[place].outcome
        return outcome is not None and outcome not in _BROKEN_OFF and bool(self._hosts_of(place))

    def are_one(self, first: int, second: int) -> bool:
        """Say whether two runs are of the same site."""
        hosts = self._hosts_of(first), self._hosts_of(second)
        mains = [each.most_common(1)[0][0] if each else None for each in hosts]
        return mains[0] in hosts[1] and mains[1] in hosts[0]

    def run_before(self, end: int) -> int | None:
        """Return the place of the last whole run of the same site before another run."""
        return next((each for each in reversed(range(end)) if self.is_whole(each) and self.are_one(each, end)), None)

    def _hosts_of(self, place: int) -> Counter[str]:
        if place not in self._hosts:
            decided = verdicts.join(documents, documents.c.id == verdicts.c.document_id)
            first = select(documents.c.key).select_from(decided).where(verdicts.c.run_id == self._known[place].id)
            keys = self._connection.scalars(first.order_by(verdicts.c.id).limit(_KEYS_AT_ONCE))
            self._hosts[place] = Counter(map(host_of, keys))
        return self._hosts[place]


def _read(connection: Connection, span: _Span, host: str) -> tuple[list[ChangeRow], int]:
    """Return what became of the documents whose fate is not the same, and how many others both runs have seen."""
    found: list[ChangeRow] = []
    unchanged = 0
    for each in _seen(connection, span, host):
        if row := _compare(*each, span):
            found.append(row)
        else:
            unchanged += 1
    return found, unchanged


def _seen(connection: Connection, span: _Span, host: str) -> Iterator[tuple[Sequence[Any], Any, Any]]:
    """Yield what was said of each document: all, last up to the first run, and last in the second; one may be None."""
    passed_by: dict[bytes, tuple[Sequence[Any], Any]] = {}
    of_both = verdicts.c.run_id.in_([span.first.id, span.second.id])
    total = connection.scalar(select(func.count()).select_from(verdicts).where(of_both)) or 0
    rows = connection.execute(_statement(span, host), execution_options={"yield_per": _ROWS_AT_ONCE})
    for key, group in groupby(track(rows, "comparing", total), key=lambda row: bytes(row.digest)):
        said: Sequence[Any] = list(group)
        before, now = _last(said, span.first.id), _last(said, span.second.id)
        was_gone = _why(said, span.first) in _GONE
        if before is None and now is not None and now.first_run_id not in span.later and not was_gone:
            passed_by[key] = said, now
        elif before is not None or now is not None:
            yield said, before, now
    for some in portions(list(passed_by), _KEYS_AT_ONCE):
        known = _known_before(connection, span, some)
        for each in some:
            said, now = passed_by[each]
            yield said, known.get(each), now


def _known_before(connection: Connection, span: _Span, digests: Sequence[bytes]) -> dict[bytes, Any]:
    """Return the last verdicts on some documents that the first run has not come across, of the runs before it."""
    statement = (
        _decided()
        .where(
            or_(documents.c.key_digest.in_(digests), documents.c.given_digest.in_(digests)),
            verdicts.c.run_id.in_(span.earlier),
        )
        .order_by(verdicts.c.id)
    )
    return {bytes(row.digest): row for row in connection.execute(statement)}


def _decided() -> Select[Any]:
    return (
        select(
            GIVEN_DIGEST.label("digest"),
            verdicts.c.id.label("place"),
            verdicts.c.run_id,
            documents.c.key,
            verdicts.c.verdict,
            verdicts.c.kept,
            verdicts.c.decided,
            _originals.c.key.label("original"),
            documents.c.content_run_id,
            documents.c.first_run_id,
            null().label("reason"),
        )
        .select_from(verdicts.join(documents, documents.c.id == verdicts.c.document_id))
        .outerjoin(_originals, _originals.c.id == verdicts.c.original_id)
    )


def _statement(span: _Span, host: str) -> Any:
    """Select what the two runs say of each document, in the order of the documents and of time."""
    decided = _decided().where(
        or_(
            verdicts.c.run_id.in_([span.first.id, span.second.id]),
            and_(verdicts.c.run_id.in_(span.between), verdicts.c.verdict == Verdict.UPDATED.value),
        ),
        is_of_host(documents.c.key, host),
    )
    noted = select(
        skipped.c.key_digest,
        literal(0),
        skipped.c.run_id,
        skipped.c.key,
        *(null() for _ in range(6)),
        skipped.c.reason,
    ).where(skipped.c.run_id.in_([span.first.id, span.second.id]), is_of_host(skipped.c.key, host))
    both = union_all(decided, noted).subquery()
    return select(both).order_by(both.c.digest, both.c.place)


def _compare(rows: Sequence[Any], before: Any, now: Any, span: _Span) -> ChangeRow | None:
    """Return what became of a document; None where nothing did.

    Args:
        rows: the verdicts and notes on it.
        before: the last verdict up to the first run, if any.
        now: that of the second.
        span: the two runs.
    """
    if now is None:
        why = _why(rows, span.second)
        return _row(Change.REMOVED if why in _GONE else Change.NOT_SEEN, before, None)._replace(why=why)
    if before is None:
        row = _row(Change.ADDED, None, now)
        # A run that is not compared may have met it first.
        return row._replace(now=Verdict.NEW) if row.now in _KNOWN else row
    if _is_dropped(before) != _is_dropped(now):
        return _row(Change.DROPPED if _is_dropped(now) else Change.KEPT, before, now)
    has_new_content = any(row.verdict == Verdict.UPDATED and row.run_id in span.later for row in rows)
    # What was forgotten meanwhile is new once more, whether its text is or not; the texts say so.
    may_have = now.content_run_id in span.later or now.verdict in _NEWLY_DECIDED
    if _is_dropped(now) or not (has_new_content or may_have):
        return None
    return _row(Change.CHANGED, before, now)


def _why(rows: Sequence[Any], run: Any) -> str:
    """Return why a run could not take a document; empty where it could, or nobody knows."""
    return next((row.reason for row in rows if row.reason is not None and row.run_id == run.id), "")


def _last(rows: Sequence[Any], run_id: int) -> Any:
    return next((row for row in reversed(rows) if row.run_id == run_id and row.verdict is not None), None)


def _is_dropped(row: Any) -> bool:
    return Verdict(row.verdict).is_duplicate and row.kept is None


def _row(change: Change, before: Any, now: Any) -> ChangeRow:
    last = before if now is None else now
    return ChangeRow(
        change=change,
        key=last.key,
        moved_from=None,
        before=None if before is None else Verdict(before.verdict),
        now=None if now is None else Verdict(now.verdict),
        original=None if now is None else now.original,
        why="",
        decided=last.decided,
    )


class _Comparing:
    """Compares the texts of two runs."""

    def __init__(self, span: _Span, texts: StoredTexts, scheme: Scheme) -> None:
        self._span = span
        self._texts = texts
        self._scheme = scheme

    def without_same_texts(self, rows: Sequence[ChangeRow]) -> Iterator[ChangeRow]:
        """Leave out what has changed by its verdict alone: nobody says that its text is another, or it is not."""
        for some in portions(rows, _ROWS_COMPARED_AT_ONCE):
            pairs = self._pairs([row for row in some if row.change is Change.CHANGED])
            for row in some:
                if row.change is not Change.CHANGED:
                    yield row
                    continue
                before, now = pairs[row.key]
                if row.now is Verdict.UPDATED if None in (before, now) else before != now:
                    yield row

    def with_differences(self, rows: Sequence[ChangeRow]) -> Iterator[ChangeRow]:
        """Say how the texts differ, where both are stored."""
        for some in portions(rows, _ROWS_COMPARED_AT_ONCE):
            pairs = self._pairs([row for row in some if row.before is not None and row.now is not None])
            for row in some:
                before, now = pairs.get(row.key, (None, None))
                yield row._replace(difference=None if before is None or now is None else self._differ(before, now))

    def _pairs(self, rows: Sequence[ChangeRow]) -> Mapping[str, tuple[str | None, str | None]]:
        """Return the texts before and now by the keys; what was dropped is not stored."""
        kept_before = {row.key: row.moved_from or row.key for row in rows if _is_stored(row.before)}
        before = self._texts.as_of(set(kept_before.values()), self._span.names_first)
        now = self._texts.as_of({row.key for row in rows if _is_stored(row.now)}, self._span.names_second)
        return {row.key: (before.get(kept_before.get(row.key, "")), now.get(row.key)) for row in rows}

    def _differ(self, before: str, now: str) -> WordDiff | None:
        first, second = tokens_of(before, self._scheme), tokens_of(now, self._scheme)
        return None if are_too_long(len(first), len(second)) else diff_words(first, second)
