"""Stored pages: their tables, and what is written when a page is kept, seen again, found to be a copy, or gone."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import (
    Connection,
    Insert,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from crawler.intervals import Intervals
from crawler.page import FOUND
from crawler.pages.schema import IS_MOVING, TABLES, page_versions, pages, visits
from dedup.store.database import Database, insert_into, open_tables
from dedup.store.document_rows import find_erased, key_digest
from dedup.store.outages import Outages
from dedup.store.schema import under_way
from dedup.store.under_way import note_stored

P = ParamSpec("P")
R = TypeVar("R")

KEPT_VERSIONS = 10
"""How many versions of one page are kept besides the stored one."""

_OF_PAGE = pages.c.url_digest == bindparam("digest")
_RESTORED = select(*(pages.c[name] for name in (*FOUND, "run"))).where(_OF_PAGE)
_AMONG_PAGES = select(pages.c.url_digest).where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
_HTML = select(pages.c.html).where(_OF_PAGE)
_EXTRACTION = select(pages.c.extraction).where(_OF_PAGE)
_REFRESH = (
    update(pages)
    .where(_OF_PAGE)
    .values(html=bindparam("new_html"), head=bindparam("new_head"), fetched=bindparam("new_fetched"))
)
_MARK_UP = update(pages).where(_OF_PAGE).values(markdown=bindparam("new_markdown"))
_MARK = update(pages).where(_OF_PAGE).values(gone=bindparam("since"))
_IS_BACK = _MARK.where(pages.c.gone.is_not(None))

_COPIED = [column.name for column in pages.c if column.name != "id"]
_VERSION = select(
    *(pages.c[name] for name in _COPIED),
    bindparam("reason", type_=page_versions.c.reason.type),
    bindparam("now", type_=page_versions.c.replaced.type),
).where(_OF_PAGE)
_KEEP = insert(page_versions).from_select([*_COPIED, "reason", "replaced"], _VERSION)
_KEEP_IF_CHANGED = insert(page_versions).from_select(
    [*_COPIED, "reason", "replaced"], _VERSION.where(pages.c.text != bindparam("new_text"))
)
_OF_VERSION = page_versions.c.url_digest == bindparam("digest")
_LATEST_TOO_MANY = select(page_versions.c.id).where(_OF_VERSION).order_by(page_versions.c.id.desc())
_LATEST_TOO_MANY = _LATEST_TOO_MANY.offset(bindparam("most")).limit(1)
_FORGET = delete(page_versions).where(_OF_VERSION, page_versions.c.id <= _LATEST_TOO_MANY.scalar_subquery())
_REMOVE = delete(pages).where(_OF_PAGE)

_OF_VISITS = visits.c.url_digest.in_(bindparam("digests", expanding=True))
_WRITTEN = ("url", "depth", "etag", "last_modified", "body_digest", "seen", "run", "interval")
_STORED = select(pages.c.id).where(pages.c.url_digest == visits.c.url_digest).exists()
_VISIT = select(*(visits.c[name] for name in _WRITTEN), visits.c.id, _STORED.label("is_stored"))
_VISIT = _VISIT.where(visits.c.gone.is_(None))
_BY_URL = _VISIT.where(_OF_VISITS)
_INTERVALS = select(visits.c.url_digest, visits.c.interval).where(_OF_VISITS)
_VISITED = select(visits.c.url_digest).where(_OF_VISITS)
_OWN_INTERVAL = case(
    (visits.c.interval < bindparam("least"), bindparam("least")),
    (visits.c.interval > bindparam("longest"), bindparam("longest")),
    else_=visits.c.interval,
)
_KNOWN = (
    _VISIT.where(
        visits.c.id > bindparam("after"),
        visits.c.seen + func.coalesce(bindparam("interval"), _OWN_INTERVAL, bindparam("least")) <= bindparam("now"),
    )
    .order_by(visits.c.id)
    .limit(bindparam("most"))
)
_MOVING = select(visits.c.url, visits.c.moved_to_digest).where(
    IS_MOVING, visits.c.moved_to_digest.in_(bindparam("targets", expanding=True))
)
_MOVE = update(visits).where(_OF_VISITS, visits.c.gone.is_(None)).values(moved_to_digest=bindparam("target"))
_END = select(visits.c.gone, visits.c.moved_to_digest).where(
    visits.c.url_digest == bindparam("digest"),
    or_(visits.c.run == bindparam("run"), and_(visits.c.gone.is_(None), visits.c.seen > bindparam("since"))),
)
_MOST_STEPS = 10
_LEAVE = (
    update(visits)
    .where(_OF_VISITS)
    .values(gone=bindparam("since"), run=bindparam("by"), etag=None, last_modified=None, body_digest=None)
)


class Reason(StrEnum):
    """Why a version is not the stored one any more."""

    UPDATED = "updated"
    DUPLICATE = "duplicate"
    GONE = "gone"
    MOVED = "moved"


class Target(Enum):
    """What a run knows so far of the address that a page redirects to."""

    UNSEEN = 0
    THERE = 1
    GONE = 2


class Visit(NamedTuple):
    """What is known of a page from the last time it was seen.

    Attributes:
        url: its address, after redirects.
        depth: how many links from the start.
        etag: what its server calls this version; None where it does not say.
        last_modified: since when its server has this version, as it says so; None where it does not.
        body_digest: digest of its bytes; None where they could not be analysed.
        seen: when, in seconds since 1970.
        run: the run that saw it, or found it gone.
        interval: for how many seconds it is left alone; None where no crawl has asked for that.
        id: its row; 0 for one that is to be written.
        is_stored: whether it is one of the stored pages; the others are duplicates.
    """

    url: str
    depth: int
    etag: str | None
    last_modified: str | None
    body_digest: bytes | None
    seen: float
    run: str | None
    interval: float | None = None
    id: int = 0
    is_stored: bool = False


class Content(NamedTuple):
    """What came of a page.

    Attributes:
        html: its bytes, compressed.
        head: status and headers.
        fetched: when.
    """

    html: bytes
    head: bytes | None
    fetched: datetime


@dataclass(frozen=True, slots=True)
class Settled:
    """What a visit to a page came to.

    Attributes:
        visit: the visit.
        page: columns of `pages` to store, without `id` and `url_digest`; None where nothing is stored.
        newer: newer bytes of a stored page whose text is still the same.
        markdown: the text of a stored page as Markdown, which it lacked.
        is_duplicate: whether it is a copy of another page, so that it cannot stay stored.
    """

    visit: Visit
    page: Mapping[str, Any] | None = None
    newer: Content | None = None
    markdown: str | None = None
    is_duplicate: bool = False


def _whole(method: Callable[Concatenate[PageStore, P], R]) -> Callable[Concatenate[PageStore, P], R]:
    """Let a method of whole transactions, which may be written twice, survive outages of the database."""

    @wraps(method)
    def surviving(self: PageStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.outages.survive(partial(method, self, *args, **kwargs))

    return surviving


class PageStore:
    """Pages in a database.

    All methods raise `DatabaseError` where it fails; of a transaction that fails nothing is written.

    Args:
        database: where; the tables are made if they are not there.
        outages: what outages of the database are survived with.
        intervals: for how long pages are left alone; None: that is not noted.

    Attributes:
        database: as above.

    Raises:
        DatabaseError: the database cannot be reached or written, or its pages are of a later version.
    """

    def __init__(self, database: Database, outages: Outages, intervals: Intervals | None = None) -> None:
        self.database = database
        self._intervals = intervals
        self.outages = outages
        dialect = database.engine.dialect.name
        page, visit = insert_into(pages, dialect), insert_into(visits, dialect)
        self._store = page.on_conflict_do_update(
            index_elements=[pages.c.url_digest],
            set_={column.name: column for column in page.excluded if column.name not in ("id", "url_digest")},
        )
        # What was seen is there, and nowhere else.
        self._record = visit.on_conflict_do_update(
            index_elements=[visits.c.url_digest],
            set_={
                **{name: visit.excluded[name] for name in _WRITTEN},
                # Crawls between that do not ask for it leave it as it is.
                "interval": func.coalesce(visit.excluded.interval, visits.c.interval),
                "gone": None,
                "moved_to_digest": None,
            },
        )
        open_tables(database, TABLES)
        self._is_deduplicated: bool | None = None

    @_whole
    def settle(self, settled: Sequence[Settled]) -> list[list[str]]:
        """Write what visits came to, in one transaction.

        Args:
            settled: the visits; of one URL the last one counts.

        Returns:
            For each of them the pages that redirect to it and were not taken away yet.
        """
        latest = {key_digest(each.visit.url): each for each in settled}
        rows = [{"gone": None, **each.page, "url_digest": digest} for digest, each in latest.items() if each.page]
        newer = [
            {"digest": digest, **{f"new_{name}": value for name, value in each.newer._asdict().items()}}
            for digest, each in latest.items()
            if each.newer
        ]
        marked_up = [
            {"digest": digest, "new_markdown": each.markdown}
            for digest, each in latest.items()
            if each.markdown is not None
        ]
        copies = [digest for digest, each in latest.items() if each.is_duplicate]
        # A page that was marked as gone, and now could not be analysed, is there all the same.
        there = [
            {"digest": digest, "since": None}
            for digest, each in latest.items()
            if each.page is None and not each.is_duplicate
        ]
        with self.database.write() as connection:
            intervals = self._next_intervals(connection, latest) if self._intervals else {}
            seen = [
                {**_written(each.visit), "url_digest": digest, "interval": intervals.get(digest)}
                for digest, each in latest.items()
            ]
            # In a first crawl no page is stored yet: then nothing of what follows has to be asked.
            among = connection.scalars(_AMONG_PAGES, {"digests": [*latest, *copies]})
            stored = {bytes(each) for each in among}
            if rows:
                changed = [row for row in rows if row["url_digest"] in stored]
                texts = [{"digest": row["url_digest"], "new_text": row["text"]} for row in changed]
                _keep_versions(connection, _KEEP_IF_CHANGED, texts, Reason.UPDATED)
                connection.execute(self._store, rows)
                stored |= {row["url_digest"] for row in rows}
            if newer:
                connection.execute(_REFRESH, newer)
            if marked_up:
                connection.execute(_MARK_UP, marked_up)
            if not stored.isdisjoint(copies):
                _take_away(connection, [each for each in copies if each in stored], Reason.DUPLICATE)
            if there:
                connection.execute(_IS_BACK, there)
            connection.execute(self._record, seen)
            if self._is_deduplicated is None:
                self._is_deduplicated = connection.dialect.has_table(connection, under_way.name)
            if self._is_deduplicated:
                note_stored(connection, latest)
            moving = _find_moving(connection, [each.visit.url for each in settled])
        return [moving.get(key_digest(each.visit.url), []) for each in settled]

    def _next_intervals(self, connection: Connection, latest: Mapping[bytes, Settled]) -> dict[bytes, float]:
        """Return for how long visited pages are left alone now, by the digests of their addresses."""
        assert self._intervals is not None
        known = connection.execute(_INTERVALS, {"digests": [*latest]})
        before = {bytes(digest): interval for digest, interval in known}
        return {
            digest: self._intervals.next(before[digest], has_changed=each.page is not None)
            if digest in before
            else self._intervals.least
            for digest, each in latest.items()
        }

    @_whole
    def restore(self, url: str) -> tuple[Mapping[str, Any], bytes | None] | None:
        """Return text and metadata of the stored page with this URL, and the digest of the bytes seen last."""
        with self.database.read() as connection:
            row = connection.execute(_RESTORED, {"digest": key_digest(url)}).mappings().first()
            visit = _find_visits(connection, [url]).get(url)
        return None if row is None else (dict(row), None if visit is None else visit.body_digest)

    @_whole
    def read_html(self, url: str) -> bytes | None:
        """Return the bytes of the stored page with this URL, as they were seen last."""
        with self.database.read() as connection:
            html = connection.execute(_HTML, {"digest": key_digest(url)}).scalar()
        return None if html is None else zlib.decompress(html)

    @_whole
    def read_extraction(self, url: str) -> str | None:
        """Return how the text of the stored page with this URL was found."""
        with self.database.read() as connection:
            return connection.execute(_EXTRACTION, {"digest": key_digest(url)}).scalar()

    @_whole
    def read_kept(self, run: str, *, also_unchanged: bool) -> list[str]:
        """Return the addresses of the pages that a run has stored, or also of those that it has found unchanged."""
        with self.database.read() as connection:
            stored = select(pages.c.url).where(pages.c.run == run)
            seen = select(visits.c.url).where(visits.c.run == run, _STORED)
            return list(connection.scalars(seen if also_unchanged else stored))

    @_whole
    def find_visits(self, urls: Sequence[str]) -> dict[str, Visit]:
        """Return what is known of those of the pages that were seen and are not gone, by URL."""
        with self.database.read() as connection:
            return _find_visits(connection, urls)

    @_whole
    def is_erased(self, url: str) -> bool:
        """Return whether the page of this URL was erased."""
        with self.database.read() as connection:
            return bool(find_erased(connection, [key_digest(url)]))

    @_whole
    def find_unvisited(self, urls: Sequence[str]) -> dict[str, Visit]:
        """Return those of the pages whose visits went with a run that was cancelled; how deep they lie is not known."""
        unvisited = {key_digest(url): url for url in urls}
        with self.database.read() as connection:
            for digest in connection.scalars(_VISITED, {"digests": list(unvisited)}):
                del unvisited[bytes(digest)]
        return {url: Visit(url, 0, None, None, None, 0.0, None) for url in unvisited.values()}

    @_whole
    def find_due(self, after: int, most: int, max_age: float | None, *, stored: bool) -> list[Visit]:
        """Return pages that are not gone and are to be visited.

        Args:
            after: only those whose row has a larger id.
            most: how many at most, in the order of the rows.
            max_age: only those that were not seen for so many seconds; None: those whose interval is over.
            stored: whether stored pages are wanted, or duplicates.
        """
        least, longest = self._intervals or (0, 0)
        times = {"interval": max_age, "least": least, "longest": longest, "now": time.time()}
        with self.database.read() as connection:
            known = _KNOWN.where(_STORED if stored else ~_STORED)
            return list(map(_visit, connection.execute(known, times | {"after": after, "most": most})))

    @_whole
    def note_moving(self, urls: Sequence[str], target: str, run: str, seen_since: float) -> Target:
        """Note that pages redirect for good to another address; say what a run knows of what is there.

        Args:
            urls: the pages.
            target: the other address.
            run: the run.
            seen_since: what was seen later than this counts as seen by this run, in seconds since 1970.
        """
        end = key_digest(target)
        state = Target.UNSEEN
        with self.database.write() as connection:
            for _ in range(_MOST_STEPS):
                there = connection.execute(_END, {"digest": end, "run": run, "since": seen_since}).first()
                if there is None:
                    break
                state = Target.THERE if there.gone is None else Target.GONE
                if there.gone is None or there.moved_to_digest is None:
                    break
                end, state = bytes(there.moved_to_digest), Target.UNSEEN
            connection.execute(_MOVE, {"digests": list(map(key_digest, urls)), "target": end})
        return state

    @_whole
    def find_moving(self, targets: Sequence[str]) -> list[str]:
        """Return the pages that redirect to one of these for good and were not taken away yet."""
        with self.database.read() as connection:
            return [url for moving in _find_moving(connection, targets).values() for url in moving]

    @_whole
    def mark(self, urls: Sequence[str], run: str) -> None:
        """Note that pages are gone; they stay stored."""
        rows = [{"digest": key_digest(url), "since": datetime.now(UTC)} for url in urls]
        with self.database.write() as connection:
            connection.execute(_MARK, rows)
            _leave(connection, urls, run)

    @_whole
    def take_away(self, urls: Sequence[str], reason: Reason, run: str) -> None:
        """Remove pages that are not there any more from the stored ones; what they held is kept as a version."""
        with self.database.write() as connection:
            _take_away(connection, list(map(key_digest, urls)), reason)
            _leave(connection, urls, run)

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def _written(visit: Visit) -> dict[str, Any]:
    return {name: getattr(visit, name) for name in _WRITTEN}


def _find_visits(connection: Connection, urls: Iterable[str]) -> dict[str, Visit]:
    rows = connection.execute(_BY_URL, {"digests": list(map(key_digest, urls))})
    return {row.url: _visit(row) for row in rows}


def _visit(row: Sequence[Any]) -> Visit:
    visit = Visit(*row)
    body_digest = None if visit.body_digest is None else bytes(visit.body_digest)
    return visit._replace(body_digest=body_digest, is_stored=bool(visit.is_stored))


def _find_moving(connection: Connection, targets: Iterable[str]) -> dict[bytes, list[str]]:
    """Return the pages that redirect to one of these and have not been taken away yet, by the digest of the target."""
    moving: dict[bytes, list[str]] = {}
    ends = {digest: digest for digest in map(key_digest, targets)}
    # What redirects to what redirects there has moved there too.
    for _ in range(_MOST_STEPS):
        rows = connection.execute(_MOVING, {"targets": list(ends)}).all() if ends else []
        found = {key_digest(row.url): (ends[bytes(row.moved_to_digest)], row.url) for row in rows}
        for end, url in found.values():
            moving.setdefault(end, []).append(url)
        ends = {digest: end for digest, (end, _) in found.items()}
    return moving


def _keep_versions(connection: Connection, statement: Insert, rows: list[dict[str, Any]], reason: Reason) -> None:
    if not rows:
        return
    now = datetime.now(UTC)
    connection.execute(statement, [{**row, "reason": reason.value, "now": now} for row in rows])
    connection.execute(_FORGET, [{"digest": row["digest"], "most": KEPT_VERSIONS} for row in rows])


def _take_away(connection: Connection, digests: Sequence[bytes], reason: Reason) -> None:
    rows = [{"digest": digest} for digest in digests]
    _keep_versions(connection, _KEEP, rows, reason)
    connection.execute(_REMOVE, rows)


def _leave(connection: Connection, urls: Iterable[str], run: str) -> None:
    """Note that a run has found that pages are not there any more."""
    connection.execute(_LEAVE, {"digests": list(map(key_digest, urls)), "since": time.time(), "by": run})
