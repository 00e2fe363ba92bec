"""Taking back a run: what it alone brought goes, what it changed is let go, what others know stays.

It is done from the last verdict to the first, some verdicts in a transaction, so that others can write in
between and memory does not grow with the run: a duplicate goes before what it hangs on. After every
transaction all holds that holds in any database; whoever is killed repeats the command.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, case, delete, exists, func, or_, select, update

from dedup.errors import DedupError
from dedup.index.design import TableDesign
from dedup.index.keys import Keys
from dedup.ledger import document_rows
from dedup.ledger.forget import forget_by_ids
from dedup.ledger.key_table import KeyTable
from dedup.ledger.notes import remove_some_notes
from dedup.ledger.runs.listing import no_run
from dedup.ledger.runs.rows import take_back_rows
from dedup.progress import Progress
from dedup.rules.scope import Scope, Scopes
from dedup.rules.settings import Mode
from dedup.sql.database import Database, read_properties
from dedup.sql.schema import brakes, documents, hosts, runs, skipped, unexamined, verdicts

VERDICTS_AT_ONCE = 1_000
MEMBERS_AT_ONCE = 1_000

# Not the bare column: a database might look through all verdicts of the run for those on one document.
_run_of_verdict = verdicts.c.run_id + 0
_NAMING = (verdicts.c.document_id, verdicts.c.original_id, verdicts.c.matched_id)


@dataclass(frozen=True)
class _Tables:
    """The keys of documents, and the scopes of the database."""

    keys: KeyTable
    scopes: Scopes


@dataclass
class TakenBack:
    """What was taken back.

    Attributes:
        removed: documents of which nothing is left.
        let_go: documents that other runs have verdicts on, and whose content is not known any more: they
            are decided anew when they are seen again.
        kept: documents that stay, because another run has seen them as they are.
        freed: duplicates of other runs whose original went; they are decided anew, too.
        verdicts: verdicts that were deleted.
        rows: rows that were deleted of other tables, by their names.
    """

    removed: int = 0
    let_go: int = 0
    kept: int = 0
    freed: int = 0
    verdicts: int = 0
    rows: dict[str, int] = field(default_factory=dict)


def cancel_run(database: Database, name: str, *, force: bool = False, others: Sequence[Database] = ()) -> TakenBack:
    """Take back a run.

    Args:
        database: where the run is, opened to be written.
        name: its name.
        force: whether a run is taken back that has not ended, as far as the database knows.
        others: further databases with registered tables; see `dedup.ledger.runs.rows`.

    Returns:
        What this call took back; what a call before it did that was killed is not counted.

    Raises:
        DedupError: there is no such run, or it may be going on.
        DatabaseError: a database failed; the same call goes on.
    """
    run_id = _begin(database, name, force=force)
    with database.read() as connection:
        made_with = read_properties(connection)
    with_bands = made_with["mode"] != Mode.PAPER.value
    keys = KeyTable(Keys(TableDesign.parse(made_with["table design"]), with_bands=with_bands))
    tables = _Tables(keys, Scopes(Scope(made_with["scope"])))
    taken = TakenBack()

    def standing(key_digests: list[bytes]) -> dict[bytes, str]:
        with database.read() as connection:
            return _find_standing(connection, key_digests)

    while True:
        _take_back_documents(database, tables, run_id, taken)
        for each in (database, *others):
            for table, count in take_back_rows(each, name, standing).items():
                taken.rows[table] = taken.rows.get(table, 0) + count
        _take_back_notes(database, run_id)
        with database.write() as connection:
            # Whoever was still at work on it may have gone on writing.
            if not connection.scalar(select(exists().where(verdicts.c.run_id == run_id))):
                for counts in (hosts, brakes, unexamined, skipped):
                    connection.execute(delete(counts).where(counts.c.run_id == run_id))
                connection.execute(delete(runs).where(runs.c.id == run_id))
                return taken


def _begin(database: Database, name: str, *, force: bool) -> int:
    """Mark a run as one that is being taken back; return its id."""
    with database.write() as connection:
        run = connection.execute(select(runs).where(runs.c.name == name)).first()
        if run is None:
            names = connection.scalars(select(runs.c.name).order_by(runs.c.started, runs.c.id)).all()
            raise no_run(database.name, name, names)
        if run.outcome == document_rows.LOADED:
            raise DedupError(f"run {name!r} is what was loaded of an index: crawl into a new database to be without it")
        if run.finished is None and not force:
            raise DedupError(
                f"run {name!r} has not ended: stop the crawl first; if it was killed and nobody is at work on it, "
                "repeat with --force"
            )
        ended = {"outcome": document_rows.CANCELLING, "finished": run.finished or time.time()}
        connection.execute(update(runs).where(runs.c.id == run.id).values(ended))
        return int(run.id)


def _take_back_notes(database: Database, run_id: int) -> None:
    is_left = True
    while is_left:
        with database.write() as connection:
            is_left = remove_some_notes(connection, run_id) > 0


def _take_back_documents(database: Database, tables: _Tables, run_id: int, taken: TakenBack) -> None:
    """Take back all verdicts of a run and what they brought, from the last to the first."""
    ends = select(func.min(verdicts.c.id), func.max(verdicts.c.id)).where(verdicts.c.run_id == run_id)
    # Those of other runs are read, too: an order within a run would have to be made anew every time.
    before = (
        select(verdicts.c.id, verdicts.c.run_id, verdicts.c.document_id, verdicts.c.original_id, verdicts.c.matched_id)
        .order_by(verdicts.c.id.desc())
        .limit(VERDICTS_AT_ONCE)
    )
    with database.read() as connection:
        first, last = connection.execute(ends).one()
    if first is None:
        return
    total = last - first + 1
    with Progress("taking back", total) as progress:
        while last >= first:
            progress.show(total - (last - first + 1))
            with database.write() as connection:
                rows = connection.execute(before.where(verdicts.c.id <= last)).all()
                own = [row for row in rows if row.run_id == run_id]
                if own:
                    _take_back_some(connection, tables, own, run_id, taken)
            last = rows[-1].id - 1 if rows else -1


def _take_back_some(
    connection: Connection, tables: _Tables, rows: Sequence[Any], run_id: int, taken: TakenBack
) -> None:
    """Take back some verdicts of a run and what they brought."""
    decided = {row.document_id for row in rows}
    _let_go_of_own(connection, tables, decided, run_id, taken)
    connection.execute(delete(verdicts).where(verdicts.c.id.in_([row.id for row in rows])))
    taken.verdicts += len(rows)
    named = _named(rows)
    removed = _remove_empty(connection, named)
    _give_to_others(connection, named - removed, run_id)
    _count(connection, decided, removed, run_id, taken)


def _named(rows: Sequence[Any]) -> set[int]:
    """Return the documents that some verdicts name."""
    return {each for row in rows for each in (row.document_id, row.original_id, row.matched_id) if each is not None}


def _let_go_of_own(
    connection: Connection, tables: _Tables, decided: Collection[int], run_id: int, taken: TakenBack
) -> None:
    """Let go of the documents whose content no other run has seen, and of what hangs on them."""
    # Whoever saw it last without changing it has seen what it holds.
    own = select(documents.c.id).where(
        documents.c.id.in_(decided),
        documents.c.content_run_id == run_id,
        documents.c.last_run_id == run_id,
        documents.c.text_digest.is_not(None),
    )
    ids = set(connection.scalars(own))
    members = (
        select(documents.c.id, documents.c.content_run_id)
        .where(documents.c.leader_id.in_(ids))
        .order_by(documents.c.id)
        .limit(MEMBERS_AT_ONCE)
    )
    while ids and (found := connection.execute(members).all()):
        forget_by_ids(connection, tables.keys, tables.scopes, {row.id for row in found})
        taken.freed += sum(row.content_run_id != run_id for row in found)
    forget_by_ids(connection, tables.keys, tables.scopes, ids)


def _remove_empty(connection: Connection, ids: Collection[int]) -> set[int]:
    """Delete those documents of which nothing is known and nothing is said any more."""
    empty = select(documents.c.id).where(
        documents.c.id.in_(ids),
        documents.c.text_digest.is_(None),
        *(~exists().where(column == documents.c.id) for column in _NAMING),
    )
    removed = set(connection.scalars(empty))
    if removed:
        connection.execute(delete(documents).where(documents.c.id.in_(removed)))
    return removed


def _give_to_others(connection: Connection, ids: Collection[int], run_id: int) -> None:
    """Let documents that stay name other runs in the place of the one that goes."""
    own = documents.c.id.in_(ids)
    is_last, is_content = documents.c.last_run_id == run_id, documents.c.content_run_id == run_id
    for column, other, mine in (
        (documents.c.last_run_id, documents.c.content_run_id, is_last & ~is_content),
        (documents.c.content_run_id, documents.c.last_run_id, is_content & ~is_last),
    ):
        connection.execute(update(documents).where(own, mine).values({column: other}))
    is_first = (documents.c.first_run_id == run_id) & ~is_last
    connection.execute(update(documents).where(own, is_first).values(first_run_id=documents.c.last_run_id))
    # What is left was let go: other runs have verdicts on it, or dropped something because of it.
    newest = [
        select(func.max(_run_of_verdict)).where(column == documents.c.id, _run_of_verdict != run_id).scalar_subquery()
        for column in _NAMING
    ]
    # Where only earlier verdicts of this very run name it, it goes with these.
    other_run = func.coalesce(*newest, run_id)
    connection.execute(
        update(documents)
        .where(own, documents.c.text_digest.is_(None), is_last, is_content)
        .values(last_run_id=other_run, content_run_id=other_run)
    )


def _count(
    connection: Connection, decided: Collection[int], removed: Collection[int], run_id: int, taken: TakenBack
) -> None:
    """Count the documents on which the run has no verdict any more."""
    taken.removed += len(removed)
    is_done = ~exists().where(verdicts.c.document_id == documents.c.id, _run_of_verdict == run_id)
    is_empty = documents.c.text_digest.is_(None)
    # What only earlier verdicts of this very run name goes with these.
    is_let_go = is_empty & or_(
        *(exists().where(column == documents.c.id, _run_of_verdict != run_id) for column in _NAMING)
    )
    counts = select(func.sum(case((is_let_go, 1), else_=0)), func.sum(case((is_empty, 0), else_=1))).where(
        documents.c.id.in_(decided), is_done
    )
    let_go_of, kept = connection.execute(counts).one()
    taken.let_go += int(let_go_of or 0)
    taken.kept += int(kept or 0)


def _find_standing(connection: Connection, key_digests: list[bytes]) -> dict[bytes, str]:
    """Return which documents stand as originals, with the name of the run that saw each last."""
    found = (
        select(documents.c.key_digest, documents.c.given_digest, runs.c.name)
        .join(runs, runs.c.id == documents.c.last_run_id)
        .where(
            or_(documents.c.key_digest.in_(key_digests), documents.c.given_digest.in_(key_digests)),
            documents.c.text_digest.is_not(None),
            documents.c.leader_id.is_(None),
            or_(runs.c.outcome.is_(None), runs.c.outcome != document_rows.CANCELLING),
        )
    )
    # Another class, spider or run may have a document of the same key.
    return {bytes(row.given_digest or row.key_digest): row.name for row in connection.execute(found)}
