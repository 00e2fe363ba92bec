"""The tables of stored pages: the latest version of each, and the earlier ones."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, Table, Text

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
