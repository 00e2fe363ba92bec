"""Who is the keeper of a cluster: elected in the database, mostly between three or four of its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, ScalarSelect, and_, bindparam, func, literal, or_, select

from dedup.ledger import document_rows
from dedup.rules.documents import StoredDocument
from dedup.rules.keepers import MOST_VOTES, Copy, KeeperPolicy
from dedup.rules.scope import owner_of
from dedup.sql.schema import documents

_led = documents.alias("led")


def _count_led(limit: Any, *conditions: Any) -> ScalarSelect[int]:
    # An index tells this in a time that grows with the limit, not with the cluster.
    some = (
        select(literal(1).label("one")).where(_led.c.leader_id == bindparam("leader"), *conditions).correlate(documents)
    )
    return select(func.count()).select_from(some.limit(limit).subquery()).scalar_subquery()


_COLUMNS = documents.c[
    "id", "key", "key_digest", "leader_id", "canonical_digest", "redirected", "first_run_id", "text_bytes"
]
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
_ALL = (
    select(*_COLUMNS)
    .where(or_(documents.c.id == bindparam("leader"), documents.c.leader_id == bindparam("leader")))
    .order_by(documents.c.id)
)


class Standing(NamedTuple):
    """How a cluster stands.

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


class Elections:
    """Elects the keepers of clusters, and writes them down; counts their duplicates up to a number."""

    def __init__(self, policy: KeeperPolicy, most: int) -> None:
        self._policy = policy
        self._most = most

    def join(
        self,
        connection: Connection,
        leader: StoredDocument,
        document_id: int,
        canonical_digest: bytes | None,
        *,
        before: StoredDocument | None = None,
    ) -> Standing:
        """Elect after a document has joined a cluster, or was seen again in it.

        A document that joins can only bring forward itself and the copy that it names; everybody else the keeper has
        beaten before. Only where the keeper is no better than these, or has lost something, all are asked: `before` is
        what the document was, if it was in the cluster and may have changed.
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
            return self.anew(connection, leader.id, leader.keeper_id)
        if before is not None and _has_lost(keeper, before, canonical_digest):
            return self.anew(connection, leader.id, leader.keeper_id)
        by_leader = next(row.canonical_digest for row in rows if row.id == leader.id)
        votes = {row.id: row.votes + (row.key_digest == by_leader) for row in rows}
        # The leader is there for its vote.
        contenders = [row for row in rows if row.id in (keeper_id, document_id) or row.key_digest == canonical_digest]
        if self._best(contenders, votes).id != keeper_id:
            return self.anew(connection, leader.id, leader.keeper_id)
        if leader.keeper_id is None:
            document_rows.set_keeper(connection, leader.id, keeper_id)
        return Standing(keeper_id, keeper.key, is_changed=False, duplicates=rows[0].duplicates)

    def anew(self, connection: Connection, leader_id: int, keeper_id: int | None) -> Standing:
        """Elect among all members of a cluster, whose keeper was another one before; None: its leader."""
        rows = list(connection.execute(_ALL, {"leader": leader_id}))
        by_name = Counter(row.canonical_digest for row in rows)
        votes = {row.id: by_name[row.key_digest] for row in rows}
        elected = self._best(rows, votes)
        if elected.id != keeper_id:
            document_rows.set_keeper(connection, leader_id, elected.id)
        is_changed = elected.id != (keeper_id or leader_id)
        return Standing(elected.id, elected.key, is_changed, min(len(rows) - 1, self._most))

    def _best(self, rows: list[Any], votes: Mapping[int, int]) -> Any:
        # The same key may be there twice, of two item classes or spiders.
        copies = [
            Copy(row.key, min(votes[row.id] + row.redirected, MOST_VOTES), row.first_run_id, row.text_bytes)
            for row in rows
        ]
        return rows[copies.index(self._policy.best(copies))]


def _has_lost(keeper: Any, before: StoredDocument, canonical_digest: bytes | None) -> bool:
    # Where the best copy of another site is worse than it was, one that the keeper has never met is its best.
    if keeper.id == before.id or owner_of(keeper.key) != owner_of(before.key):
        return True
    return bool(before.canonical_digest == keeper.key_digest != canonical_digest)
