"""Clusters: which copy is the keeper, what is passed on, which ones join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, ScalarSelect, and_, bindparam, exists, func, literal, or_, select, update

from dedup.ledger import document_rows
from dedup.ledger.brake import Brakes
from dedup.rules.documents import (
    ALONE,
    DUPLICATES,
    Answer,
    Content,
    Kept,
    Match,
    Outcome,
    StoredDocument,
    Verdict,
    decision_of,
)
from dedup.rules.keepers import MOST_VOTES, Copy
from dedup.rules.matcher import MOST_MOVED
from dedup.rules.scope import owner_of
from dedup.rules.settings import Brake, DedupSettings
from dedup.signature.signature import Sketch
from dedup.sql.schema import documents, verdicts

_exported = documents.alias("exported")
_EXPORTED = select(_exported.c.id, _exported.c.key, _exported.c.leader_id).join(
    documents, documents.c.exported_id == _exported.c.id
)
_IN_CLUSTER = select(documents.c.id, documents.c.key).where(
    documents.c.id == bindparam("document"), documents.c.leader_id == bindparam("leader")
)
_ONCE_EXPORTED = select(documents.c.id, documents.c.key).where(
    exists().where(
        verdicts.c.document_id == documents.c.id, verdicts.c.kept.in_([Kept.KEEPER.value, Kept.JOINED.value])
    )
)


_led = documents.alias("led")


_COLUMNS = documents.c[
    "id", "key", "key_digest", "leader_id", "canonical_digest", "redirected", "first_run_id", "text_bytes"
]

_CANDIDATES = (
    select(*_COLUMNS)
    .where(or_(documents.c.id == bindparam("leader"), documents.c.leader_id == bindparam("leader")))
    .order_by(documents.c.id)
)

_MEMBERS = (
    select(documents.c.text_digest, documents.c.sketch, documents.c.content_run_id)
    .where(or_(documents.c.id == bindparam("leader"), documents.c.leader_id == bindparam("leader")))
    .limit(MOST_MOVED + 2)
)
_MOVE = (
    update(documents)
    .where(or_(documents.c.id == bindparam("goes"), documents.c.leader_id == bindparam("goes")))
    .values(leader_id=bindparam("stays"), keeper_id=None, exported_id=None)
)
# Not those on what resembles the cluster and belongs to none: they stay as they were decided.
_VERDICTS_IN_CLUSTER = select(verdicts.c.id, verdicts.c.document_id).where(
    verdicts.c.original_id == bindparam("leader"),
    verdicts.c.run_id == bindparam("run"),
    verdicts.c.verdict.in_(DUPLICATES),
)
_CHANGE_VERDICT = update(verdicts).where(verdicts.c.id == bindparam("changed_id"))


def _count_led(limit: Any, *conditions: Any) -> ScalarSelect[int]:
    # An index tells this in a time that grows with the limit, not with the cluster.
    some = (
        select(literal(1).label("one")).where(_led.c.leader_id == bindparam("leader"), *conditions).correlate(documents)
    )
    return select(func.count()).select_from(some.limit(limit).subquery()).scalar_subquery()


_CONTENDERS = (
    select(
        *_COLUMNS,
        _count_led(MOST_VOTES, _led.c.canonical_digest == documents.c.key_digest).label("votes"),
        _count_led(bindparam("most")).label("duplicates"),
    )
    .where(
        or_(
            documents.c.id == bindparam("leader"),
            documents.c.id == bindparam("keeper"),
            documents.c.id == bindparam("document"),
            and_(documents.c.key_digest == bindparam("named"), documents.c.leader_id == bindparam("leader")),
        )
    )
    .order_by(documents.c.id)
)


class ClusterState(NamedTuple):
    """The keeper of a cluster, and its size.

    Attributes:
        keeper_id: the keeper.
        keeper: its key.
        is_changed: whether it was another one before.
        duplicates: how many duplicates the cluster has, counted up to `most`.
    """

    keeper_id: int
    keeper: str
    is_changed: bool
    duplicates: int


class StoredChange(NamedTuple):
    """A document that was just written, what was stored of it before, and what it is a duplicate of, if it is.

    `says_more`: whether that has a long stretch of text that nothing stored has.
    """

    run_id: int
    document_id: int
    key: str
    content: Content
    stored: StoredDocument | None
    match: Match | None
    is_unchanged: bool
    says_more: bool


class Clusters:
    """Keeps clusters in order while documents are decided.

    Args:
        settings: whether better copies take the place of others, and which are better; the brake. Where none
            takes the place of another, the keeper is the leader, or the last copy that says more than it.
        brakes: counts clusters and hosts.
    """

    def __init__(self, settings: DedupSettings, brakes: Brakes) -> None:
        self._swaps = settings.swap_keeper and not settings.mark_only
        self._counted = 0 if settings.brake is Brake.OFF else settings.max_cluster
        self._policy = settings.keeper
        self._most = settings.max_cluster
        self._brakes = brakes

    def apply(self, connection: Connection, change: StoredChange) -> Outcome:
        """Update the cluster of a document that was just stored."""
        stored, match = change.stored, change.match
        if stored is None and match is None:
            return ALONE
        current = (None, match and match.leader.id, match and match.joined and match.joined.id)
        has_left = stored is not None and stored.leader_id not in current
        is_keeper_lost = stored is not None and has_left and self._leave(connection, stored)
        if match is None:
            outcome = self._apply_original(connection, change)
        elif self._swaps:
            outcome = self._apply_swapping(connection, change, match)
        else:
            outcome = self._apply_duplicate(connection, change, match)
        return outcome._replace(keeper_changed=True) if is_keeper_lost else outcome

    def leader_replaced_by(self, connection: Connection, document: StoredDocument) -> StoredDocument | None:
        """Return the leader whose place a document has taken as the better copy, if it has.

        When such a document goes, or holds something else, nothing of its cluster is passed on any more.
        """
        if not self._swaps or document.leader_id is None:
            return None
        leader = document_rows.find_with_leaders(connection, [document.leader_id])[document.leader_id]
        return leader if leader.exported_id == document.id else None

    def _apply_swapping(self, connection: Connection, change: StoredChange, match: Match) -> Outcome:
        run_id, document_id, key, content, stored, *_, says_more = change
        leader = match.leader
        before = stored if stored is not None and stored.leader_id == leader.id and _differs(stored, content) else None
        if match.joined is not None:
            state = self._elect_all(connection, leader.id, leader.keeper_id)
        else:
            state = self._elect_after_joining(connection, leader, document_id, content.canonical_digest, before=before)
        is_held = self._brakes.is_exempt(connection, run_id, key, leader.key, state.duplicates)
        kept = Kept.BRAKE if is_held else Kept.SAYS_MORE if says_more else None
        outcome = Outcome(state.keeper, state.is_changed, kept, joined=match.joined and match.joined.key)
        replaces = self._export(connection, leader, document_id, state.keeper_id)
        if replaces is not None:
            return outcome._replace(kept=Kept.KEEPER, replaces=replaces)
        if match.joined is not None:
            replaces = self._reduce(connection, leader, match.joined, state.keeper_id)
            # It may have been passed on before, and be kept by the brake now.
            return outcome._replace(replaces=tuple(each for each in replaces if each != key))
        return outcome

    def _apply_duplicate(self, connection: Connection, change: StoredChange, match: Match) -> Outcome:
        leader, stored, run_id = match.leader, change.stored, change.run_id
        duplicates = document_rows.count_led(connection, leader.id, self._counted) if self._counted else 0
        kept = None
        if self._brakes.is_exempt(connection, run_id, change.key, leader.key, duplicates):
            kept = Kept.BRAKE
        elif stored is not None and change.is_unchanged and _has_joined(connection, stored, run_id):
            # Where copies are swapped another one has its place, or it is the one that is passed on.
            kept = Kept.JOINED
        elif change.says_more:
            kept = Kept.SAYS_MORE
        joined = match.joined and match.joined.key
        if kept is Kept.SAYS_MORE:
            document_rows.change_document(connection, leader.id, {"keeper_id": change.document_id})
            is_changed = leader.keeper_id != change.document_id
            return Outcome(change.key, keeper_changed=is_changed, kept=kept, joined=joined)
        # Where the keeper has left the cluster, the leader is the keeper again.
        keeper_id = leader.keeper_id or leader.id
        keeper = leader.keeper_id and document_rows.find_with_leaders(connection, [keeper_id]).get(keeper_id)
        return Outcome(keeper.key if keeper else leader.key, kept=kept, joined=joined)

    def apply_again(self, connection: Connection, run_id: int, match: Match, outcome: Outcome) -> Outcome:
        """Say what becomes of a document that this process has passed on or dropped before, in the same run.

        `match` is the document and the leader of its cluster, which may be itself; `outcome` what would become of it
        if it came for the first time.
        """
        document, leader = match.member, match.leader
        is_held = outcome.kept is Kept.BRAKE
        if document.id == leader.id:
            is_held = self._brakes.is_exempt(connection, run_id, document.key, leader.key, 0)
        return Outcome(outcome.keeper or leader.key, outcome.keeper_changed, Kept.BRAKE if is_held else None)

    def _apply_original(self, connection: Connection, change: StoredChange) -> Outcome:
        stored, content = change.stored, change.content
        if stored is None or stored.keeper_id is None:
            return ALONE
        if not self._swaps:
            if stored.exported_id is not None:
                # Another copy had taken its place when copies were swapped; now it is passed on.
                document_rows.change_document(connection, stored.id, {"keeper_id": None, "exported_id": None})
            return ALONE
        if change.is_unchanged and content.sketch.tokens and not _differs(stored, content):
            keeper_id, is_changed = stored.keeper_id, False
        else:
            state = self._elect_all(connection, stored.id, stored.keeper_id)
            keeper_id, is_changed = state.keeper_id, state.is_changed
        replaces = self._export(connection, stored, stored.id, keeper_id)
        return Outcome(keeper_changed=is_changed, replaces=replaces or (), is_replaced=replaces is None)

    def _leave(self, connection: Connection, stored: StoredDocument) -> bool:
        """Elect again where the keeper, or a vote for it, has left; say whether the keeper has changed."""
        assert stored.leader_id is not None
        leader = document_rows.find_with_leaders(connection, [stored.leader_id])[stored.leader_id]
        if not self._swaps:
            if stored.id in (leader.keeper_id, leader.exported_id):
                document_rows.change_document(connection, leader.id, {"keeper_id": None, "exported_id": None})
            return False
        keeper_id = leader.keeper_id or leader.id
        keeper = document_rows.find_with_leaders(connection, [keeper_id]).get(keeper_id)
        is_unmoved = stored.canonical_digest is None and keeper_id != stored.id
        # Of another site, its best copy is another one now, which the keeper has never met.
        if is_unmoved and keeper is not None and owner_of(keeper.key) == owner_of(stored.key):
            return False
        return self._elect_all(connection, leader.id, leader.keeper_id).is_changed

    def _export(
        self, connection: Connection, leader: StoredDocument, document_id: int, keeper_id: int
    ) -> tuple[str, ...] | None:
        """Say which other copies a member takes the place of when it is passed on; None: it is not."""
        exported_id, exported = _exported_of(connection, leader)
        if document_id not in (keeper_id, exported_id):
            return None
        if document_id != exported_id:
            document_rows.change_document(connection, leader.id, {"exported_id": document_id})
        return _once_exported(connection, leader, {exported_id: exported}, but=document_id)

    @staticmethod
    def _reduce(
        connection: Connection, leader: StoredDocument, joined: StoredDocument, keeper_id: int
    ) -> tuple[str, ...]:
        """Export one copy of two clusters that were joined; return the keys of the others."""
        exported_id, exported = _exported_of(connection, leader)
        found = {"document": joined.exported_id or joined.id, "leader": leader.id}
        other = connection.execute(_IN_CLUSTER, found).first()
        # Only these two are sure to be passed on.
        stays = keeper_id if keeper_id == (other.id if other else joined.id) else exported_id
        if stays != exported_id:
            document_rows.change_document(connection, leader.id, {"exported_id": stays})
        return _once_exported(connection, leader, {exported_id: exported}, but=stays)

    def _elect_after_joining(
        self,
        connection: Connection,
        leader: StoredDocument,
        document_id: int,
        canonical_digest: bytes | None,
        *,
        before: StoredDocument | None = None,
    ) -> ClusterState:
        """Elect after a document has joined a cluster, or was seen again in it.

        A document that joins can only bring forward itself and the copy that it names; everybody else the keeper has
        beaten before. Only where the keeper is no better than these, or has lost something, all members are compared:
        `before` is what the document was, if it was in the cluster and may have changed.
        """
        keeper_id = leader.keeper_id or leader.id
        parameters = {
            "leader": leader.id,
            "keeper": keeper_id,
            "document": document_id,
            "named": canonical_digest or b"",
            "most": self._most,
        }
        rows = list(connection.execute(_CONTENDERS, parameters))
        keeper = next((row for row in rows if row.id == keeper_id), None)
        if keeper is None or leader.id not in (keeper.id, keeper.leader_id):
            return self._elect_all(connection, leader.id, leader.keeper_id)
        if before is not None and _has_lost(keeper, before, canonical_digest):
            return self._elect_all(connection, leader.id, leader.keeper_id)
        by_leader = next(row.canonical_digest for row in rows if row.id == leader.id)
        votes = {row.id: row.votes + (row.key_digest == by_leader) for row in rows}
        # The leader is there for its vote.
        contenders = [row for row in rows if row.id in (keeper_id, document_id) or row.key_digest == canonical_digest]
        if self._best(contenders, votes).id != keeper_id:
            return self._elect_all(connection, leader.id, leader.keeper_id)
        if leader.keeper_id is None:
            document_rows.change_document(connection, leader.id, {"keeper_id": keeper_id})
        return ClusterState(keeper_id, keeper.key, is_changed=False, duplicates=rows[0].duplicates)

    def _elect_all(self, connection: Connection, leader_id: int, keeper_id: int | None) -> ClusterState:
        """Elect among all members of a cluster, whose keeper was another one before; None: its leader."""
        rows = list(connection.execute(_CANDIDATES, {"leader": leader_id}))
        by_name = Counter(row.canonical_digest for row in rows)
        votes = {row.id: by_name[row.key_digest] for row in rows}
        elected = self._best(rows, votes)
        if elected.id != keeper_id:
            document_rows.change_document(connection, leader_id, {"keeper_id": elected.id})
        is_changed = elected.id != (keeper_id or leader_id)
        return ClusterState(elected.id, elected.key, is_changed, min(len(rows) - 1, self._most))

    def _best(self, rows: list[Any], votes: Mapping[int, int]) -> Any:
        # The same key may be there twice, of two item classes or spiders.
        copies = [
            Copy(row.key, min(votes[row.id] + row.redirected, MOST_VOTES), row.first_run_id, row.text_bytes)
            for row in rows
        ]
        return rows[copies.index(self._policy.best(copies))]


def _exported_of(connection: Connection, leader: StoredDocument) -> tuple[int, str]:
    """Return id and key of the exported copy of a cluster."""
    row = connection.execute(_EXPORTED.where(documents.c.id == leader.id)).first()
    # Where that copy has left the cluster, the leader is the exported one again.
    return (row.id, row.key) if row and row.leader_id == leader.id else (leader.id, leader.key)


def _once_exported(
    connection: Connection, leader: StoredDocument, exported: dict[int, str], *, but: int
) -> tuple[str, ...]:
    """Return the keys of a cluster's copies that were passed on, with those that are given, but one."""
    # A crawl may have been killed before a copy was replaced where pages are stored.
    others = _ONCE_EXPORTED.where(documents.c.leader_id == leader.id, documents.c.id != but)
    keys = exported | {leader.id: leader.key}
    keys.update((row.id, row.key) for row in connection.execute(others.order_by(documents.c.id)))
    return tuple(key for identifier, key in keys.items() if identifier != but)


def _differs(stored: StoredDocument, content: Content) -> bool:
    return (
        stored.text_digest != content.text_digest
        or stored.canonical_digest != content.canonical_digest
        or content.redirected > stored.redirected
    )


def _has_joined(connection: Connection, stored: StoredDocument, run_id: int) -> bool:
    """Say whether a document, as it is, was passed on in this run before it became a duplicate by joining a cluster.

    The process may have ended before anybody stored it.
    """
    if stored.last_run_id != run_id:
        return False
    last = document_rows.find_last_verdict(connection, stored.id, run_id)
    return last is not None and last.kept == Kept.JOINED.value


def _has_lost(keeper: Any, before: StoredDocument, canonical_digest: bytes | None) -> bool:
    # Where the best copy of another site is worse than it was, one that the keeper has never met is its best.
    if keeper.id == before.id or owner_of(keeper.key) != owner_of(before.key):
        return True
    return bool(before.canonical_digest == keeper.key_digest != canonical_digest)


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
