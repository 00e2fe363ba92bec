"""The tables of pages: what is stored of each, what it held before, and when it was seen last."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import NamedTuple

from sqlalchemy import Column, DateTime, Float, Index, Integer, LargeBinary, MetaData, Table, Text

from dedup.ledger.runs import RunScopedTable
from dedup.sql.database import TableSet
from dedup.sql.schema import Id

metadata = MetaData()


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
IS_MOVING = visits.c.moved_to_digest.is_not(None) & visits.c.gone.is_(None)

ROWS_OF_RUNS = (
    RunScopedTable("pages", "run", key_column="url_digest"),
    RunScopedTable("page_versions", "run"),
    RunScopedTable("visits", "run", key_column="url_digest"),
)
"""What `dedup runs cancel` takes back of the tables of pages and visits."""

TABLES = TableSet("pages", metadata)
"""The tables of pages and visits, and the version that they have."""


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


Index("visits_moving", visits.c.moved_to_digest, sqlite_where=IS_MOVING, postgresql_where=IS_MOVING)
