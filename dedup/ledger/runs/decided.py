"""What a run has decided, in the order of its decisions or on documents that are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, bindparam, func, or_, select

from dedup.rules.decision import Verdict
from dedup.sql.database import Database
from dedup.sql.schema import documents, runs, verdicts


class Decided(NamedTuple):
    """The last verdict of a run on a document, whether it passed the document on, and when, in seconds since 1970."""

    id: int
    verdict: Verdict
    is_kept: bool
    time: float


_RUN_ID = select(runs.c.id).where(runs.c.name == bindparam("run")).scalar_subquery()
# The sum keeps a database from looking through all verdicts of the run for each part of them.
_OF_RUN = verdicts.c.run_id + 0 == _RUN_ID
# Another class, spider or run may have a document of the same key.
_GIVEN = func.coalesce(documents.c.given_digest, documents.c.key_digest)
_DIGESTS: BindParameter[Any] = bindparam("digests", expanding=True)
_LAST = (
    select(_GIVEN.label("key_digest"), func.max(verdicts.c.id).label("id"))
    .join(verdicts, verdicts.c.document_id == documents.c.id)
    .where(or_(documents.c.key_digest.in_(_DIGESTS), documents.c.given_digest.in_(_DIGESTS)), _OF_RUN)
    .group_by(_GIVEN)
    .subquery()
)
_DECIDED = select(_LAST.c.key_digest, verdicts.c.id, verdicts.c.verdict, verdicts.c.kept, verdicts.c.decided).join(
    verdicts, verdicts.c.id == _LAST.c.id
)
_IN_ORDER = (
    select(verdicts.c.id, _GIVEN)
    .join(documents, documents.c.id == verdicts.c.document_id)
    .where(_OF_RUN, verdicts.c.id > bindparam("after"))
    .order_by(verdicts.c.id)
    .limit(bindparam("most"))
)


def find_decided(database: Database, run: str, key_digests: Sequence[bytes]) -> dict[bytes, Decided]:
    """Return what a run has decided on those of the documents that it has seen, by the digests of their keys."""
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return {}
        rows = connection.execute(_DECIDED, {"run": run, "digests": list(key_digests)}).all()
    found = {}
    for digest, number, name, kept, time in rows:
        verdict = Verdict(name)
        found[bytes(digest)] = Decided(number, verdict, not verdict.is_duplicate or kept is not None, time)
    return found


def read_decided(database: Database, run: str, after: int, most: int) -> tuple[int, dict[bytes, Decided]]:
    """Return the next decisions of a run that no later one of it has replaced, in their order.

    Args:
        database: where the verdicts are.
        run: the name of the run.
        after: what the last call has returned; 0 for the first ones.
        most: how many decisions to look at.

    Returns:
        Where to go on, 0 where there are no more, and the decisions by the digests of the keys, perhaps none.

    Raises:
        DatabaseError: they cannot be read.
    """
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return 0, {}
        rows = connection.execute(_IN_ORDER, {"run": run, "after": after, "most": most}).all()
    last = {number: bytes(digest) for number, digest in rows}
    decided = find_decided(database, run, list(last.values())) if last else {}
    standing = {digest: decided[digest] for number, digest in last.items() if decided[digest].id == number}
    return max(last, default=0), standing
