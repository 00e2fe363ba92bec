"""Runs are removed, since they were wrong or are old: what they brought is forgotten, what others have seen stays."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    TableClause,
    and_,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    or_,
    select,
    table,
    union_all,
    update,
)

from dedup.console import Progress
from dedup.errors import DedupError
from dedup.store.database import Database, RowsOfRuns, read_rows_of_runs
from dedup.store.document_rows import CANCELLING, LOADED
from dedup.store.key_table import KeyTable, read_key_table
from dedup.store.notes import remove_some_notes
from dedup.store.runs import no_run
from dedup.store.schema import documents, runs, skipped, unexamined, verdicts
from dedup.store.text_rows import leave_texts
from dedup.store.unit_of_work import remove_documents
from dedup.store.writing import remove_content_of_ids

ROWS_AT_ONCE = 1_000
"""How many verdicts, members of clusters or rows of other tables go in one transaction."""

_NAMING = (verdicts.c.document_id, verdicts.c.original_id, verdicts.c.matched_id, verdicts.c.second_id)
# The sum keeps a database from looking through all verdicts of a run for those that name a document.
_run_of_verdict = verdicts.c.run_id + 0
_RUN_COLUMNS = ("first_run_id", "last_run_id", "content_run_id")


@dataclass
class Cancelled:
    """What was removed with runs.

    Attributes:
        runs: the names of those that are gone.
        removed: documents of which nothing is left.
        undecided: documents of other runs whose content it had changed, or that were copies of what is gone; they are
            decided anew when they are seen again.
        kept: documents that stay, because another run has seen them as they are, or has found copies of them.
        verdicts: verdicts that were deleted.
        rows: rows that were deleted of other tables, by their names.
    """

    runs: list[str] = field(default_factory=list)
    removed: int = 0
    undecided: int = 0
    kept: int = 0
    verdicts: int = 0
    rows: dict[str, int] = field(default_factory=dict)


class _Others(NamedTuple):
    """The other runs whose verdicts name a document.

    Attributes:
        first: the earliest of them.
        last: the latest.
        later: the earliest of those that began after the run that is cancelled, and met what this one had brought.
    """

    first: int
    last: int
    later: int | None


def cancel_run(database: Database, name: str, *, force: bool = False) -> Cancelled:
    """Cancel a run: delete what it alone has stored, and undo what it has changed.

    Args:
        database: where the run is, opened to be written.
        name: its name.
        force: whether a run is cancelled that has not ended, as far as the database knows.

    Returns:
        What this call has changed; what an earlier one did that was killed is not counted.

    Raises:
        DedupError: there is no such run, or it may be going on.
        DatabaseError: the database failed; the same call goes on.
    """
    run_id = _begin(database, name, force=force)
    cancelled = Cancelled()
    _remove(database, {run_id: name}, cancelled, with_rows=True)
    return cancelled


def prune_runs(database: Database, seconds: int) -> Cancelled:
    """Remove the runs that ended so long ago, and what no later run has met of what they brought to the index.

    Rows of others stay: pages that a crawl has stored.

    Args:
        database: where the runs are, opened to be written.
        seconds: how long ago.

    Returns:
        What this call has removed.

    Raises:
        DatabaseError: the database failed; the same call goes on.
    """
    is_other = or_(runs.c.outcome.is_(None), runs.c.outcome != LOADED)
    old = select(runs.c.id, runs.c.name).where(runs.c.finished < time.time() - seconds, is_other)
    with database.read() as connection:
        names = {row.id: row.name for row in connection.execute(old.order_by(runs.c.id))}
    cancelled = Cancelled()
    for name in names.values():
        _begin(database, name, force=False)
    _remove(database, names, cancelled, with_rows=False)
    return cancelled


def _remove(database: Database, names: Mapping[int, str], cancelled: Cancelled, *, with_rows: bool) -> None:
    """Remove runs, given by their ids with their names; with_rows: and the rows of others that belong to them."""
    with database.read() as connection:
        keys = read_key_table(connection)
        total = connection.scalar(select(func.count()).where(verdicts.c.run_id.in_(names))) or 0
        tables = read_rows_of_runs(connection) if with_rows else []
    with Progress("removing", total) as progress:
        for run_id, name in names.items():
            is_gone = False
            # A process may still be writing to the run.
            while not is_gone:
                while _undo_some(database, keys, run_id, names, cancelled):
                    progress.show(cancelled.verdicts)
                for each in tables:
                    deleted = _delete_rows(database, each, name)
                    cancelled.rows[each.table] = cancelled.rows.get(each.table, 0) + deleted
                is_gone = _remove_run(database, run_id)
            cancelled.runs.append(name)


def _begin(database: Database, name: str, *, force: bool) -> int:
    """Mark a run as being cancelled; return its id."""
    with database.write() as connection:
        run = connection.execute(select(runs).where(runs.c.name == name)).first()
        if run is None:
            names = connection.scalars(select(runs.c.name).order_by(runs.c.started, runs.c.id)).all()
            raise no_run(database.name, name, names)
        if run.outcome == LOADED:
            raise DedupError(f"run {name!r} is what was loaded of an index: crawl into a new database to be without it")
        if run.finished is None and not force:
            raise DedupError(
                f"run {name!r} has not ended: stop the crawl first; if it was killed and nobody is at work on it, "
                "repeat with --force"
            )
        ended = {"outcome": CANCELLING, "finished": run.finished or time.time()}
        connection.execute(update(runs).where(runs.c.id == run.id).values(ended))
        return int(run.id)


def _undo_some(database: Database, keys: KeyTable, run_id: int, run_ids: Collection[int], cancelled: Cancelled) -> bool:
    """Delete all verdicts of a run on some documents, and what they have stored; return whether there were any.

    What another one of the runs that go has seen is counted with that.
    """
    with database.write() as connection:
        some = select(verdicts.c.document_id).where(verdicts.c.run_id == run_id).limit(ROWS_AT_ONCE)
        decided = set(connection.scalars(some))
        own = and_(verdicts.c.document_id.in_(decided), _run_of_verdict == run_id)
        named = {each for row in connection.execute(select(*_NAMING).where(own)) for each in row} - {None}
        cancelled.verdicts += connection.execute(delete(verdicts).where(own)).rowcount
        others = _others(connection, named, run_id)
        freed = _remove_content(connection, keys, _alone(connection, named, others, run_id), run_id)
        removed = _remove_unnamed(connection, keys, named)
        _give_to_others(connection, named - removed, others, run_id)
        with_content = documents.c.id.in_(decided - removed), documents.c.text_id.is_not(None)
        kept = set(connection.scalars(select(documents.c.id).where(*with_content)))
        empty = verdicts.c.document_id.in_(decided - removed - kept), _run_of_verdict != run_id
        freed |= set(connection.scalars(select(verdicts.c.document_id).where(*empty)))
    cancelled.removed += len(removed)
    seen_again = {each for each, other in others.items() if other.last in run_ids}
    cancelled.kept += len(kept - seen_again)
    cancelled.undecided += len(freed - seen_again)
    return bool(decided)


def _others(connection: Connection, ids: Collection[int], run_id: int) -> dict[int, _Others]:
    """Return the other runs whose verdicts name some documents, by their ids."""
    naming = union_all(
        *(
            select(named.label("id"), verdicts.c.run_id).where(named.in_(ids), _run_of_verdict != run_id)
            for named in _NAMING
        )
    ).subquery()
    run = naming.c.run_id
    later = func.min(case((run > run_id, run)))
    found = connection.execute(select(naming.c.id, func.min(run), func.max(run), later).group_by(naming.c.id))
    return {number: _Others(first, last, met) for number, first, last, met in found}


def _alone(connection: Connection, ids: Collection[int], others: dict[int, _Others], run_id: int) -> set[int]:
    """Return those of some documents whose content only this run has seen."""
    own = select(documents.c.id).where(
        documents.c.id.in_(ids), documents.c.content_run_id == run_id, documents.c.text_id.is_not(None)
    )
    return {each for each in connection.scalars(own) if each not in others or others[each].later is None}


def _remove_content(connection: Connection, keys: KeyTable, ids: set[int], run_id: int) -> set[int]:
    """Forget documents, and those that they lead; return which of these have their content of other runs."""
    members = select(documents.c.id, documents.c.content_run_id).where(documents.c.leader_id.in_(ids))
    freed = set()
    while ids and (found := connection.execute(members.order_by(documents.c.id).limit(ROWS_AT_ONCE)).all()):
        remove_content_of_ids(connection, keys, {row.id for row in found})
        freed |= {row.id for row in found if row.content_run_id != run_id}
    remove_content_of_ids(connection, keys, ids)
    return freed


def _remove_unnamed(connection: Connection, keys: KeyTable, ids: Collection[int]) -> set[int]:
    """Delete those documents that have no content and that no verdict names; return which."""
    unnamed = select(documents.c.id, documents.c.former_text_id).where(
        documents.c.id.in_(ids),
        documents.c.text_id.is_(None),
        *(~exists().where(named == documents.c.id) for named in _NAMING),
    )
    former = {row.id: row.former_text_id for row in connection.execute(unnamed)}
    removed = set(former)
    remove_documents(connection, removed)
    leave_texts(connection, keys, set(former.values()))
    return removed


def _give_to_others(connection: Connection, ids: Collection[int], others: dict[int, _Others], run_id: int) -> None:
    """Replace the run that is cancelled by other ones in the rows of documents that stay."""
    columns = [documents.c[name] for name in _RUN_COLUMNS]
    of_run = or_(*(each == run_id for each in columns))
    rows = connection.execute(select(documents.c.id, *columns).where(documents.c.id.in_(ids), of_run)).all()
    given = [values for row in rows if (values := _given(row, others.get(row.id), run_id)) is not None]
    if given:
        new = {name: bindparam(f"new_{name}", type_=documents.c[name].type) for name in _RUN_COLUMNS}
        connection.execute(update(documents).where(documents.c.id == bindparam("own_id")).values(**new), given)


def _given(row: Row[Any], others: _Others | None, run_id: int) -> dict[str, int] | None:
    """Return the runs that take the place of the one that is cancelled in the row of a document; None: there is none.

    What only other verdicts of this very run name goes with these. Loaded documents have runs, and no verdicts.
    """
    runs_left = {row.first_run_id, row.last_run_id, row.content_run_id} - {run_id}
    if others is not None:
        runs_left |= {others.first, others.last}
    if not runs_left:
        return None
    content = max(runs_left) if others is None or others.later is None else others.later
    taking = {"first_run_id": min(runs_left), "last_run_id": max(runs_left), "content_run_id": content}
    new = {f"new_{name}": run if getattr(row, name) == run_id else getattr(row, name) for name, run in taking.items()}
    return {"own_id": row.id, **new}


def _delete_rows(database: Database, rows: RowsOfRuns, run: str) -> int:
    """Delete the rows of a run in a table of others, some at a time; return how many.

    The row of a document that is still an original stays, and is given to the run that saw the document last.
    """
    names = ["id", rows.run_column, *([rows.key_column] if rows.stays else [])]
    own_table = table(rows.table, *map(column, names))
    is_own = _is_of_run(rows, own_table, run)
    some = select(own_table.c.id, *([own_table.c[rows.key_column]] if rows.stays else [])).where(is_own)
    deleted = 0
    while True:
        with database.write() as connection:
            found = connection.execute(some.limit(ROWS_AT_ONCE)).all()
            if not found:
                return deleted
            keys = [bytes(row[1]) for row in found] if rows.stays else []
            seen_by = _find_originals(connection, keys) if keys else {}
            stay = {row[0]: seen_by[key] for row, key in zip(found, keys, strict=False) if key in seen_by}
            go = [row[0] for row in found if row[0] not in stay]
            deleted += connection.execute(delete(own_table).where(own_table.c.id.in_(go))).rowcount
            if stay:
                given = [{"own_id": number, "run": name} for number, name in stay.items()]
                change = update(own_table).where(own_table.c.id == bindparam("own_id"))
                connection.execute(change.values({rows.run_column: bindparam("run")}), given)


def _is_of_run(rows: RowsOfRuns, own_table: TableClause, run: str) -> ColumnElement[bool]:
    """Return the condition that a row belongs to a run."""
    own: ColumnElement[Any] = own_table.c[rows.run_column]
    if not rows.runs_table:
        return own == run
    numbered = table(rows.runs_table, column("id"), column("name"))
    return own == select(numbered.c.id).where(numbered.c.name == run).scalar_subquery()


def _find_originals(connection: Connection, key_digests: list[bytes]) -> dict[bytes, str]:
    """Return those documents that are originals, by the digests of their keys, with the run that saw each last."""
    found = (
        select(documents.c.key_digest, runs.c.name)
        .join(runs, runs.c.id == documents.c.last_run_id)
        .where(
            documents.c.key_digest.in_(key_digests),
            documents.c.text_id.is_not(None),
            documents.c.leader_id.is_(None),
            or_(runs.c.outcome.is_(None), runs.c.outcome != CANCELLING),
        )
    )
    # Another class, spider or run may have a document of the same key.
    return {bytes(row.key_digest): row.name for row in connection.execute(found)}


def _remove_run(database: Database, run_id: int) -> bool:
    """Delete what is left of a run whose verdicts are gone; return whether nobody has written more of it."""
    is_left = True
    while is_left:
        with database.write() as connection:
            is_left = remove_some_notes(connection, run_id) > 0
    with database.write() as connection:
        if connection.scalar(select(exists().where(verdicts.c.run_id == run_id))):
            return False
        for counts in (unexamined, skipped):
            connection.execute(delete(counts).where(counts.c.run_id == run_id))
        connection.execute(delete(runs).where(runs.c.id == run_id))
        return True
