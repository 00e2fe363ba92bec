"""The version of the schema: which one a database has, and what is said of one that is not this program's."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, select, update

from dedup.errors import IncompatibleDatabaseError
from dedup.sql.schema import SCHEMA_VERSION, properties

CURRENT = SCHEMA_VERSION
NAME = "schema version"
"""What the version is called among the properties of a database."""

MIGRATIONS = Path(__file__).parent / "migrations"
_OLDEST_UPGRADABLE = 2

_OF_VERSION = properties.c.name == NAME


def find(connection: Connection) -> str | None:
    """Return the version that a database says it has; None where nothing was ever stored."""
    if not connection.dialect.has_table(connection, properties.name):
        return None
    found: str | None = connection.scalar(select(properties.c.value).where(_OF_VERSION))
    return found


def store(connection: Connection) -> None:
    """Note that a database has the version that this program uses."""
    connection.execute(update(properties).where(_OF_VERSION).values(value=str(CURRENT)))


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
        found: the version that it says it has.

    Raises:
        IncompatibleDatabaseError: it is unknown, later, or so early that what is needed was not stored in it.
    """
    made_with = _made_with(name, found)
    if found is None or not found.isdecimal() or int(found) > CURRENT:
        raise IncompatibleDatabaseError(
            f"{made_with}; install the version of this program that made it, or name another database"
        )
    if int(found) < _OLDEST_UPGRADABLE:
        raise IncompatibleDatabaseError(
            f"{made_with}; it cannot be upgraded, as the words of texts, by which doubtful pairs are told apart, are "
            "not stored in it: crawl anew into a new database"
        )
    return int(found)


def _made_with(name: str, found: str | None) -> str:
    return f"database {name} was made with {NAME} {found!r}, this program uses '{CURRENT}'"
