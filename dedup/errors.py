"""The errors that a user is told of in one line: what is wrong, where, and the way out."""

from __future__ import annotations

from typing import ClassVar


class DedupError(Exception):
    """Base of all errors of this library; its message is one line for the user.

    Attributes:
        exit_status: that of a command which it ends: 2 for wrong use, 1 for what could not be done.
    """

    exit_status: ClassVar = 1


class SettingsError(DedupError):
    """A setting has a value that cannot be used."""

    exit_status = 2


class InputError(DedupError):
    """A file or an argument is not what it should be."""

    exit_status = 2


class DatabaseError(DedupError):
    """The database cannot be reached, read or written."""


def reason_of(error: Exception) -> str:
    """Return what an error says, and of which class it is if it is a stranger, for a document that was not analysed."""
    told = str(error)
    if isinstance(error, DedupError) and told:
        return told
    return f"{type(error).__name__}: {told}" if told else type(error).__name__


class OutageError(DatabaseError):
    """The database's server is away: the same may succeed later.

    Attributes:
        database: the database, as it may be shown.
    """

    def __init__(self, message: str, database: str) -> None:
        super().__init__(message)
        self.database = database


class LockedError(DatabaseError):
    """Another process was writing to the database for longer than is waited."""


class IncompatibleDatabaseError(DatabaseError):
    """The database was made with another scheme, table design or version of the schema."""


class IndexFileError(DedupError):
    """A file of an index is damaged, not one, or of another scheme or format."""
