"""The rows of reports, as SQL finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Connection, FromClause, and_, exists, func, or_, select, type_coerce

from dedup.report.contents import Row
from dedup.rules.documents import DUPLICATES, Verdict
from dedup.rules.table import Rule
from dedup.store.schema import documents, runs, verdicts

ROWS_AT_ONCE = 1000
"""So many rows of a statement are read from a server at once."""

decided = verdicts.join(documents, documents.c.id == verdicts.c.document_id).join(runs, runs.c.id == verdicts.c.run_id)
originals = documents.alias("originals")
_matches = documents.alias("matches")
_seconds = documents.alias("seconds")
# A document that is seen again is not compared again: what an earlier run found besides the same original still holds.
found = (
    select(verdicts.c.document_id, verdicts.c.original_id, func.max(verdicts.c.second_id).label("second_id"))
    .where(verdicts.c.second_id.is_not(None))
    .group_by(verdicts.c.document_id, verdicts.c.original_id)
    .subquery()
)
is_found = and_(found.c.document_id == verdicts.c.document_id, found.c.original_id == verdicts.c.original_id)
_contents = runs.alias("contents")
is_duplicate = verdicts.c.verdict.in_(DUPLICATES)
# Some runs only mark duplicates, and pass them on.
is_dropped = and_(is_duplicate, runs.c.mark_only == 0)
is_similar = and_(~is_duplicate, verdicts.c.rule.is_distinct_from(Rule.MOVED.short))


def has_changed(document: FromClause) -> ColumnElement[bool]:
    """Return the condition that a later run than that of the row of `runs` stored what a document holds."""
    return exists().where(_contents.c.id == document.c.content_run_id, _contents.c.started > runs.c.started)


def read_rows(connection: Connection, where: ColumnElement[bool]) -> Iterator[Row]:
    """Yield the documents of which verdicts name an original, those with the same one together."""
    statement = (
        select(
            verdicts.c.verdict,
            verdicts.c.distance,
            verdicts.c.similarity,
            documents.c.key,
            originals.c.key,
            _matches.c.key,
            runs.c.name,
            verdicts.c.decided,
            type_coerce(~is_dropped, Boolean),
            verdicts.c.rule,
            verdicts.c.lost,
            verdicts.c.places,
            documents.c.title,
            originals.c.title,
            _seconds.c.key,
            or_(has_changed(documents), has_changed(originals)),
        )
        .select_from(decided)
        .join(originals, originals.c.id == verdicts.c.original_id)
        .join(_matches, _matches.c.id == verdicts.c.matched_id)
        .outerjoin(found, is_found)
        .outerjoin(_seconds, _seconds.c.id == found.c.second_id)
        .where(where)
        .order_by(verdicts.c.original_id, verdicts.c.id)
    )
    for verdict, *rest in stream(connection, statement):
        yield Row(Verdict(verdict), *rest)


def stream(connection: Connection, statement: Any) -> Iterator[Any]:
    """Yield the rows of a statement, of which not all are held in memory."""
    # Whoever reads only some of them leaves no cursor of the server open.
    with connection.execute(statement, execution_options={"yield_per": ROWS_AT_ONCE}) as rows:
        yield from rows
