"""The table of visits: when each page of a crawl was seen last, and what its server said of that version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    insert,
    literal,
    or_,
    select,
    update,
)

from dedup.ledger.document_rows import key_digest
from dedup.ledger.runs import RunScopedTable
from dedup.sql.database import TableSet, insert_into
from dedup.sql.schema import Id

metadata = MetaData()


def _contents() -> list[Column[object]]:
    return [
        Column("url", Text, nullable=False),
        Column("canonical", Text),
        Column("title", Text),
        Column("author", Text),
        Column("date", Text),
        Column("language", Text),
        Column("description", Text),
        Column("text", Text, nullable=False),
        Column("html", LargeBinary, nullable=False),
        Column("problem", Text),
        Column("fetched", DateTime(timezone=True), nullable=False),
        Column("depth", Integer, nullable=False),
        Column("referrer", Text),
        Column("run", Text),
        Column("gone", DateTime(timezone=True)),
    ]


pages = Table(
    "pages",
    metadata,
    Column("id", Id, primary_key=True),
    # URLs can be longer than an index allows.
    Column("url_digest", LargeBinary(16), nullable=False, unique=True),
    *_contents(),
    comment="one row a kept page, its latest version; html is compressed by zlib; times are UTC; "
    "gone: since when it is not there any more",
)
Index("pages_run", pages.c.run)

page_versions = Table(
    "page_versions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("url_digest", LargeBinary(16), nullable=False),
    *_contents(),
    Column("reason", Text, nullable=False),
    Column("replaced", DateTime(timezone=True), nullable=False),
    comment="what pages held before; reason: updated, duplicate, gone, moved; replaced: when it left pages",
)
Index("page_versions_url", page_versions.c.url_digest, page_versions.c.id)


class Reason(StrEnum):
    """Why a version is not the stored one any more."""

    UPDATED = "updated"
    DUPLICATE = "duplicate"
    GONE = "gone"
    MOVED = "moved"


_COPIED = [column.name for column in pages.c if column.name != "id"]
_OF_PAGE = pages.c.url_digest == bindparam("digest")
_COLUMNS = [*_COPIED, "reason", "replaced"]


class Versions:
    """Keeps the last versions of each page.

    Args:
        most: how many of one page are kept; 0: none.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        version = select(
            *(pages.c[name] for name in _COPIED),
            bindparam("reason", type_=page_versions.c.reason.type),
            bindparam("now", type_=page_versions.c.replaced.type),
        ).where(_OF_PAGE)
        another_text = pages.c.text != bindparam("new_text")
        self._keep = insert(page_versions).from_select(_COLUMNS, version)
        self._keep_if_changed = insert(page_versions).from_select(_COLUMNS, version.where(another_text))
        of_page = page_versions.c.url_digest == bindparam("digest")
        latest_too_many = (
            select(page_versions.c.id)
            .where(of_page)
            .order_by(page_versions.c.id.desc())
            .offset(literal(most))
            .limit(1)
            .scalar_subquery()
        )
        self._forget = delete(page_versions).where(of_page, page_versions.c.id <= latest_too_many)
        self._remove = delete(pages).where(_OF_PAGE)

    def keep_changed(self, connection: Connection, new: Sequence[Mapping[str, Any]]) -> None:
        """Keep the stored versions of pages whose text will be another.

        Args:
            connection: inside a writing transaction.
            new: the rows of `pages` that will replace them.
        """
        rows = [{"digest": row["url_digest"], "new_text": row["text"]} for row in new]
        self._copy(connection, self._keep_if_changed, rows, Reason.UPDATED)

    def take_away(self, connection: Connection, digests: Sequence[bytes], reason: Reason) -> None:
        """Remove pages, by the digests of their URLs, from the stored ones; what they held is kept as a version."""
        rows = [{"digest": digest} for digest in digests]
        self._copy(connection, self._keep, rows, reason)
        connection.execute(self._remove, rows)

    def _copy(self, connection: Connection, statement: Any, rows: list[dict[str, Any]], reason: Reason) -> None:
        if not self._most or not rows:
            return
        now = datetime.now(UTC)
        connection.execute(statement, [{**row, "reason": reason.value, "now": now} for row in rows])
        connection.execute(self._forget, [{"digest": row["digest"]} for row in rows])


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
    id: int = 0
    is_stored: bool = False


