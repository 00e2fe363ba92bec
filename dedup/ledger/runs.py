"""The runs of a database: which there are, what one has decided, and how one is cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    TableClause,
    Text,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    table,
    update,
)
from sqlalchemy import Table as SchemaTable

from dedup.console import Progress
from dedup.errors import DedupError
from dedup.index import Keys, TableDesign
from dedup.ledger import document_rows
from dedup.ledger.document_rows import CANCELLING
from dedup.ledger.key_table import Index, KeyTable
from dedup.ledger.notes import remove_some_notes
from dedup.ledger.store import forget_by_ids
from dedup.rules.documents import Verdict
from dedup.rules.scope import Scope, Scopes
from dedup.rules.settings import Mode
from dedup.sql.database import Database, read_properties
from dedup.sql.schema import GIVEN_DIGEST, documents, runs, skipped, unexamined, verdicts

_RUNS_NAMED = 5


_RUN_ID = select(runs.c.id).where(runs.c.name == bindparam("run")).scalar_subquery()
# The sum keeps a database from looking through all verdicts of the run, for each part of them or those on one document.
_run_of_verdict = verdicts.c.run_id + 0
_OF_RUN = _run_of_verdict == _RUN_ID
_DIGESTS: BindParameter[Any] = bindparam("digests", expanding=True)
_LAST = (
    select(GIVEN_DIGEST.label("key_digest"), func.max(verdicts.c.id).label("id"))
    .join(verdicts, verdicts.c.document_id == documents.c.id)
    .where(or_(documents.c.key_digest.in_(_DIGESTS), documents.c.given_digest.in_(_DIGESTS)), _OF_RUN)
    .group_by(GIVEN_DIGEST)
    .subquery()
)
_DECIDED = select(_LAST.c.key_digest, verdicts.c.id, verdicts.c.verdict, verdicts.c.kept, verdicts.c.decided).join(
    verdicts, verdicts.c.id == _LAST.c.id
)
_IN_ORDER = (
    select(verdicts.c.id, GIVEN_DIGEST)
    .join(documents, documents.c.id == verdicts.c.document_id)
    .where(_OF_RUN, verdicts.c.id > bindparam("after"))
    .order_by(verdicts.c.id)
    .limit(bindparam("most"))
)

metadata = MetaData()

registered = SchemaTable(
    "dedup_run_rows",
    metadata,
    Column("table_name", Text, primary_key=True),
    Column("run_column", Text, nullable=False),
    Column("runs_table", Text),
    Column("key_column", Text),
    comment="tables of others whose rows belong to runs, and go when their run is cancelled",
)

FindOriginals = Callable[[list[bytes]], dict[bytes, str]]
"""Returns those documents that are originals, by the digests of their keys, with the run that saw each last."""

VERDICTS_AT_ONCE = 1_000
MEMBERS_AT_ONCE = 1_000
_ROWS_AT_ONCE = 1_000

_NAMING = (verdicts.c.document_id, verdicts.c.original_id, verdicts.c.matched_id, verdicts.c.second_id)


@dataclass(frozen=True)
class Run:
    """A run in the database.

    Attributes:
        name: its name.
        started: when, in seconds since 1970.
        finished: when it ended; None: it is going on, or was killed.
        outcome: how it ended, such as `finished` or `shutdown`; None where `finished` is.
        documents: how many documents got each verdict, all of them.
    """

    name: str
    started: float
    finished: float | None
    outcome: str | None
    documents: dict[Verdict, int]

    @property
    def state(self) -> str:
        """How it ended, in a word or two."""
        if self.outcome == CANCELLING:
            return "being cancelled"
        return "unfinished" if self.finished is None else self.outcome or "finished"


def no_run(database: str, name: str, names: Sequence[str]) -> DedupError:
    """Return what is said where a run is not there.

    Args:
        database: the name of the database.
        name: that of the run; empty: any would do.
        names: those of the runs that are there, in the order in which they started.
    """
    if not (name and names):
        return DedupError(f"database {database} holds no runs: run a crawl first, or name another")
    last = ", ".join(map(repr, reversed(names[-_RUNS_NAMED:])))
    return DedupError(f"database {database} holds no run {name!r}: the last ones are {last}")


def name_by_time() -> str:
    """Return the name of a run that starts now: the time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_runs(database: Database) -> list[Run]:
    """Return all runs, the earliest first."""
    counted = select(verdicts.c.run_id, verdicts.c.verdict, func.count()).group_by(
        verdicts.c.run_id, verdicts.c.verdict
    )
    with database.read() as connection:
        counts = {(run_id, Verdict(verdict)): count for run_id, verdict, count in connection.execute(counted)}
        found = connection.execute(select(runs).order_by(runs.c.started, runs.c.id)).all()
        return [
            Run(name, started, finished, outcome, {verdict: counts.get((run_id, verdict), 0) for verdict in Verdict})
            for run_id, name, started, finished, outcome in found
        ]


