"""The runs of a database: which there are, and what one has decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, bindparam, func, select

from dedup.errors import DedupError
from dedup.rules.documents import Verdict
from dedup.rules.table import OF_ITS_OWN
from dedup.store.database import Database
from dedup.store.document_rows import CANCELLING
from dedup.store.schema import documents, runs, verdicts

_RUNS_NAMED = 5

_RUN_ID = select(runs.c.id).where(runs.c.name == bindparam("run")).scalar_subquery()
# The sum keeps a database from looking through all verdicts of the run, for each part of them or those on one document.
_run_of_verdict = verdicts.c.run_id + 0
_OF_RUN = _run_of_verdict == _RUN_ID
_DIGESTS: BindParameter[Any] = bindparam("digests", expanding=True)
_LAST = (
    select(documents.c.key_digest, func.max(verdicts.c.id).label("id"))
    .join(verdicts, verdicts.c.document_id == documents.c.id)
    .where(documents.c.key_digest.in_(_DIGESTS), _OF_RUN)
    .group_by(documents.c.key_digest)
    .subquery()
)
_DECIDED = (
    select(_LAST.c.key_digest, verdicts.c.id, verdicts.c.verdict, runs.c.mark_only, verdicts.c.decided)
    .join(verdicts, verdicts.c.id == _LAST.c.id)
    .join(runs, runs.c.id == verdicts.c.run_id)
)
_IN_ORDER = (
    select(verdicts.c.id, documents.c.key_digest)
    .join(documents, documents.c.id == verdicts.c.document_id)
    .where(_OF_RUN, verdicts.c.id > bindparam("after"))
    .order_by(verdicts.c.id)
    .limit(bindparam("most"))
)

_OWN = {rule.short for rule in OF_ITS_OWN}

_RUNS = select(*runs.c["id", "name", "started", "finished", "outcome"]).order_by(runs.c.started, runs.c.id)

_originals = documents.alias("originals")
_LAST_VERDICTS = (
    select(documents.c.key, _originals.c.key, documents.c.title, verdicts.c.verdict, verdicts.c.rule, runs.c.mark_only)
    .join(documents, documents.c.id == verdicts.c.document_id)
    .join(runs, runs.c.id == verdicts.c.run_id)
    .outerjoin(_originals, _originals.c.id == verdicts.c.original_id)
    .order_by(verdicts.c.id.desc())
    .limit(bindparam("most"))
)


@dataclass(frozen=True)
class Run:
    """A run in the database.

    Attributes:
        name: its name.
        started: when, in seconds since 1970.
        finished: when it ended; None: it is going on, or was killed.
        outcome: how it ended, such as `finished` or `shutdown`; None where `finished` is.
        documents: how many documents got each verdict, all of them.
    """

    name: str
    started: float
    finished: float | None
    outcome: str | None
    documents: dict[Verdict, int]

    @property
    def state(self) -> str:
        """How it ended, in a word or two."""
        if self.outcome == CANCELLING:
            return "being cancelled"
        if self.finished is None:
            return "unfinished"
        return "interrupted" if self.outcome == "shutdown" else self.outcome or "finished"


def no_run(database: str, name: str, names: Sequence[str]) -> DedupError:
    """Return what is said where a run is not there.

    Args:
        database: the name of the database.
        name: that of the run; empty: any would do.
        names: those of the runs that are there, in the order in which they started.
    """
    if not (name and names):
        return DedupError(f"database {database} holds no runs: run a crawl first, or name another")
    last = ", ".join(map(repr, reversed(names[-_RUNS_NAMED:])))
    return DedupError(f"database {database} holds no run {name!r}: the last ones are {last}")


def name_by_time() -> str:
    """Return the name of a run that starts now: the time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_runs(database: Database) -> list[Run]:
    """Return all runs, the earliest first."""
    counted = select(verdicts.c.run_id, verdicts.c.verdict, func.count()).group_by(
        verdicts.c.run_id, verdicts.c.verdict
    )
    with database.read() as connection:
        counts = {(run_id, Verdict(verdict)): count for run_id, verdict, count in connection.execute(counted)}
        found = connection.execute(_RUNS).all()
        return [
            Run(name, started, finished, outcome, {verdict: counts.get((run_id, verdict), 0) for verdict in Verdict})
            for run_id, name, started, finished, outcome in found
        ]


class Decided(NamedTuple):
    """The last verdict of a run on a document, whether it passed the document on, and when, in seconds since 1970."""

    id: int
    verdict: Verdict
    is_kept: bool
    time: float


def find_decided(database: Database, run: str, key_digests: Sequence[bytes]) -> dict[bytes, Decided]:
    """Return what a run has decided on those of the documents that it has seen, by the digests of their keys."""
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return {}
        rows = connection.execute(_DECIDED, {"run": run, "digests": list(key_digests)}).all()
    found = {}
    for digest, number, name, mark_only, decided in rows:
        verdict = Verdict(name)
        found[bytes(digest)] = Decided(number, verdict, not verdict.is_duplicate or bool(mark_only), decided)
    return found


def read_decided(database: Database, run: str, after: int, most: int) -> tuple[int, dict[bytes, Decided]]:
    """Return the next decisions of a run that no later one of it has replaced, in their order.

    Args:
        database: where the verdicts are.
        run: the name of the run.
        after: what the last call has returned; 0 for the first ones.
        most: how many decisions to look at.

    Returns:
        Where to go on, 0 where there are no more, and the decisions by the digests of the keys, perhaps none.

    Raises:
        DatabaseError: they cannot be read.
    """
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return 0, {}
        rows = connection.execute(_IN_ORDER, {"run": run, "after": after, "most": most}).all()
    last = {number: bytes(digest) for number, digest in rows}
    decided = find_decided(database, run, list(last.values())) if last else {}
    latest = {digest: decided[digest] for number, digest in last.items() if decided[digest].id == number}
    return max(last, default=0), latest


def read_last_verdicts(database: Database, most: int) -> list[tuple[str, str | None, bool, str]]:
    """Return the keys of the documents that were decided last, of all runs, in the order of the verdicts.

    Args:
        database: where the verdicts are.
        most: how many.

    Returns:
        With each key that of its original, or of what it resembles, whether it was dropped as a copy of that, and its
        title. What a run has only marked has no original here, nor has what has moved or says more.

    Raises:
        DatabaseError: they cannot be read.
    """
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return []
        rows = connection.execute(_LAST_VERDICTS, {"most": most}).all()
    last = []
    for key, original, title, name, rule, mark_only in rows:
        is_copy = Verdict(name).is_duplicate
        is_alone = mark_only if is_copy else rule in _OWN
        last.append((key, None if is_alone else original, is_copy and not mark_only, title))
    return last[::-1]
