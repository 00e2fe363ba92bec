"""The pages that a run has kept, as its feeds would have got them, from the database."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from crawler.page import DESCRIBED, Page
from crawler.pages.tables import pages
from crawler.pages.visits import visits
from dedup.ledger.runs.decided import Decided, find_decided
from dedup.rules.decision import Verdict
from dedup.sql.database import Database

_AT_ONCE = 500
_STORED = ("url", "canonical", *DESCRIBED, "text", "problem", "referrer", "run")
_OF_VISITS = ("depth", "etag", "last_modified", "body_digest")
RESTORED = frozenset((*_STORED, *_OF_VISITS, "html", "fetched", "verdict"))
"""The fields of a page that are stored; the others are known only while it is crawled."""

_VISITS = (
    select(visits.c.id, visits.c.url_digest, visits.c.seen, visits.c.run, visits.c.gone)
    .where(visits.c.id > bindparam("after"))
    .order_by(visits.c.id)
    .limit(_AT_ONCE)
)
_PAGES = (
    select(
        pages.c.url_digest, *(pages.c[name] for name in _STORED), *(visits.c[name] for name in (*_OF_VISITS, "seen"))
    )
    .join(visits, visits.c.url_digest == pages.c.url_digest)
    .where(pages.c.url_digest.in_(bindparam("digests", expanding=True)))
    .order_by(visits.c.id)
)


class PagesOfRun(NamedTuple):
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


def read_kept_pages(
    database: Database, verdicts: Database | None, wanted: PagesOfRun, after: int
) -> tuple[int, list[Page]]:
    """Return pages that a run has kept and that are still stored, each once.

    A page is the run's if a verdict of the run has let it pass, or, where there is none as it could not be
    analysed, if the run was the last to see it. What another run has stored of it since is what there is.

    Args:
        database: where the pages are.
        verdicts: where the verdicts are, the same one perhaps; None where none are made.
        wanted: which pages.
        after: what the last call has returned; 0 for the first ones.

    Returns:
        Where to go on, 0 where there are no more, and some pages, perhaps none.

    Raises:
        DatabaseError: one of them cannot be read.
    """
    with database.read() as connection:
        seen = connection.execute(_VISITS, {"after": after}).all()
    decided = {} if verdicts is None else find_decided(verdicts, wanted.run, [bytes(row.url_digest) for row in seen])
    kept = {bytes(row.url_digest): _verdict(row, decided, wanted) for row in seen}
    digests = [digest for digest, verdict in kept.items() if verdict is not None]
    query = _PAGES.add_columns(pages.c.html) if wanted.with_html else _PAGES
    with database.read() as connection:
        rows = connection.execute(query, {"digests": digests}).mappings().all() if digests else []
    return seen[-1].id if seen else 0, [_page(dict(row), kept[bytes(row["url_digest"])]) for row in rows]


def _verdict(visit: Any, all_decided: Mapping[bytes, Decided], wanted: PagesOfRun) -> str | None:
    """Return the verdict of the run on a page that it has kept, "" where it has none; None for any other page."""
    decided = all_decided.get(bytes(visit.url_digest))
    is_last = visit.run == wanted.run and visit.seen >= wanted.since and visit.gone is None
    if decided is not None and decided.time >= wanted.since:
        verdict = decided.verdict.value if decided.is_kept else None
    elif decided is not None and is_last:
        # Of an earlier run of this name, whose verdict stands.
        verdict = Verdict.UNCHANGED.value
    else:
        verdict = "" if is_last else None
    return None if verdict == Verdict.UNCHANGED and not wanted.with_unchanged else verdict


def _page(row: Mapping[str, Any], verdict: str | None) -> Page:
    stored = {name: row[name] for name in (*_STORED, *_OF_VISITS)}
    html = zlib.decompress(row["html"]) if "html" in row else b""
    return Page(**stored, html=html, fetched=datetime.fromtimestamp(row["seen"], UTC), verdict=verdict or None)
