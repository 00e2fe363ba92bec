"""The version of the schema: which one a database has, and what is said of one that is not this program's."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, update

from dedup.errors import IncompatibleDatabaseError
from dedup.sql.schema import SCHEMA_VERSION, properties

CURRENT = SCHEMA_VERSION
NAME = "schema"
"""What the version is called among the properties of a database.

Before the first release it was "schema version", whose numbers mean other schemas.
"""

MIGRATIONS = Path(__file__).parent / "migrations"

UNRELEASED = "not made by a released version of this program: begin anew, in a new database"
"""What is said of tables of which no version is known."""


def store(connection: Connection) -> None:
    """Note that a database has the version that this program uses."""
    connection.execute(update(properties).where(properties.c.name == NAME).values(value=str(CURRENT)))


def require_current(name: str, found: str | None) -> None:
    """Refuse a database of another version than this program's, with the command that upgrades it if there is one.

    Args:
        name: the database, as it may be shown.
        found: the version that it says it has.

    Raises:
        IncompatibleDatabaseError: it is another one.
    """
    if require_upgradable(name, found) < CURRENT:
        raise IncompatibleDatabaseError(
            f"{_made_with(name, found)}; an earlier version of this program has made it, "
            f"and this command upgrades it: dedup upgrade '{name}'"
        )


def require_upgradable(name: str, found: str | None) -> int:
    """Return the version of a database that has this program's, or can be upgraded to it; refuse any other one.

    Args:
        name: the database, as it may be shown.
        found: the version that it says it has; None: it has none.

    Raises:
        IncompatibleDatabaseError: it is unknown or later, or the database is of before the first release.
    """
    if found is None:
        raise IncompatibleDatabaseError(f"database {name} was {UNRELEASED}")
    if not found.isdecimal() or int(found) > CURRENT:
        raise IncompatibleDatabaseError(
            f"{_made_with(name, found)}; install the version of this program that made it, or name another database"
        )
    return int(found)


def _made_with(name: str, found: str | None) -> str:
    return f"database {name} was made with schema version {found!r}, this program uses '{CURRENT}'"
