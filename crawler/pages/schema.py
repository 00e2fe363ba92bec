"""The tables of pages and visits."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Float, Index, Integer, LargeBinary, MetaData, Table, Text

from dedup.store.database import RowsOfRuns, TableSet
from dedup.store.schema import Id

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
    Column("interval", Float),
    comment="one row a page, kept or duplicate; gone: since when it is not there; times are seconds since 1970; "
    "interval: for how many seconds it is left alone",
)
IS_MOVING = visits.c.moved_to_digest.is_not(None) & visits.c.gone.is_(None)
Index("visits_moving", visits.c.moved_to_digest, sqlite_where=IS_MOVING, postgresql_where=IS_MOVING)

TABLES = TableSet(
    "pages",
    metadata,
    (
        RowsOfRuns("pages", "run", key_column="url_digest", stays=True),
        RowsOfRuns("page_versions", "run", key_column="url_digest"),
        RowsOfRuns("visits", "run", key_column="url_digest", stays=True),
    ),
)
"""The tables of pages and visits."""


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
        Column("markdown", Text),
        Column("extraction", Text),
        Column("page_characters", Integer),
        Column("html", LargeBinary, nullable=False),
        Column("head", LargeBinary),
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
    comment="one row a kept page, its latest version; html is compressed by zlib; head: status and headers; "
    "fetched: when these bytes were; times are UTC; "
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