class Decided(NamedTuple):
    """The last verdict of a run on a document, whether it passed the document on, and when, in seconds since 1970."""

    id: int
    verdict: Verdict
    is_kept: bool
    time: float


def find_decided(database: Database, run: str, key_digests: Sequence[bytes]) -> dict[bytes, Decided]:
    """Return what a run has decided on those of the documents that it has seen, by the digests of their keys."""
    with database.read() as connection:
        if not connection.dialect.has_table(connection, verdicts.name):
            return {}
        rows = connection.execute(_DECIDED, {"run": run, "digests": list(key_digests)}).all()
    found = {}
    for digest, number, name, kept, decided in rows:
        verdict = Verdict(name)
        found[bytes(digest)] = Decided(number, verdict, not verdict.is_duplicate or kept is not None, decided)
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
    latest = {digest: decided[digest] for number, digest in last.items() if decided[digest].id == number}
    return max(last, default=0), latest


@dataclass(frozen=True)
class RunScopedTable:
    """A table whose rows belong to runs.

    Attributes:
        table_name: the table.
        run_column: the column that says which run: its name, or where `runs_table` is given the id of its
            row there.
        runs_table: a table with the columns `id` and `name`, where runs have numbers of the table's own.
        key_column: a column with `dedup.ledger.document_rows.key_digest` of the document that the row is about. Where
            it is given, the row of a document that is still an original stays, and is given to the run
            that saw the document last.
    """

    table_name: str
    run_column: str
    runs_table: str | None = None
    key_column: str | None = None

    @cached_property
    def table(self) -> TableClause:
        """The table, with the columns that matter here."""
        names = {"id", self.run_column} | ({self.key_column} if self.key_column else set())
        return table(self.table_name, *map(column, sorted(names)))

    def of_run(self, name: str) -> ColumnElement[bool]:
        """Return the condition that a row belongs to a run."""
        own: ColumnElement[Any] = self.table.c[self.run_column]
        if self.runs_table is None:
            return own == name
        others = table(self.runs_table, column("id"), column("name"))
        return own == select(others.c.id).where(others.c.name == name).scalar_subquery()


def register_rows(database: Database, tables: Iterable[RunScopedTable]) -> None:
    """Let the rows of some tables be deleted when their run is cancelled."""
    with database.write() as connection:
        metadata.create_all(connection)
        stored = set(connection.scalars(select(registered.c.table_name)))
        new = [asdict(each) for each in tables if each.table_name not in stored]
        if new:
            connection.execute(insert(registered), new)


def _roll_back_tables(database: Database, run: str, find_originals: FindOriginals) -> dict[str, int]:
    """Delete the rows of a run in all tables that are registered, some at a time; return how many, by table.

    `find_originals` is called for tables with a `key_column`.
    """
    with database.read() as connection:
        has_table = connection.dialect.has_table
        found = (
            connection.execute(select(registered)).mappings().all() if has_table(connection, registered.name) else []
        )
        tables = [RunScopedTable(**row) for row in found if has_table(connection, row["table_name"])]
    deleted = {}
    # What has numbers of its own for runs loses its rows first, and then those numbers.
    for each in sorted(tables, key=lambda rows: (rows.runs_table is None, rows.table_name)):
        deleted[each.table_name] = _roll_back_table(database, each, run, find_originals)
    return deleted


