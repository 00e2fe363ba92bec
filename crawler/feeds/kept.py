"""The pages that a run has kept, from the database."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from crawler.page import DESCRIBED, Page
from crawler.pages.tables import pages
from crawler.pages.visits import visits
from dedup.errors import DedupError
from dedup.ledger.runs.decided import find_decided, read_decided
from dedup.ledger.runs.listing import no_run
from dedup.rules.decision import Verdict
from dedup.sql.database import Database
from dedup.sql.schema import runs

# Whole pages: in a feed that has their HTML, each can have megabytes.
_AT_ONCE = 100
_STORED = ("url", "canonical", *DESCRIBED, "text", "problem", "referrer", "run")
_OF_VISITS = ("depth", "etag", "last_modified", "body_digest")
RESTORED = frozenset((*_STORED, *_OF_VISITS, "html", "fetched", "verdict"))
"""The fields of a page that are stored; the others are known only while it is crawled."""

_SEEN = (
    select(visits.c.id, visits.c.url_digest)
    .where(
        visits.c.id > bindparam("after"),
        visits.c.run == bindparam("run"),
        visits.c.seen >= bindparam("since"),
        visits.c.gone.is_(None),
    )
    .order_by(visits.c.id)
    .limit(_AT_ONCE)
)
_PAGES = (
    select(
        pages.c.url_digest, *(pages.c[name] for name in _STORED), *(visits.c[name] for name in (*_OF_VISITS, "seen"))
    )
    .join(visits, visits.c.url_digest == pages.c.url_digest)
    .where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
)


def choose_run(database: Database, verdicts: Database, name: str) -> str:
    """Return the name of the run whose pages are wanted.

    Args:
        database: where the pages are.
        verdicts: where the verdicts are, the same one perhaps.
        name: that of the run; "" for the one that was started last.

    Raises:
        DedupError: there is no such run.
    """
    with verdicts.read() as connection:
        is_decided = connection.dialect.has_table(connection, runs.name)
        names = list(connection.scalars(select(runs.c.name).order_by(runs.c.started, runs.c.id))) if is_decided else []
    with database.read() as connection:
        if not connection.dialect.has_table(connection, visits.name):
            raise DedupError(f"database {database.name} holds no pages: run a crawl first, or name another")
        if name in names or (names and not name):
            return name or names[-1]
        # Without the dedup stage a run is known by its pages alone.
        is_named = visits.c.run == name if name else visits.c.run.is_not(None)
        seen = select(visits.c.run).where(is_named).order_by(visits.c.seen.desc()).limit(1)
        found = connection.scalar(seen)
    if not found:
        raise no_run(database.name, name, names)
    return str(found)


class WantedPages(NamedTuple):
    """Which pages are read.

    Attributes:
        run: the name of the run.
        since: when it began, in seconds since 1970: a run that has finished may have had the same name.
        with_unchanged: whether pages are wanted that are as they were when another run stored them.
        with_html: whether their bytes are wanted, too.
    """

    run: str
    since: float
    with_unchanged: bool
    with_html: bool


class KeptPages:
    """The pages that a run has kept and that are still stored, each once, as they are stored now.

    A page is the run's if the run's last verdict on it has let it pass. They come in the order of these verdicts, in
    which they were stored. Behind them come those without a verdict of the run, as they could not be analysed, if
    the run was the last to see them.

    Args:
        database: where the pages are.
        verdicts: where the verdicts are, the same one perhaps; None where none are made.
        wanted: which pages.
    """

    def __init__(self, database: Database, verdicts: Database | None, wanted: WantedPages) -> None:
        self._database = database
        self._verdicts = verdicts
        self._wanted = wanted
        self._after = 0
        self._sources = [self._find_undecided] if verdicts is None else [self._find_decided, self._find_undecided]

    def read(self) -> list[Page]:
        """Return the next pages, some at a time; none where there are no more. What has failed can be tried again.

        Raises:
            DatabaseError: they cannot be read.
        """
        found: list[Page] = []
        while self._sources and not found:
            after, wanted = self._sources[0]()
            found = self._load(wanted)
            self._after = after
            if not after:
                self._sources.pop(0)
        return found

    def _find_decided(self) -> tuple[int, dict[bytes, str]]:
        """Return where to go on, and the next verdicts of the run, by the digests of their pages."""
        assert self._verdicts is not None
        after, decided = read_decided(self._verdicts, self._wanted.run, self._after, _AT_ONCE)
        since = self._wanted.since
        kept = {digest: each.verdict for digest, each in decided.items() if each.is_kept and each.time >= since}
        return after, {digest: verdict.value for digest, verdict in kept.items() if self._is_wanted(verdict)}

    def _find_undecided(self) -> tuple[int, dict[bytes, str]]:
        """Return the same of pages that the run has seen last and not decided; "" where there is no verdict."""
        asked = {"after": self._after, "run": self._wanted.run, "since": self._wanted.since}
        with self._database.read() as connection:
            rows = {row.id: bytes(row.url_digest) for row in connection.execute(_SEEN, asked)}
        decided = {}
        if self._verdicts is not None and rows:
            decided = find_decided(self._verdicts, self._wanted.run, list(rows.values()))
        found = {}
        for digest in rows.values():
            verdict = decided.get(digest)
            if verdict is None:
                found[digest] = ""
            elif verdict.time < self._wanted.since and self._is_wanted(Verdict.UNCHANGED):
                # Of an earlier run of this name, whose verdict stands.
                found[digest] = Verdict.UNCHANGED.value
        return max(rows, default=0), found

    def _is_wanted(self, verdict: Verdict) -> bool:
        return self._wanted.with_unchanged or verdict is not Verdict.UNCHANGED

    def _load(self, wanted: Mapping[bytes, str]) -> list[Page]:
        query = _PAGES.add_columns(pages.c.html) if self._wanted.with_html else _PAGES
        with self._database.read() as connection:
            rows = connection.execute(query, {"digests": list(wanted)}).mappings().all() if wanted else []
        stored = {bytes(row["url_digest"]): row for row in rows}
        return [_page(stored[digest], verdict) for digest, verdict in wanted.items() if digest in stored]


def _page(row: Mapping[Any, Any], verdict: str) -> Page:
    stored = {name: row[name] for name in (*_STORED, *_OF_VISITS)}
    html = zlib.decompress(row["html"]) if "html" in row else b""
    return Page(**stored, html=html, fetched=datetime.fromtimestamp(row["seen"], UTC), verdict=verdict or None)
