"""Who is the keeper of a cluster: elected in the database, mostly between three or four of its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, ScalarSelect, and_, bindparam, func, literal, or_, select

from dedup.ledger import document_rows
from dedup.rules.documents import StoredDocument
from dedup.rules.keepers import MOST_VOTES, Copy, KeeperPolicy
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
        beaten before. Only where the keeper has lost something all are asked: `before` is what the document was, if it
        was in the cluster and may have changed.
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
        is_gone = keeper is None or leader.id not in (keeper.id, keeper.leader_id)
        if is_gone or (before is not None and _has_lost(keeper, before, canonical_digest)):
            return self.anew(connection, leader.id, leader.keeper_id)
        by_leader = next(row.canonical_digest for row in rows if row.id == leader.id)
        votes = {row.id: row.votes + (row.key_digest == by_leader) for row in rows}
        return self._elect(connection, (leader.id, leader.keeper_id), rows, votes, rows[0].duplicates)

    def anew(self, connection: Connection, leader_id: int, keeper_id: int | None) -> Standing:
        """Elect among all members of a cluster, whose keeper was another one before; None: its leader."""
        rows = list(connection.execute(_ALL, {"leader": leader_id}))
        by_name = Counter(row.canonical_digest for row in rows)
        votes = {row.id: by_name[row.key_digest] for row in rows}
        return self._elect(connection, (leader_id, keeper_id), rows, votes, min(len(rows) - 1, self._most))

    def _elect(
        self,
        connection: Connection,
        before: tuple[int, int | None],
        rows: list[Any],
        votes: Mapping[int, int],
        duplicates: int,
    ) -> Standing:
        leader_id, keeper_id = before
        # The same key may be there twice, of two item classes or spiders.
        copies = [
            Copy(row.key, min(votes[row.id] + row.redirected, MOST_VOTES), row.first_run_id, row.text_bytes)
            for row in rows
        ]
        place = copies.index(self._policy.best(copies))
        elected, keeper = rows[place].id, rows[place].key
        if elected != keeper_id:
            document_rows.set_keeper(connection, leader_id, elected)
        return Standing(elected, keeper, elected != (keeper_id or leader_id), duplicates)


def _has_lost(keeper: Any, before: StoredDocument, canonical_digest: bytes | None) -> bool:
    if keeper.id == before.id:
        return True
    return bool(before.canonical_digest == keeper.key_digest != canonical_digest)