def _roll_back_table(database: Database, rows: RunScopedTable, run: str, find_originals: FindOriginals) -> int:
    names = [rows.table.c[name] for name in ("id", rows.key_column) if name]
    some = select(*names).where(rows.of_run(run)).limit(_ROWS_AT_ONCE)
    deleted = 0
    while True:
        with database.read() as connection:
            found = connection.execute(some).all()
        if not found:
            return deleted
        keys = [bytes(row[1]) for row in found] if rows.key_column else []
        originals = find_originals(keys) if keys else {}
        stay = {row[0]: originals[key] for row, key in zip(found, keys, strict=False) if key in originals}
        go = [row[0] for row in found if row[0] not in stay]
        with database.write() as connection:
            # Checked once more: another run may have saved a row again in the meantime.
            row_id, is_own = rows.table.c.id, rows.of_run(run)
            deleted += connection.execute(delete(rows.table).where(row_id.in_(go), is_own)).rowcount
            for seen_by in set(stay.values()):
                ids = [each for each, run_name in stay.items() if run_name == seen_by]
                change = update(rows.table).where(row_id.in_(ids), is_own)
                connection.execute(change.values({rows.run_column: seen_by}))


@dataclass
class Rollback:
    """The outcome of cancelling a run.

    Attributes:
        removed: documents of which nothing is left.
        let_go: documents that other runs have verdicts on, and that are undecided now: their content is forgotten.
        kept: documents that stay, because another run has seen them as they are.
        freed: duplicates of other runs whose original is forgotten; they are undecided, too.
        verdicts: verdicts that were deleted.
        rows: rows that were deleted of other tables, by their names.
    """

    removed: int = 0
    let_go: int = 0
    kept: int = 0
    freed: int = 0
    verdicts: int = 0
    rows: dict[str, int] = field(default_factory=dict)


def cancel_run(database: Database, name: str, *, force: bool = False, others: Sequence[Database] = ()) -> Rollback:
    """Cancel a run: delete what it alone has stored, and undo what it has changed.

    Args:
        database: where the run is, opened to be written.
        name: its name.
        force: whether a run is cancelled that has not ended, as far as the database knows.
        others: further databases with registered tables; see `dedup.ledger.runs`.

    Returns:
        What this call has changed; what an earlier one did that was killed is not counted.

    Raises:
        DedupError: there is no such run, or it may be going on.
        DatabaseError: a database failed; the same call goes on.
    """
    run_id = _begin(database, name, force=force)
    with database.read() as connection:
        made_with = read_properties(connection)
    with_bands = made_with["mode"] != Mode.PAPER.value
    keys = KeyTable(Keys(TableDesign.parse(made_with["table design"]), with_bands=with_bands))
    index = Index(keys, Scopes(Scope(made_with["scope"])))
    rollback = Rollback()

    def originals(key_digests: list[bytes]) -> dict[bytes, str]:
        with database.read() as connection:
            return _find_originals(connection, key_digests)

    while True:
        _roll_back_documents(database, index, run_id, rollback)
        for each in (database, *others):
            for table_name, count in _roll_back_tables(each, name, originals).items():
                rollback.rows[table_name] = rollback.rows.get(table_name, 0) + count
        is_left = True
        while is_left:
            with database.write() as connection:
                is_left = remove_some_notes(connection, run_id) > 0
        with database.write() as connection:
            # A process may still have been writing to it.
            if not connection.scalar(select(exists().where(verdicts.c.run_id == run_id))):
                for counts in (unexamined, skipped):
                    connection.execute(delete(counts).where(counts.c.run_id == run_id))
                connection.execute(delete(runs).where(runs.c.id == run_id))
                return rollback


def _begin(database: Database, name: str, *, force: bool) -> int:
    """Mark a run as being cancelled; return its id."""
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


def _roll_back_documents(database: Database, index: Index, run_id: int, rollback: Rollback) -> None:
    """Delete all verdicts of a run, and what they have stored, from the last to the first."""
    ends = select(func.min(verdicts.c.id), func.max(verdicts.c.id)).where(verdicts.c.run_id == run_id)
    # Those of other runs are read, too: an order within a run would have to be sorted every time.
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
                    _roll_back_verdicts(connection, index, own, run_id, rollback)
            last = rows[-1].id - 1 if rows else -1