visits = Table(
    "visits",
    metadata,
    Column("id", Id, primary_key=True),
    Column("url_digest", LargeBinary(16), nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("body_digest", LargeBinary(16)),
    Column("seen", Float, nullable=False),
    Column("run", Text),
    Column("gone", Float),
    Column("moved_to_digest", LargeBinary(16)),
    comment="one row a page, kept or duplicate; gone: since when it is not there; times are seconds since 1970",
)
_IS_MOVING = visits.c.moved_to_digest.is_not(None) & visits.c.gone.is_(None)
Index("visits_moving", visits.c.moved_to_digest, sqlite_where=_IS_MOVING, postgresql_where=_IS_MOVING)

ROWS_OF_RUNS = (
    RunScopedTable("pages", "run", key_column="url_digest"),
    RunScopedTable("page_versions", "run"),
    RunScopedTable("visits", "run", key_column="url_digest"),
)
"""What `dedup runs cancel` takes back of the tables of pages and visits."""

TABLES = TableSet("pages", metadata)
"""The tables of pages and visits, and the version that they have."""

_WRITTEN = ("url", "depth", "etag", "last_modified", "body_digest", "seen", "run")
_STORED = select(pages.c.id).where(pages.c.url_digest == visits.c.url_digest).exists()
_VISIT = select(*(visits.c[name] for name in _WRITTEN), visits.c.id, _STORED.label("is_stored")).where(
    visits.c.gone.is_(None)
)
_BY_URL = _VISIT.where(visits.c.url_digest.in_(bindparam("digests", expanding=True)))
_KNOWN = (
    _VISIT.where(visits.c.id > bindparam("after"), visits.c.seen <= bindparam("seen_before"))
    .order_by(visits.c.id)
    .limit(bindparam("most"))
)
_KNOWN_STORED, _KNOWN_DUPLICATES = _KNOWN.where(_STORED), _KNOWN.where(~_STORED)
_MOVING = select(visits.c.url, visits.c.moved_to_digest).where(
    _IS_MOVING, visits.c.moved_to_digest.in_(bindparam("targets", expanding=True))
)
_MOVE = (
    update(visits)
    .where(visits.c.url_digest.in_(bindparam("digests", expanding=True)), visits.c.gone.is_(None))
    .values(moved_to_digest=bindparam("target"))
)
_END = select(visits.c.gone, visits.c.moved_to_digest).where(
    visits.c.url_digest == bindparam("digest"),
    or_(visits.c.run == bindparam("run"), and_(visits.c.gone.is_(None), visits.c.seen > bindparam("since"))),
)
_MOST_STEPS = 10
_LEAVE = (
    update(visits)
    .where(visits.c.url_digest.in_(bindparam("digests", expanding=True)))
    .values(gone=bindparam("since"), run=bindparam("by"), etag=None, last_modified=None, body_digest=None)
)


def record(connection: Connection, seen: Sequence[Visit]) -> None:
    """Write that pages were seen; they are there and nowhere else.

    Args:
        connection: inside a writing transaction.
        seen: the visits, one URL once.
    """
    insert = insert_into(visits, connection.dialect.name)
    upsert = insert.on_conflict_do_update(
        index_elements=[visits.c.url_digest],
        set_={**{name: insert.excluded[name] for name in _WRITTEN}, "gone": None, "moved_to_digest": None},
    )
    rows = [
        {**{name: getattr(visit, name) for name in _WRITTEN}, "url_digest": key_digest(visit.url)} for visit in seen
    ]
    connection.execute(upsert, rows)


def find(connection: Connection, urls: Iterable[str]) -> dict[str, Visit]:
    """Return what is known of those of the pages that were seen and are not gone, by URL."""
    rows = connection.execute(_BY_URL, {"digests": [key_digest(url) for url in urls]})
    return {row.url: _visit(row) for row in rows}


def find_known(connection: Connection, after: int, most: int, seen_before: float, *, stored: bool) -> list[Visit]:
    """Return pages that are not gone.

    Args:
        connection: inside a transaction.
        after: only those whose row has a larger id.
        most: how many at most, in the order of the rows.
        seen_before: only those that were seen last at this time or earlier.
        stored: whether stored pages are wanted, or duplicates.
    """
    query = _KNOWN_STORED if stored else _KNOWN_DUPLICATES
    rows = connection.execute(query, {"after": after, "most": most, "seen_before": seen_before})
    return [_visit(row) for row in rows]


def find_moving(connection: Connection, targets: Iterable[str]) -> dict[bytes, list[str]]:
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


def note_moving(connection: Connection, urls: Iterable[str], target: str, run: str, seen_since: float) -> Target:
    """Note that pages redirect for good to another address; say what this run knows of what is there.

    Args:
        connection: inside a writing transaction.
        urls: the pages.
        target: the other address.
        run: the run.
        seen_since: what was seen later than this counts as seen by this run.
    """
    end = key_digest(target)
    state = Target.UNSEEN
    for _ in range(_MOST_STEPS):
        there = connection.execute(_END, {"digest": end, "run": run, "since": seen_since}).first()
        if there is None:
            break
        state = Target.THERE if there.gone is None else Target.GONE
        if there.gone is None or there.moved_to_digest is None:
            break
        end, state = bytes(there.moved_to_digest), Target.UNSEEN
    connection.execute(_MOVE, {"digests": [key_digest(url) for url in urls], "target": end})
    return state


def leave(connection: Connection, urls: Iterable[str], since: float, run: str) -> None:
    """Note that a run has found that pages are not there any more."""
    connection.execute(_LEAVE, {"digests": [key_digest(url) for url in urls], "since": since, "by": run})


def _visit(row: Sequence[Any]) -> Visit:
    visit = Visit(*row)
    body_digest = None if visit.body_digest is None else bytes(visit.body_digest)
    return visit._replace(body_digest=body_digest, is_stored=bool(visit.is_stored))
