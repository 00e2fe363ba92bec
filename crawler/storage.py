"""The table of stored pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, Table, Text, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from dedup.database import Database
from dedup.ledger import key_digest
from dedup.schema import Id

metadata = MetaData()

pages = Table(
    "pages",
    metadata,
    Column("id", Id, primary_key=True),
    # URLs can be longer than an index allows.
    Column("url_digest", LargeBinary(16), nullable=False, unique=True),
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
    comment="one row a kept page, its latest version; html is compressed by zlib; times are UTC",
)
Index("pages_run", pages.c.run)

_RESTORED = ("title", "author", "date", "language", "description", "text", "run")


class PageStore:
    """Pages in a database.

    Args:
        database: where; the table is made if it is not there.

    Raises:
        DatabaseError: the database cannot be reached or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = sqlite.insert(pages) if database.is_sqlite else postgresql.insert(pages)
        self._upsert = insert.on_conflict_do_update(
            index_elements=[pages.c.url_digest],
            set_={column.name: column for column in insert.excluded if column.name not in ("id", "url_digest")},
        )
        self._restore = select(*(pages.c[name] for name in _RESTORED)).where(pages.c.url_digest == bindparam("digest"))
        database.create(metadata)

    def save(self, rows: list[dict[str, Any]]) -> None:
        """Insert or replace pages, in one transaction.

        Args:
            rows: columns of `pages`, without `id` and `url_digest`; one URL once.

        Raises:
            DatabaseError: none of them was written.
        """
        with self._database.write() as connection:
            connection.execute(self._upsert, [{**row, "url_digest": key_digest(row["url"])} for row in rows])

    def replace(self, row: dict[str, Any], urls: Iterable[str]) -> None:
        """Insert or replace a page, and remove those that it takes the place of, in one transaction.

        Args:
            row: as for `save`.
            urls: the URLs of the pages that are removed.

        Raises:
            DatabaseError: nothing was changed.
        """
        digests = [key_digest(url) for url in urls]
        with self._database.write() as connection:
            connection.execute(self._upsert, {**row, "url_digest": key_digest(row["url"])})
            connection.execute(delete(pages).where(pages.c.url_digest.in_(digests)))

    def restore(self, url: str) -> Mapping[str, Any] | None:
        """Return text and metadata of the stored page with this URL.

        Raises:
            DatabaseError: the database cannot be read.
        """
        with self._database.read() as connection:
            row = connection.execute(self._restore, {"digest": key_digest(url)}).mappings().first()
        return None if row is None else dict(row)

    def close(self) -> None:
        """Close the database."""
        self._database.close()
