"""What a database knows of its runs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from dedup.ledger.deduplicator import Verdict
from dedup.ledger.document_rows import CANCELLING
from dedup.sql.database import Database
from dedup.sql.schema import runs, verdicts


@dataclass(frozen=True)
class Run:
    """A run as it stands in the database.

    Attributes:
        name: its name.
        started: when, in seconds since 1970.
        finished: when it ended; None: it is going on, or was killed.
        outcome: how it ended, such as `finished` or `shutdown`; None where `finished` is.
        documents: how many documents got each verdict, all five of them.
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


def read_runs(database: Database) -> list[Run]:
    """Return all runs, the earliest first.

    Raises:
        DatabaseError: the database cannot be read.
    """
    counted = select(verdicts.c.run_id, verdicts.c.verdict, func.count()).group_by(
        verdicts.c.run_id, verdicts.c.verdict
    )
    with database.read() as connection:
        counts = {(run_id, Verdict(verdict)): count for run_id, verdict, count in connection.execute(counted)}
        return [
            Run(
                row.name,
                row.started,
                row.finished,
                row.outcome,
                {verdict: counts.get((row.id, verdict), 0) for verdict in Verdict},
            )
            for row in connection.execute(select(runs).order_by(runs.c.started, runs.c.id))
        ]
