"""Tables of others in a database, such as those of a crawler: made, upgraded or refused when they are opened.

The version of each set stands in the table `dedup_table_versions`, so that opening it takes one look where nothing
is to be done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, select

from dedup.errors import IncompatibleDatabaseError
from dedup.sql.database import Database
from dedup.sql.engines import insert_into

logger = logging.getLogger(__name__)

_metadata = MetaData()

_versions = Table(
    "dedup_table_versions",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    comment="which version the tables of others have, by the name of the set",
)


def _first(_: Connection) -> int:
    return 1


@dataclass(frozen=True)
class TableSet:
    """Tables that have a version together.

    Attributes:
        name: what the set is called.
        metadata: the tables as they are now.
        version: their version now, from 1.
        migrations: the folder of the migrations that lead to it; see `dedup.sql.migrating.migrate`.
        version_before: tells the version of tables that were made before versions were stored.
    """

    name: str
    metadata: MetaData
    version: int = 1
    migrations: Path = Path()
    version_before: Callable[[Connection], int] = _first


def open_tables(database: Database, tables: TableSet) -> None:
    """Let the tables of a set be there, as they are now: they are made, or upgraded, wholly or not at all.

    Raises:
        DatabaseError: the database cannot be reached or written.
        IncompatibleDatabaseError: they are of a later version of this program.
    """
    with database.write() as connection:
        stored = _find(connection, tables)
        if stored == tables.version:
            return
        found = _find_unnamed(connection, tables) if stored is None else stored
        if found > tables.version:
            raise IncompatibleDatabaseError(
                f"the {tables.name} of database {database.name} were made by a later version of this program, with "
                f"version {found} (here {tables.version}); install that one, or name another database"
            )
        if found < tables.version:
            _upgrade(connection, tables, found)
            logger.info("the %s of database %s are upgraded to version %d", tables.name, database.name, tables.version)
        _metadata.create_all(connection)
        tables.metadata.create_all(connection)
        insert = insert_into(_versions, connection.dialect.name).values(name=tables.name, version=tables.version)
        connection.execute(
            insert.on_conflict_do_update(index_elements=[_versions.c.name], set_={"version": tables.version})
        )


def _find(connection: Connection, tables: TableSet) -> int | None:
    if not connection.dialect.has_table(connection, _versions.name):
        return None
    found: int | None = connection.scalar(select(_versions.c.version).where(_versions.c.name == tables.name))
    return found


def _find_unnamed(connection: Connection, tables: TableSet) -> int:
    is_there = any(connection.dialect.has_table(connection, name) for name in tables.metadata.tables)
    return tables.version_before(connection) if is_there else tables.version


def _upgrade(connection: Connection, tables: TableSet, found: int) -> None:
    from dedup.sql.migrating import migrate  # noqa: PLC0415 -- loads Alembic, which hardly any start needs

    migrate(connection, tables.migrations, found)
