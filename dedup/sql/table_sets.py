"""Tables of others in a database, such as those of a crawler: made, upgraded or refused when they are opened.

The version of each set stands in the table `dedup_table_sets`, so that opening it takes one look where nothing
is to be done.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, select

from dedup.errors import IncompatibleDatabaseError
from dedup.sql import versions
from dedup.sql.database import Database
from dedup.sql.engines import insert_into

logger = logging.getLogger(__name__)

_metadata = MetaData()

# Of another name than the table of before the first release, whose numbers mean other tables.
_sets = Table(
    "dedup_table_sets",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    comment="which version the tables of others have, by the name of the set",
)


@dataclass(frozen=True)
class TableSet:
    """Tables that have a version together.

    Attributes:
        name: what the set is called.
        metadata: the tables as they are now.
        version: their version now, from 1.
        migrations: the folder of the migrations that lead to it; see `dedup.sql.migrating.migrate`.
    """

    name: str
    metadata: MetaData
    version: int = 1
    migrations: Path = Path()


def open_tables(database: Database, tables: TableSet) -> None:
    """Let the tables of a set be there, as they are now: they are made, or upgraded, wholly or not at all.

    Raises:
        DatabaseError: the database cannot be reached or written.
        IncompatibleDatabaseError: they are of a later version of this program, or of none that was released.
    """
    with database.write() as connection:
        found = _find(connection, tables)
        if found == tables.version:
            return
        if found is None:
            _require_none(connection, tables, database.name)
        elif found > tables.version:
            raise IncompatibleDatabaseError(
                f"the {tables.name} of database {database.name} were made by a later version of this program, with "
                f"version {found} (here {tables.version}); install that one, or name another database"
            )
        else:
            _upgrade(connection, tables, found)
            logger.info("the %s of database %s are upgraded to version %d", tables.name, database.name, tables.version)
        _metadata.create_all(connection)
        tables.metadata.create_all(connection)
        insert = insert_into(_sets, connection.dialect.name).values(name=tables.name, version=tables.version)
        connection.execute(
            insert.on_conflict_do_update(index_elements=[_sets.c.name], set_={"version": tables.version})
        )


def _find(connection: Connection, tables: TableSet) -> int | None:
    if not connection.dialect.has_table(connection, _sets.name):
        return None
    found: int | None = connection.scalar(select(_sets.c.version).where(_sets.c.name == tables.name))
    return found


def _require_none(connection: Connection, tables: TableSet, database: str) -> None:
    there = [name for name in tables.metadata.tables if connection.dialect.has_table(connection, name)]
    if there:
        raise IncompatibleDatabaseError(
            f"the {tables.name} of database {database} (table {there[0]}) were {versions.UNRELEASED}"
        )


def _upgrade(connection: Connection, tables: TableSet, found: int) -> None:
    from dedup.sql.migrating import migrate  # noqa: PLC0415 -- loads Alembic, which hardly any start needs

    migrate(connection, tables.migrations, found)
