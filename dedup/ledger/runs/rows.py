"""Rows of runs in tables that are not this library's: they are taken back with their run.

Who keeps such a table, as a crawler its pages, registers it when it makes it. The table `dedup_run_rows`
of the same database says then which column of which table names the run; this library need not know what
else is in there. A registered table has a column `id`, unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    MetaData,
    TableClause,
    Text,
    column,
    delete,
    insert,
    select,
    table,
    update,
)
from sqlalchemy import Table as SchemaTable

from dedup.sql.database import Database

_ROWS_AT_ONCE = 1_000

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

FindStanding = Callable[[list[bytes]], dict[bytes, str]]
"""Says which documents, by the digests of their keys, stand as originals, and the run that saw each last."""


@dataclass(frozen=True)
class RowsOfRuns:
    """A table whose rows belong to runs.

    Attributes:
        table_name: the table.
        run_column: the column that says which run: its name, or where `runs_table` is given the id of its
            row there.
        runs_table: a table with the columns `id` and `name`, where runs have numbers of the table's own.
        key_column: a column with `dedup.ledger.document_rows.key_digest` of the document that the row is about. Where
            it is given, the row of a document that still stands as an original stays, and is given to the run
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


def register_rows(database: Database, tables: Iterable[RowsOfRuns]) -> None:
    """Let the rows of some tables be taken back with their run."""
    with database.write() as connection:
        metadata.create_all(connection)
        known = set(connection.scalars(select(registered.c.table_name)))
        new = [asdict(each) for each in tables if each.table_name not in known]
        if new:
            connection.execute(insert(registered), new)


def take_back_rows(database: Database, run: str, find_standing: FindStanding) -> dict[str, int]:
    """Delete the rows of a run in all tables that are registered, some at a time; return how many, by table.

    `find_standing` is asked for tables with a `key_column`.
    """
    with database.read() as connection:
        tables = _registered_tables(connection)
    deleted = {}
    # What has numbers of its own for runs loses its rows first, and then those numbers.
    for each in sorted(tables, key=lambda rows: (rows.runs_table is None, rows.table_name)):
        deleted[each.table_name] = _take_back(database, each, run, find_standing)
    return deleted


def _registered_tables(connection: Connection) -> list[RowsOfRuns]:
    has_table = connection.dialect.has_table
    if not has_table(connection, registered.name):
        return []
    found = [RowsOfRuns(**row) for row in connection.execute(select(registered)).mappings()]
    return [each for each in found if has_table(connection, each.table_name)]


def _take_back(database: Database, rows: RowsOfRuns, run: str, find_standing: FindStanding) -> int:
    names = [rows.table.c[name] for name in ("id", rows.key_column) if name]
    some = select(*names).where(rows.of_run(run)).limit(_ROWS_AT_ONCE)
    deleted = 0
    while True:
        with database.read() as connection:
            found = connection.execute(some).all()
        if not found:
            return deleted
        keys = [bytes(row[1]) for row in found] if rows.key_column else []
        standing = find_standing(keys) if keys else {}
        stay = {row[0]: standing[key] for row, key in zip(found, keys, strict=False) if key in standing}
        go = [row[0] for row in found if row[0] not in stay]
        with database.write() as connection:
            # Asked once more: another run may have saved a row anew in the meantime.
            own = rows.table.c.id, rows.of_run(run)
            deleted += connection.execute(delete(rows.table).where(own[0].in_(go), own[1])).rowcount
            for each in set(stay.values()):
                ids = [row_id for row_id, seen_by in stay.items() if seen_by == each]
                change = update(rows.table).where(own[0].in_(ids), own[1])
                connection.execute(change.values({rows.run_column: each}))
