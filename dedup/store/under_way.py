"""Originals under way: passed on by a process, and not known to be stored; what a process leaves behind is given up."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, delete, func, or_, select, update

from dedup.store.database import insert_into
from dedup.store.processes import is_gone
from dedup.store.schema import documents, under_way

# In seconds. Whether a process of another machine has ended nobody knows, and the number of one that has is given out
# once more. What is given up though it is under way is only decided anew: nothing is lost.
_LONGEST_ELSEWHERE, _LONGEST = 3_600, 86_400

_IDS = under_way.c.document_id.in_(bindparam("ids", expanding=True))
_UNSTORED = select(documents.c.id).where(
    documents.c.id.in_(bindparam("ids", expanding=True)),
    or_(documents.c.text_id.is_(None), documents.c.id.in_(select(under_way.c.document_id))),
)
_REMOVE = delete(under_way).where(_IDS)
_DIGESTS: BindParameter[Any] = bindparam("digests", expanding=True)
_OF_KEYS = select(documents.c.id).where(documents.c.key_digest.in_(_DIGESTS))
_REMOVE_OF_KEYS = delete(under_way).where(under_way.c.document_id.in_(_OF_KEYS))
_RELEASED = documents.c.released == 1
_END_RELEASE = update(documents).where(_RELEASED).values(released=0)
_OTHERS = (
    select(under_way.c.process, func.max(under_way.c.since).label("since"))
    .where(under_way.c.process != bindparam("me"))
    .group_by(under_way.c.process)
)
_LEFT = select(under_way.c.document_id).where(under_way.c.process == bindparam("process"))


def note_under_way(connection: Connection, ids: Collection[int], process: str) -> None:
    """Note originals that a process is about to pass on."""
    if ids:
        statement = insert_into(under_way, connection.dialect.name)
        latest = {name: statement.excluded[name] for name in ("process", "since")}
        statement = statement.on_conflict_do_update(index_elements=[under_way.c.document_id], set_=latest)
        now = time.time()
        connection.execute(statement, [{"document_id": each, "process": process, "since": now} for each in ids])


def find_unstored(connection: Connection, ids: Collection[int]) -> set[int]:
    """Return those of some documents that are under way, of whatever process, or undecided."""
    return set(connection.scalars(_UNSTORED, {"ids": list(ids)})) if ids else set()


def end_under_way(connection: Connection, ids: Collection[int]) -> None:
    """Note that documents are under way no more: they are stored, or refused."""
    if ids:
        connection.execute(_REMOVE, {"ids": list(ids)})


def end_release(connection: Connection, ids: Collection[int]) -> None:
    """Note that documents which a person has released are stored: from now on they are like all others."""
    if ids:
        connection.execute(_END_RELEASE.where(documents.c.id.in_(ids)))


def find_released(connection: Connection, ids: Collection[int]) -> set[int]:
    """Return those of some documents that a person has released, and that were not stored since."""
    return set(connection.scalars(select(documents.c.id).where(_RELEASED, documents.c.id.in_(ids)))) if ids else set()


def note_stored(connection: Connection, key_digests: Iterable[bytes]) -> None:
    """Note that the documents of some keys are stored, in the very transaction that stores them."""
    digests = {"digests": list(key_digests)}
    connection.execute(_REMOVE_OF_KEYS, digests)
    connection.execute(_END_RELEASE.where(documents.c.key_digest.in_(_DIGESTS)), digests)


def find_left_behind(connection: Connection, me: str) -> list[int]:
    """Return the documents that processes had under way which have ended; me: the process that asks."""
    found: list[int] = []
    for process, since in connection.execute(_OTHERS, {"me": me}).all():
        has_ended, seconds = is_gone(process, me), time.time() - since
        if has_ended or seconds > (_LONGEST_ELSEWHERE if has_ended is None else _LONGEST):
            found += connection.scalars(_LEFT, {"process": process})
    return found
