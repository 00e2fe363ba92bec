"""Originals that were passed on and that nobody stored: what a run has dropped because of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, select

from dedup.rules.decision import DUPLICATES
from dedup.sql.schema import documents, verdicts

_ORIGINALS = documents.alias("originals")


class Orphan(NamedTuple):
    """A document that was dropped because of an original that nobody has stored; the keys of both."""

    document_id: int
    key: str
    original: str


def find_orphans(connection: Connection, run_id: int, originals: Collection[int]) -> list[Orphan]:
    """Return what a run has dropped as copies of some documents, and is undecided now that these are forgotten."""
    statement = (
        select(documents.c.id, documents.c.key, _ORIGINALS.c.key)
        .join(verdicts, verdicts.c.document_id == documents.c.id)
        .join(_ORIGINALS, _ORIGINALS.c.id == verdicts.c.original_id)
        .where(_is_dropped(run_id), verdicts.c.original_id.in_(originals), documents.c.text_digest.is_(None))
        .order_by(verdicts.c.id)
    )
    return [Orphan(*row) for row in connection.execute(statement)]


def withdraw(connection: Connection, run_id: int, document_ids: Collection[int]) -> None:
    """Delete the verdicts by which a run has dropped documents, of those that are undecided since."""
    is_undecided = documents.c.id.in_(document_ids) & documents.c.text_digest.is_(None)
    undecided = select(documents.c.id).where(is_undecided)
    connection.execute(delete(verdicts).where(_is_dropped(run_id), verdicts.c.document_id.in_(undecided)))


def _is_dropped(run_id: int) -> ColumnElement[bool]:
    return and_(verdicts.c.run_id == run_id, verdicts.c.verdict.in_(DUPLICATES), verdicts.c.kept.is_(None))
