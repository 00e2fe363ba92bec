"""What a run has decided on documents that are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, bindparam, func, or_, select

from dedup.rules.decision import Verdict
from dedup.sql.database import Database
from dedup.sql.schema import documents, runs, verdicts


class Decided(NamedTuple):
    """The last verdict of a run on a document, whether it passed the document on, and when, in seconds since 1970."""

    verdict: Verdict
    is_kept: bool
    time: float


_OF_RUN = verdicts.c.run_id == select(runs.c.id).where(runs.c.name == bindparam("run")).scalar_subquery()
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
_DECIDED = select(_LAST.c.key_digest, verdicts.c.verdict, verdicts.c.kept, verdicts.c.decided).join(
    verdicts, verdicts.c.id == _LAST.c.id
)


def find_decided(database: Database, run: str, key_digests: Sequence[bytes]) -> dict[bytes, Decided]:
    """Return what a run has decided on those of the documents that it has seen, by the digests of their keys."""
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return {}
        rows = connection.execute(_DECIDED, {"run": run, "digests": list(key_digests)}).all()
    found = {}
    for digest, name, kept, time in rows:
        verdict = Verdict(name)
        found[bytes(digest)] = Decided(verdict, not verdict.is_duplicate or kept is not None, time)
    return found
