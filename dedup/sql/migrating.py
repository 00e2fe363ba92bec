"""Running migrations: the operations of Alembic, in the order of their revisions, in one transaction.

Alone imports Alembic; whoever opens a database of the version that this program makes does not load it.
"""

from __future__ import annotations

from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event

from dedup.errors import DatabaseError
from dedup.sql import versions
from dedup.sql.database import Database, read_properties, require_file


def migrate(connection: Connection, folder: Path, start: int) -> None:
    """Run the migrations of a folder that lead on from a version.

    Args:
        connection: inside a writing transaction; on SQLite one that does not check foreign keys, where a table
            that others name is made anew.
        folder: their modules, each a revision of Alembic that is named as the version that it leads to.
        start: the version that is found.
    """
    scripts = ScriptDirectory(str(folder), version_locations=[str(folder)])
    later = [each for each in scripts.walk_revisions() if int(each.revision) > start]
    with Operations.context(MigrationContext.configure(connection)):
        for each in reversed(later):
            each.module.upgrade()


def upgrade(url: str) -> tuple[str, int, int]:
    """Upgrade the tables of deduplication in a database to the version that this program uses: wholly, or not at all.

    Args:
        url: a SQLAlchemy URL.

    Returns:
        The database as it may be shown, the version that it had, and that which it has.

    Raises:
        DatabaseError: there is none, it cannot be written, or nothing was ever stored in it.
        IncompatibleDatabaseError: its version cannot be upgraded; the message says why, and the way out.
    """
    database = Database(url)
    if database.is_sqlite:
        # A table that is made anew is dropped for a moment; a transaction that has begun cannot allow it.
        event.listen(database.engine, "connect", lambda raw, _: raw.execute("PRAGMA foreign_keys = OFF"))
    try:
        require_file(database)
        with database.write() as connection:
            properties = read_properties(connection)
            if not properties:
                raise DatabaseError(f"database {database.name} holds no verdicts: there is nothing to upgrade")
            found = versions.require_upgradable(database.name, properties.get(versions.NAME))
            if found < versions.CURRENT:
                migrate(connection, versions.MIGRATIONS, found)
                versions.store(connection)
                _require_whole(connection, database)
    finally:
        database.close()
    return database.name, found, versions.CURRENT


def _require_whole(connection: Connection, database: Database) -> None:
    if database.is_sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise DatabaseError(
            f"database {database.name} is not upgraded, and is as it was: some of its rows name others that are not "
            "there; name a copy of it that is whole, or crawl anew into a new database"
        )
