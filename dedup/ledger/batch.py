"""Documents that are decided in one transaction: what is asked and written for all of them at once.

Most documents of a crawl have nothing in common with any stored one. Of these nothing is asked alone, and their rows
are written together, before anything else is asked of documents.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from dedup.ledger import document_rows
from dedup.ledger.document_rows import NO_RELATIVES, Digests, Relatives
from dedup.rules.decision import Decision, Kept
from dedup.rules.documents import Answer, StoredDocument
from dedup.rules.lost_text import NOTHING_LOST, LostText
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
_LAST = (
    select(verdicts.c.rule, verdicts.c.kept, verdicts.c.lost, verdicts.c.lost_bytes, verdicts.c.places)
    .where(
        verdicts.c.document_id == bindparam("document"),
        verdicts.c.matched_id.is_distinct_from(verdicts.c.document_id),
    )
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
        documents: the digests of all its documents.
    """

    def __init__(
        self, connection: Connection, run_id: int, first: int, number: int, documents: Sequence[Digests]
    ) -> None:
        self.connection = connection
        self.run_id = run_id
        self._known = document_rows.find_known_digests(connection, documents)
        self._next_id = document_rows.last_id(connection) + 1
        self._documents: list[dict[str, Any]] = []
        self._words: list[tuple[bytes, bytes]] = []
        self._first = first
        self._number = number
        self._decided: set[int] = set()
        self._rows: list[dict[str, Any]] = []

    def relatives(self, digests: Digests) -> Relatives:
        """Return the documents that have something in common with one of the batch, which then is known, too."""
        known = self._known
        is_known = not known.isdisjoint(digests)
        known.update(each for each in digests if each is not None)
        if not is_known:
            return NO_RELATIVES
        self.flush()
        return document_rows.find_relatives(self.connection, digests)

    def add_document(self, values: dict[str, Any]) -> int:
        """Add a row of `dedup_documents` that is written by `flush`; return its id."""
        # There is one writer at a time.
        document_id, self._next_id = self._next_id, self._next_id + 1
        self._documents.append({"id": document_id, **values})
        return document_id

    def add_words(self, text_digest: bytes, words: bytes) -> None:
        """Add the words of a text that has none yet, which are written by `flush`."""
        self._words.append((text_digest, words))

    def flush(self) -> None:
        """Write the documents and words that were added since the last call; whoever asks for documents calls it."""
        if self._documents:
            document_rows.add_documents(self.connection, self._documents)
            self._documents.clear()
        if self._words:
            document_rows.add_words(self.connection, self._words)
            self._words.clear()

    def last_verdict(self, known: StoredDocument) -> tuple[Rule | None, LostText]:
        """Return the rule of the last verdict on a document, and what would be lost with it; nothing: there is none."""
        if known.id in self._decided:
            self.write_verdicts()
        row = self.connection.execute(_LAST, {"document": known.id}).first()
        if row is None or row.rule is None:
            return None, NOTHING_LOST
        is_long = row.kept == Kept.SAYS_MORE.value
        return Rule.of(row.rule), LostText(row.lost or 0, row.lost_bytes or 0, is_long, row.places or 0)

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
                "lost": decision.lost.words,
                "lost_bytes": decision.lost.bytes,
                "places": decision.lost.places,
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
        """Write the verdicts that were added since the last call, and before them their documents."""
        self.flush()
        document_rows.add_verdicts(self.connection, self._rows)
        self._rows.clear()
