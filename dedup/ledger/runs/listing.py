"""Runs: what a database knows of them, and what one is called that nobody has named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select

from dedup.errors import DedupError
from dedup.ledger.document_rows import CANCELLING
from dedup.rules.decision import Verdict
from dedup.sql.database import Database
from dedup.sql.schema import runs, verdicts

_RUNS_NAMED = 5


@dataclass(frozen=True)
class Run:
    """A run as it stands in the database.

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
        return "unfinished" if self.finished is None else self.outcome or "finished"


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


def is_going_on(database: Database, name: str) -> bool:
    """Say whether a run has not ended, as far as the database knows: it is going on, or was killed."""
    with database.read() as connection:
        return connection.scalar(select(runs.c.finished).where(runs.c.name == name)) is None


def find_begun(database: Database) -> str:
    """Return the name of the run that started last, if it has not ended; else ""."""
    last = select(runs.c.name, runs.c.finished).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(1)
    with database.read() as connection:
        row = connection.execute(last).first()
    return row.name if row is not None and row.finished is None else ""


def read_runs(database: Database) -> list[Run]:
    """Return all runs, the earliest first."""
    counted = select(verdicts.c.run_id, verdicts.c.verdict, func.count()).group_by(
        verdicts.c.run_id, verdicts.c.verdict
    )
    with database.read() as connection:
        counts = {(run_id, Verdict(verdict)): count for run_id, verdict, count in connection.execute(counted)}
        found = connection.execute(select(runs).order_by(runs.c.started, runs.c.id)).all()
        return [
            Run(name, started, finished, outcome, {verdict: counts.get((run_id, verdict), 0) for verdict in Verdict})
            for run_id, name, started, finished, outcome in found
        ]
