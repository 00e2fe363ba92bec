"""The pages that a run has kept, read from the database."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from crawler.page import FOUND, Page
from crawler.pages.schema import pages, visits
from dedup.errors import DedupError
from dedup.rules.documents import Verdict
from dedup.store.database import Database
from dedup.store.outages import Outages
from dedup.store.runs import find_decided, no_run, read_decided
from dedup.store.schema import runs

# Whole pages: in a feed that has their HTML, each can have megabytes.
_AT_ONCE = 100
_STORED = ("url", "canonical", *FOUND, "problem", "referrer", "run")
_OF_VISITS = ("depth", "etag", "last_modified", "body_digest")
RESTORED = frozenset((*_STORED, *_OF_VISITS, "html", "head", "fetched", "verdict"))
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
        pages.c.url_digest,
        pages.c.fetched,
        *(pages.c[name] for name in _STORED),
        *(visits.c[name] for name in (*_OF_VISITS, "seen")),
    )
    .join(visits, visits.c.url_digest == pages.c.url_digest)
    .where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
)


def choose_run(database: Database, name: str) -> str:
    """Return the name of the run whose pages are wanted.

    Args:
        database: where the pages are.
        name: that of the run; "" for the one that was started last.

    Raises:
        DedupError: there is no such run.
    """
    with database.read() as connection:
        is_decided = connection.dialect.has_table(connection, runs.name)
        names = list(connection.scalars(select(runs.c.name).order_by(runs.c.started, runs.c.id))) if is_decided else []
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


def has_markdown(database: Database, run: str) -> bool:
    """Return whether any of the pages that a run has kept has its text as Markdown, too."""
    kept = pages.join(visits, visits.c.url_digest == pages.c.url_digest)
    marked = select(pages.c.id).select_from(kept).where(visits.c.run == run, pages.c.markdown.is_not(None)).limit(1)
    with database.read() as connection:
        return connection.scalar(marked) is not None


class KeptPages(NamedTuple):
    """The pages that a run has kept and that are still stored, each once, as they are stored now.

    A page is the run's if the run's last verdict on it has let it pass. They come in the order of these verdicts, in
    which they were stored. Behind them come those without a verdict of the run, as they could not be analysed, if
    the run was the last to see them.

    Attributes:
        database: where the pages are.
        is_decided: whether there are verdicts.
        run: the name of the run.
        since: when it began, in seconds since 1970: a run that has finished may have had the same name.
        with_unchanged: whether pages are wanted that are as they were when another run stored them.
        with_html: whether what came of them is wanted, too.
    """

    database: Database
    is_decided: bool
    run: str
    since: float
    with_unchanged: bool
    with_html: bool

    def read(self, outages: Outages) -> Iterator[list[Page]]:
        """Yield the pages, some at a time, however long the database is away.

        Raises:
            DatabaseError: they cannot be read.
        """
        for find in (self._find_decided, self._find_undecided):
            after: int | None = 0
            while after is not None:
                after, wanted = outages.survive(partial(find, after))
                yield outages.survive(partial(self._load, wanted))

    def _find_decided(self, after: int) -> tuple[int | None, dict[bytes, str]]:
        """Return where to go on, and the next verdicts of the run, by the digests of their pages."""
        if not self.is_decided:
            return None, {}
        after, decided = read_decided(self.database, self.run, after, _AT_ONCE)
        kept = {digest: each.verdict for digest, each in decided.items() if each.is_kept and each.time >= self.since}
        wanted = {digest: verdict.value for digest, verdict in kept.items() if self._is_wanted(verdict)}
        return after or None, wanted

    def _find_undecided(self, after: int) -> tuple[int | None, dict[bytes, str]]:
        """Return the same of pages that the run has seen last and not decided; "" where there is no verdict."""
        with self.database.read() as connection:
            seen = connection.execute(_SEEN, {"after": after, "run": self.run, "since": self.since})
            rows = {row.id: bytes(row.url_digest) for row in seen}
        decided = {}
        if self.is_decided and rows:
            decided = find_decided(self.database, self.run, list(rows.values()))
        found = {}
        for digest in rows.values():
            verdict = decided.get(digest)
            if verdict is None:
                found[digest] = ""
            elif verdict.time < self.since and self._is_wanted(Verdict.UNCHANGED):
                # Of an earlier run of this name, whose verdict stands.
                found[digest] = Verdict.UNCHANGED.value
        return max(rows, default=None), found

    def _is_wanted(self, verdict: Verdict) -> bool:
        return self.with_unchanged or verdict is not Verdict.UNCHANGED

    def _load(self, wanted: Mapping[bytes, str]) -> list[Page]:
        query = _PAGES.add_columns(pages.c.html, pages.c.head) if self.with_html else _PAGES
        with self.database.read() as connection:
            rows = connection.execute(query, {"digests": list(wanted)}).mappings().all() if wanted else []
        stored = {bytes(row["url_digest"]): row for row in rows}
        return [self._page(stored[digest], verdict) for digest, verdict in wanted.items() if digest in stored]

    def _page(self, row: Mapping[Any, Any], verdict: str) -> Page:
        stored = {name: row[name] for name in (*_STORED, *_OF_VISITS)}
        if self.with_html:
            stored |= {"html": zlib.decompress(row["html"]), "head": row["head"]}
        seen, fetched = datetime.fromtimestamp(row["seen"], UTC), row["fetched"]
        if fetched.tzinfo is None:  # SQLite knows no zones
            fetched = fetched.replace(tzinfo=UTC)
        is_earlier = row["run"] != self.run and fetched < seen
        content_of = fetched if is_earlier else None
        return Page(**{"html": b"", **stored}, fetched=seen, verdict=verdict or None, content_of=content_of)
