"""What pages held before: kept when a page changes, and when it leaves the table of stored pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, literal, select

from crawler.pages.tables import page_versions, pages


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
