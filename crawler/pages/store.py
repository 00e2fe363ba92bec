"""Stored pages: what is written when a page is kept, seen again, found to be a copy, or gone."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, bindparam, select, update

from crawler.pages import visits
from crawler.pages.visits import ROWS_OF_RUNS, TABLES, Reason, Target, Versions, Visit, pages
from dedup.ledger.document_rows import key_digest
from dedup.ledger.runs import register_rows
from dedup.sql.database import Database, Outages, insert_into, open_tables

P = ParamSpec("P")
R = TypeVar("R")

KEPT_VERSIONS = 10

_RESTORED = ("title", "author", "date", "language", "description", "text", "run")
_OF_PAGE = pages.c.url_digest == bindparam("digest")
_STORED = select(pages.c.url_digest).where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
_HTML = select(pages.c.html).where(_OF_PAGE)
_REFRESH = update(pages).where(_OF_PAGE).values(html=bindparam("new_html"))
_MARK = update(pages).where(_OF_PAGE).values(gone=bindparam("since"))
_IS_BACK = _MARK.where(pages.c.gone.is_not(None))


@dataclass(frozen=True, slots=True)
class Settled:
    """What a visit to a page came to.

    Attributes:
        visit: the visit.
        page: columns of `pages` to store, without `id` and `url_digest`; None where nothing is stored.
        html: newer bytes of a stored page, compressed, whose text is still the same.
        is_duplicate: whether it is a copy of another page, so that it cannot stay stored.
        replaces: pages whose place it takes, as the better copy.
    """

    visit: Visit
    page: Mapping[str, Any] | None = None
    html: bytes | None = None
    is_duplicate: bool = False
    replaces: tuple[str, ...] = ()


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

    Raises:
        DatabaseError: the database cannot be reached or written, or its pages are of a later version.
    """

    def __init__(self, database: Database, outages: Outages) -> None:
        self._database = database
        self.outages = outages
        self._versions = Versions(KEPT_VERSIONS)
        insert = insert_into(pages, database.engine.dialect.name)
        self._upsert = insert.on_conflict_do_update(
            index_elements=[pages.c.url_digest],
            set_={column.name: column for column in insert.excluded if column.name not in ("id", "url_digest")},
        )
        self._restore = select(*(pages.c[name] for name in _RESTORED)).where(_OF_PAGE)
        open_tables(database, TABLES)
        register_rows(database, ROWS_OF_RUNS)

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
        newer = [{"digest": digest, "new_html": each.html} for digest, each in latest.items() if each.html]
        copies = [digest for digest, each in latest.items() if each.is_duplicate]
        copies += [key_digest(url) for each in latest.values() for url in each.replaces]
        # A page that was marked as gone, and now could not be analysed, is there all the same.
        there = [
            {"digest": digest, "since": None}
            for digest, each in latest.items()
            if each.page is None and not each.is_duplicate
        ]
        with self._database.write() as connection:
            # In a first crawl no page is stored yet: then nothing of what follows has to be asked.
            stored = self._find_stored(connection, [*latest, *copies])
            if rows:
                self._versions.keep_changed(connection, [row for row in rows if row["url_digest"] in stored])
                connection.execute(self._upsert, rows)
                stored |= {row["url_digest"] for row in rows}
            if newer:
                connection.execute(_REFRESH, newer)
            if not stored.isdisjoint(copies):
                self._versions.take_away(connection, [each for each in copies if each in stored], Reason.DUPLICATE)
            if there:
                connection.execute(_IS_BACK, there)
            visits.record(connection, [each.visit for each in latest.values()])
            moving = visits.find_moving(connection, [each.visit.url for each in settled])
        return [moving.get(key_digest(each.visit.url), []) for each in settled]

    def _find_stored(self, connection: Connection, digests: Sequence[bytes]) -> set[bytes]:
        return {bytes(each) for each in connection.scalars(_STORED, {"digests": digests})}

    @_whole
    def restore(self, url: str) -> tuple[Mapping[str, Any], bytes | None] | None:
        """Return text and metadata of the stored page with this URL, and the digest of the bytes seen last."""
        with self._database.read() as connection:
            row = connection.execute(self._restore, {"digest": key_digest(url)}).mappings().first()
            visit = visits.find(connection, [url]).get(url)
        return None if row is None else (dict(row), None if visit is None else visit.body_digest)

    @_whole
    def read_html(self, url: str) -> bytes | None:
        """Return the bytes of the stored page with this URL, as they were seen last."""
        with self._database.read() as connection:
            html = connection.execute(_HTML, {"digest": key_digest(url)}).scalar()
        return None if html is None else zlib.decompress(html)

    @_whole
    def find_visits(self, urls: Sequence[str]) -> dict[str, Visit]:
        """Return what is known of those of the pages that were seen and are not gone, by URL."""
        with self._database.read() as connection:
            return visits.find(connection, urls)

    @_whole
    def find_known(self, after: int, most: int, seen_before: float, *, stored: bool) -> list[Visit]:
        """Return pages that are not gone, see `visits.find_known`."""
        with self._database.read() as connection:
            return visits.find_known(connection, after, most, seen_before, stored=stored)

    @_whole
    def note_moving(self, urls: Sequence[str], target: str, run: str, seen_since: float) -> Target:
        """Note that pages redirect for good to another address, see `visits.note_moving`."""
        with self._database.write() as connection:
            return visits.note_moving(connection, urls, target, run, seen_since)

    @_whole
    def find_moving(self, targets: Sequence[str]) -> list[str]:
        """Return the pages that redirect to one of these for good and were not taken away yet."""
        with self._database.read() as connection:
            return [url for moving in visits.find_moving(connection, targets).values() for url in moving]

    @_whole
    def mark(self, urls: Sequence[str], run: str) -> None:
        """Note that pages are gone; they stay stored."""
        rows = [{"digest": key_digest(url), "since": datetime.now(UTC)} for url in urls]
        with self._database.write() as connection:
            connection.execute(_MARK, rows)
            visits.leave(connection, urls, time.time(), run)

    @_whole
    def take_away(self, urls: Sequence[str], reason: Reason, run: str) -> None:
        """Remove pages that are not there any more from the stored ones; what they held is kept as a version."""
        with self._database.write() as connection:
            self._versions.take_away(connection, [key_digest(url) for url in urls], reason)
            visits.leave(connection, urls, time.time(), run)

    def close(self) -> None:
        """Close the database."""
        self._database.close()
