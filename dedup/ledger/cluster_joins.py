"""Joining clusters in the database; the rule is in `dedup.rules.cluster_merge`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, func, or_, select, update

from dedup.ledger import document_rows
from dedup.rules.cluster_merge import MOST_MOVED
from dedup.rules.decision import DUPLICATES, Kept, Verdict, decision_of
from dedup.rules.documents import Answer, Match, StoredDocument
from dedup.rules.settings import Brake, DedupSettings
from dedup.signature.sketch import Sketch
from dedup.sql.schema import documents, verdicts

_ALL = (
    select(documents.c.text_digest, documents.c.sketch, documents.c.content_run_id)
    .where(or_(documents.c.id == bindparam("leader"), documents.c.leader_id == bindparam("leader")))
    .limit(MOST_MOVED + 2)
)
_MOVE = (
    update(documents)
    .where(or_(documents.c.id == bindparam("goes"), documents.c.leader_id == bindparam("goes")))
    .values(leader_id=bindparam("stays"), keeper_id=None, exported_id=None)
)
# Not that on the same text again, which was found by itself.
_LAST_VERDICT = select(func.max(verdicts.c.id)).where(
    verdicts.c.document_id == bindparam("document"),
    verdicts.c.run_id == bindparam("run"),
    verdicts.c.matched_id.is_distinct_from(verdicts.c.document_id),
)
# Not those on what resembles the cluster and belongs to none: they stay as they were decided.
_VERDICTS_IN_CLUSTER = select(verdicts.c.id, verdicts.c.document_id).where(
    verdicts.c.original_id == bindparam("leader"),
    verdicts.c.run_id == bindparam("run"),
    verdicts.c.verdict.in_(DUPLICATES),
)
_CHANGE_VERDICT = update(verdicts).where(verdicts.c.id == bindparam("changed_id"))


class Joining:
    """Joins clusters in the database, up to the size that the settings allow."""

    def __init__(self, settings: DedupSettings) -> None:
        self._largest = 0 if settings.brake is Brake.OFF else settings.max_cluster

    def carry_out(
        self, connection: Connection, match: Match, joined: StoredDocument, document_id: int, run_id: int
    ) -> None:
        """Let a cluster join the one that a document belongs to, and say so in its verdicts, which are written."""
        leader = match.leader
        members = document_rows.find_led_by(connection, joined.id)
        connection.execute(_MOVE, {"goes": joined.id, "stays": leader.id})
        by_id = {member.id: member for member in (joined, *members)}
        found = connection.execute(_VERDICTS_IN_CLUSTER, {"leader": joined.id, "run": run_id}).all()
        moved = [_of_leader(row.id, by_id[row.document_id], leader) for row in found if row.document_id in by_id]
        if moved:
            connection.execute(_CHANGE_VERDICT, moved)
        last = connection.scalar(_LAST_VERDICT, {"document": joined.id, "run": run_id})
        own = {"matched_id": document_id, "kept": Kept.JOINED.value, "rule": match.rule and match.rule.short}
        connection.execute(_CHANGE_VERDICT, _of_leader(last, joined, leader) | own)

    def movable(
        self, connection: Connection, joined: StoredDocument, leader: StoredDocument, run_id: int
    ) -> list[Sketch] | None:
        """Return the sketches of a cluster that may join another one; None if it may not.

        What earlier runs have decided stays as it is.
        """
        if joined.last_run_id != run_id:
            return None
        rows = connection.execute(_ALL, {"leader": joined.id}).all()
        if len(rows) > MOST_MOVED + 1 or any(row.content_run_id != run_id for row in rows):
            return None
        if self._largest:
            there = document_rows.count_led(connection, leader.id, self._largest)
            # The document itself is one more.
            if there + len(rows) + 1 >= self._largest:
                return None
        sketches = {bytes(row.text_digest): bytes(row.sketch) for row in rows}
        return [Sketch.from_bytes(each) for each in sketches.values()]


def _of_leader(verdict_id: int, document: StoredDocument, leader: StoredDocument) -> dict[str, Any]:
    """Return what the verdict on a document says once it is a duplicate of a leader."""
    decision = decision_of(Verdict.NEW, document, Answer(Match(leader, document)))
    return {
        "changed_id": verdict_id,
        "verdict": decision.verdict.value,
        "original_id": leader.id,
        "distance": decision.distance,
        "similarity": decision.similarity,
    }