def _roll_back_verdicts(
    connection: Connection, index: Index, rows: Sequence[Any], run_id: int, rollback: Rollback
) -> None:
    """Delete some verdicts of a run, and what they have stored."""
    decided = {row.document_id for row in rows}
    _forget_own(connection, index, decided, run_id, rollback)
    connection.execute(delete(verdicts).where(verdicts.c.id.in_([row.id for row in rows])))
    rollback.verdicts += len(rows)
    named = {each for row in rows for each in (row.document_id, row.original_id, row.matched_id)} - {None}
    removed = _remove_empty(connection, named)
    _give_to_others(connection, named - removed, run_id)
    _count(connection, decided, removed, run_id, rollback)


def _forget_own(
    connection: Connection, index: Index, decided: Collection[int], run_id: int, rollback: Rollback
) -> None:
    """Forget the documents whose content no other run has seen, and their duplicates."""
    # The run that saw it last without changing it has seen what it holds.
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
        forget_by_ids(connection, index, {row.id for row in found})
        rollback.freed += sum(row.content_run_id != run_id for row in found)
    forget_by_ids(connection, index, ids)


def _remove_empty(connection: Connection, ids: Collection[int]) -> set[int]:
    """Delete those documents that have no content and that no verdict names."""
    empty = select(documents.c.id).where(
        documents.c.id.in_(ids),
        documents.c.text_digest.is_(None),
        *(~exists().where(reference == documents.c.id) for reference in _NAMING),
    )
    removed = set(connection.scalars(empty))
    if removed:
        connection.execute(delete(documents).where(documents.c.id.in_(removed)))
    return removed


def _give_to_others(connection: Connection, ids: Collection[int], run_id: int) -> None:
    """Replace the run that is cancelled by other ones in the rows of documents that stay."""
    own = documents.c.id.in_(ids)
    is_last, is_content = documents.c.last_run_id == run_id, documents.c.content_run_id == run_id
    for reference, other, mine in (
        (documents.c.last_run_id, documents.c.content_run_id, is_last & ~is_content),
        (documents.c.content_run_id, documents.c.last_run_id, is_content & ~is_last),
    ):
        connection.execute(update(documents).where(own, mine).values({reference: other}))
    is_first = (documents.c.first_run_id == run_id) & ~is_last
    connection.execute(update(documents).where(own, is_first).values(first_run_id=documents.c.last_run_id))
    # What is left was forgotten: other runs have verdicts on it, or dropped something because of it.
    newest = [
        select(func.max(_run_of_verdict))
        .where(reference == documents.c.id, _run_of_verdict != run_id)
        .scalar_subquery()
        for reference in _NAMING
    ]
    # Where only earlier verdicts of this very run name it, it goes with these.
    other_run = func.coalesce(*newest, run_id)
    connection.execute(
        update(documents)
        .where(own, documents.c.text_digest.is_(None), is_last, is_content)
        .values(last_run_id=other_run, content_run_id=other_run)
    )


def _count(
    connection: Connection, decided: Collection[int], removed: Collection[int], run_id: int, rollback: Rollback
) -> None:
    """Count the documents on which the run has no verdict any more."""
    rollback.removed += len(removed)
    is_done = ~exists().where(verdicts.c.document_id == documents.c.id, _run_of_verdict == run_id)
    is_empty = documents.c.text_digest.is_(None)
    # What only earlier verdicts of this very run name goes with these.
    is_forgotten = is_empty & or_(
        *(exists().where(reference == documents.c.id, _run_of_verdict != run_id) for reference in _NAMING)
    )
    counts = select(func.sum(case((is_forgotten, 1), else_=0)), func.sum(case((is_empty, 0), else_=1))).where(
        documents.c.id.in_(decided), is_done
    )
    forgotten, kept = connection.execute(counts).one()
    rollback.let_go += int(forgotten or 0)
    rollback.kept += int(kept or 0)


def _find_originals(connection: Connection, key_digests: list[bytes]) -> dict[bytes, str]:
    """Return those documents that are originals, with the name of the run that saw each last."""
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
