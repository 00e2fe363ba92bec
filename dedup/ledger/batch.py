"""Documents that are decided in one transaction, and their rows of verdicts."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from dedup.ledger import document_rows
from dedup.rules.decision import Decision
from dedup.rules.documents import Answer, StoredDocument
from dedup.rules.rule import Rule
from dedup.sql.schema import verdicts

BATCHES_OF_A_PROCESS = 1 << 32
"""Each process numbers its batches from a number at random, which is this times up to 2**30."""

_DECIDED_BEFORE = (
    select(verdicts.c.id)
    .where(
        verdicts.c.document_id == bindparam("document"),
        verdicts.c.run_id == bindparam("run"),
        verdicts.c.batch >= bindparam("first"),
        verdicts.c.batch < bindparam("number"),
    )
    .limit(1)
)
_LAST_RULE = (
    select(verdicts.c.rule)
    .where(verdicts.c.document_id == bindparam("document"))
    .order_by(verdicts.c.id.desc())
    .limit(1)
)
_DECIDED_NOW = update(verdicts).where(
    verdicts.c.document_id == bindparam("document"), verdicts.c.run_id == bindparam("run")
)


class Batch:
    """Documents that are decided in one transaction.

    Args:
        connection: inside a writing transaction.
        run_id: the run that the verdicts belong to.
        first: the number of the first batch of this process.
        number: that of this batch; one that failed is repeated with the same number, so that what it
            has decided, if it was written, does not count as decided before.
        plain_class: the item class whose keys stand for themselves.
    """

    def __init__(self, connection: Connection, run_id: int, first: int, number: int, plain_class: str) -> None:
        self.connection = connection
        self.run_id = run_id
        self.plain_class = plain_class
        self._first = first
        self._number = number
        self._decided: set[int] = set()
        self._rows: list[dict[str, Any]] = []

    def last_rule(self, known: StoredDocument) -> Rule | None:
        """Return the rule of the last verdict on a document; None where that is of an earlier version."""
        if known.id in self._decided:
            self.write_verdicts()
        short = self.connection.scalar(_LAST_RULE, {"document": known.id})
        return None if short is None else Rule.of(short)

    def has_decided(self, known: StoredDocument) -> bool:
        """Say whether a document was decided before in this batch, or an earlier one of this process and run."""
        if known.id in self._decided:
            return True
        if known.last_run_id != self.run_id:
            return False
        which = {"document": known.id, "run": self.run_id, "first": self._first, "number": self._number}
        return self.connection.scalar(_DECIDED_BEFORE, which) is not None

    def add(self, document_id: int, decision: Decision, answer: Answer) -> None:
        """Add the verdict on a document."""
        match = answer.match or answer.similar
        self._decided.add(document_id)
        self._rows.append(
            {
                "run_id": self.run_id,
                "document_id": document_id,
                "verdict": decision.verdict.value,
                "original_id": match.leader.id if match else None,
                "matched_id": match.member.id if match else None,
                "distance": decision.distance,
                "similarity": decision.similarity,
                "rule": decision.rule and decision.rule.short,
                "kept": decision.outcome.kept and decision.outcome.kept.value,
                "decided": time.time(),
                "batch": self._number,
            }
        )

    def let_stand(self, document_id: int) -> None:
        """Note that a document was decided again as another process of the run has decided it: that verdict stands."""
        self._decided.add(document_id)
        which = {"document": document_id, "run": self.run_id}
        self.connection.execute(_DECIDED_NOW.values(batch=self._number), which)

    def write_verdicts(self) -> None:
        """Write the verdicts that were added since the last call."""
        document_rows.add_verdicts(self.connection, self._rows)
        self._rows.clear()
