"""Databases as they lie there, for what no command does to one: no table is known by its name but that of versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from sqlalchemy import Engine, MetaData, Table, event, inspect, select, text

from dedup.rules.settings import DedupSettings
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator

_AT_ONCE = ("cancelling.ROWS_AT_ONCE", "notes.ROWS_AT_ONCE", "writing.LEADERS_AT_ONCE", "writing.MEMBERS_AT_ONCE")


def everything(url: str) -> dict[str, list[str]]:
    """Return the rows of all tables, by their columns."""
    with closing(Database(url)) as database, database.read() as connection:
        looked_at = inspect(connection)
        return {
            f"{table} {[column['name'] for column in looked_at.get_columns(table)]}": sorted(
                str(tuple(row)) for row in connection.exec_driver_sql(f'SELECT * FROM "{table}"')
            )
            for table in looked_at.get_table_names()
        }


def sizes(database: Database) -> dict[str, int]:
    """Return how many rows each table has."""
    with database.read() as connection:
        names = inspect(connection).get_table_names()
        return {name: connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one() for name in names}


def left_in(database: Database) -> dict[str, int]:
    """Return how many rows there are, by table, that a new database does not have."""
    found = sizes(database)
    return {table.name: found[table.name] for table in _own() if found[table.name]}


def empty(database: Database) -> None:
    """Delete all rows that a new database does not have."""
    with database.write() as connection:
        for table in _own():
            connection.execute(table.delete())


@cache
def _own() -> list[Table]:
    """Return the tables in which a new database has nothing, those that others refer to last."""
    with TemporaryDirectory() as folder:
        deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{Path(folder, 'new.db')}"))
        with closing(deduplicator.database) as database, database.read() as connection:
            tables = MetaData()
            tables.reflect(connection)
            return [each for each in reversed(tables.sorted_tables) if not connection.execute(select(each)).first()]


def change_version(url: str, changed: str, *, of_all: bool = False) -> None:
    """Let a database say something else of the version that has made its tables, or (of_all) all that it has."""
    where = "" if of_all else " WHERE name = 'schema'"
    statement = f"UPDATE dedup_properties SET {changed}{where}" if changed else f"DELETE FROM dedup_properties{where}"
    with closing(Database(url)) as database, database.write() as connection:
        connection.exec_driver_sql(statement)


def lose_text(database: Database, key: str) -> None:
    """Damage a database: nothing is known any more of the text of a document, which may lead others."""
    with database.write() as connection:
        connection.execute(
            text("UPDATE dedup_documents SET former_text_id = text_id, text_id = NULL WHERE key = :key"), {"key": key}
        )


@contextmanager
def steps_taken() -> Iterator[list[None]]:
    """Give a list that grows by one with each 100 steps that SQLite takes for what is connected meanwhile."""
    steps: list[None] = []

    def count(connection: sqlite3.Connection, _: object) -> None:
        connection.set_progress_handler(lambda: steps.append(None), 100)

    event.listen(Engine, "connect", count)
    try:
        yield steps
    finally:
        event.remove(Engine, "connect", count)


@contextmanager
def few_at_once(number: int) -> Iterator[None]:
    """Let no transaction remove more than so many rows, of which it else takes hundreds."""
    with ExitStack() as stack:
        for name in _AT_ONCE:
            stack.enter_context(patch(f"dedup.store.{name}", number))
        yield
