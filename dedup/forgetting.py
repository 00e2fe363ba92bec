"""Forgetting documents that no run has seen for a time: nothing is dropped because of them any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select

from dedup.database import Database
from dedup.index.protocol import Index
from dedup.ledger import CANCELLING
from dedup.letting_go import let_go_by_ids
from dedup.rules.scope import Scopes
from dedup.schema import documents, runs

_LEADERS_AT_ONCE = 200
_MEMBERS_AT_ONCE = 500


def forget_old(database: Database, index: Index, scopes: Scopes, run_id: int, seconds: int) -> int:
    """Let go of the documents that were last seen in runs that started so long before a run.

    Their rows stay, for the verdicts that speak of them. What runs that have not ended have seen stays. With a
    leader, and with the copy that stands in its place, goes all of its cluster, some hundred documents in a
    transaction, so that others can write in between; after every one all holds that holds in any database.

    Args:
        database: where they are.
        index: its permuted tables.
        scopes: its scopes.
        run_id: the run.
        seconds: how long before its start.

    Returns:
        How many documents were let go.

    Raises:
        DatabaseError: the database failed; the same call goes on.
    """
    with database.read() as connection:
        started = connection.scalar(select(runs.c.started).where(runs.c.id == run_id)) or 0.0
        is_standing = or_(runs.c.outcome.is_(None), runs.c.outcome != CANCELLING)
        is_old = and_(runs.c.finished.is_not(None), runs.c.started < started - seconds, is_standing)
        if not connection.scalar(select(exists().where(is_old, runs.c.id != run_id))):
            return 0
    old = select(runs.c.id).where(is_old, runs.c.id != run_id)
    forgotten = 0
    for leaders in _some(database, _leaders(old).limit(_LEADERS_AT_ONCE)):
        led = select(documents.c.id).where(documents.c.leader_id.in_(leaders)).order_by(documents.c.id)
        for members in _some(database, led.limit(_MEMBERS_AT_ONCE)):
            forgotten += _forget(database, index, scopes, documents.c.id.in_(members))
        # Another process may have shown more copies of them in the meantime.
        is_theirs = or_(documents.c.id.in_(leaders), documents.c.leader_id.in_(leaders))
        forgotten += _forget(database, index, scopes, is_theirs)
    alone = select(documents.c.id).where(documents.c.leader_id.is_not(None), documents.c.last_run_id.in_(old))
    for members in _some(database, alone.order_by(documents.c.id).limit(_MEMBERS_AT_ONCE)):
        is_led = and_(documents.c.id.in_(members), documents.c.leader_id.is_not(None))
        forgotten += _forget(database, index, scopes, is_led)
    return forgotten


def _leaders(old: Select[Any]) -> Select[Any]:
    """Return those who lead clusters, or stand alone, and are old, or whose place a copy has taken that is."""
    exported = documents.alias()
    is_replaced = exists().where(
        exported.c.id == documents.c.exported_id,
        exported.c.leader_id == documents.c.id,
        exported.c.last_run_id.in_(old),
    )
    is_old = or_(documents.c.last_run_id.in_(old), and_(documents.c.exported_id.is_not(None), is_replaced))
    standing = select(documents.c.id).where(documents.c.leader_id.is_(None), documents.c.text_digest.is_not(None))
    return standing.where(is_old).order_by(documents.c.id)


def _some(database: Database, which: Select[Any]) -> Iterator[list[int]]:
    """Yield ids, some at a time, each greater than those before."""
    last = 0
    while True:
        with database.read() as connection:
            found = list(connection.scalars(which.where(documents.c.id > last)))
        if not found:
            return
        yield found
        last = found[-1]


def _forget(database: Database, index: Index, scopes: Scopes, which: ColumnElement[bool]) -> int:
    with database.write() as connection:
        known = select(documents.c.id).where(which, documents.c.text_digest.is_not(None))
        ids: set[int] = set(connection.scalars(known))
        let_go_by_ids(connection, index, scopes, ids)
        return len(ids)
