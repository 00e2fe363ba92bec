"""Clusters: why a duplicate is passed on all the same, and which clusters join."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from dedup.ledger import document_rows
from dedup.ledger.brake import Brakes
from dedup.rules.documents import DUPLICATES, Answer, Kept, Match, StoredDocument, Verdict, decision_of
from dedup.rules.matcher import MOST_MOVED
from dedup.rules.settings import Brake, DedupSettings
from dedup.signature.signature import Sketch
from dedup.sql.schema import documents, verdicts

_MEMBERS = (
    select(documents.c.text_digest, documents.c.sketch, documents.c.content_run_id)
    .where(or_(documents.c.id == bindparam("leader"), documents.c.leader_id == bindparam("leader")))
    .limit(MOST_MOVED + 2)
)
_MOVE = (
    update(documents)
    .where(or_(documents.c.id == bindparam("goes"), documents.c.leader_id == bindparam("goes")))
    .values(leader_id=bindparam("stays"))
)
# Not those on what resembles the cluster and belongs to none: they stay as they were decided.
_VERDICTS_IN_CLUSTER = select(verdicts.c.id, verdicts.c.document_id).where(
    verdicts.c.original_id == bindparam("leader"),
    verdicts.c.run_id == bindparam("run"),
    verdicts.c.verdict.in_(DUPLICATES),
)
_CHANGE_VERDICT = update(verdicts).where(verdicts.c.id == bindparam("changed_id"))


class Clusters:
    """Says why duplicates are passed on, whatever else is stored of their clusters.

    Args:
        settings: the brake.
        brakes: counts clusters and hosts.
    """

    def __init__(self, settings: DedupSettings, brakes: Brakes) -> None:
        self._counted = 0 if settings.brake is Brake.OFF else settings.max_cluster
        self._brakes = brakes

    def why_kept(
        self, connection: Connection, run_id: int, key: str, answer: Answer, unchanged: StoredDocument | None
    ) -> Kept | None:
        """Return why a document that was just stored is passed on, if it is a duplicate and is.

        `unchanged` is what was stored of it, if that is what it holds.
        """
        match = answer.match
        if match is None:
            return None
        duplicates = document_rows.count_led(connection, match.leader.id, self._counted) if self._counted else 0
        if self._brakes.is_exempt(connection, run_id, key, match.leader.key, duplicates):
            return Kept.BRAKE
        if unchanged is not None and _has_joined(connection, unchanged, run_id):
            return Kept.JOINED
        return Kept.SAYS_MORE if answer.lost.is_long else None

    def why_kept_again(self, connection: Connection, run_id: int, match: Match, kept: Kept | None) -> Kept | None:
        """Return why a document is passed on that this process has passed on or dropped before, in the same run.

        `match` is the document and the leader of its cluster, which may be itself; `kept` why it would be if it came
        for the first time.
        """
        is_held = kept is Kept.BRAKE
        if match.member.id == match.leader.id:
            is_held = self._brakes.is_exempt(connection, run_id, match.member.key, match.leader.key, 0)
        return Kept.BRAKE if is_held else None


def _has_joined(connection: Connection, stored: StoredDocument, run_id: int) -> bool:
    """Say whether a document, as it is, was passed on in this run before it became a duplicate by joining a cluster.

    The process may have ended before anybody stored it.
    """
    if stored.last_run_id != run_id:
        return False
    last = document_rows.find_last_verdict(connection, stored.id, run_id)
    return last is not None and last.kept == Kept.JOINED.value


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
        last = document_rows.find_last_verdict(connection, joined.id, run_id)
        own = {"matched_id": document_id, "kept": Kept.JOINED.value, "rule": match.rule and match.rule.short}
        connection.execute(_CHANGE_VERDICT, _of_leader(last.id, joined, leader) | own)

    def movable(
        self, connection: Connection, joined: StoredDocument, leader: StoredDocument, run_id: int
    ) -> list[Sketch] | None:
        """Return the sketches of a cluster that may join another one; None if it may not.

        What earlier runs have decided stays as it is.
        """
        if joined.last_run_id != run_id:
            return None
        rows = connection.execute(_MEMBERS, {"leader": joined.id}).all()
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
