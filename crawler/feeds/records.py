"""What the database remembers of the files that feeds are written to: which part of each belongs to which run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, delete, insert, or_, select, update

from crawler.frontier.table import runs
from dedup.ledger.runs.rows import RowsOfRuns, register_rows
from dedup.sql.database import Database, TableSet, open_tables
from dedup.sql.schema import Id

metadata = MetaData()

parts = Table(
    "feed_parts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("path", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("starts", BigInteger, nullable=False),
    Column("ends", BigInteger),
    comment="one row a file and a run that has not finished: the bytes of the file that are the run's; "
    "ends: empty while it is written, and after a crash",
)

TABLES = TableSet("feeds", metadata)
"""The table of the parts of feeds, and the version that it has."""

_ROWS_OF_RUNS = (RowsOfRuns("feed_parts", "run"),)


class Part(NamedTuple):
    """The part of a file that a run has written.

    Attributes:
        run: the name of the run.
        starts: its first byte.
        ends: the byte behind its last one; None while it is written, or where that ended in a crash.
    """

    run: str
    starts: int
    ends: int | None


class Standing(NamedTuple):
    """How far a run is.

    Attributes:
        started: when it began, in seconds since 1970.
        is_over: whether it has finished.
    """

    started: float
    is_over: bool


def find_standing(database: Database, run: str) -> Standing | None:
    """Return how far the run of this name is; None where it has not begun, or is forgotten.

    Raises:
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        if not connection.dialect.has_table(connection, runs.name):
            return None
        row = connection.execute(select(runs.c.started, runs.c.finished).where(runs.c.name == run)).first()
    return None if row is None else Standing(row.started, row.finished is not None)


def find_parts(database: Database, path: str) -> list[Part]:
    """Return what is known of the parts of a file, those of runs that can go on.

    Raises:
        DatabaseError: the database cannot be read.
    """
    # A process can end after its run has finished and before that is noted here.
    unfinished = select(runs.c.name).where(runs.c.finished.is_(None))
    of_file = select(parts.c.run, parts.c.starts, parts.c.ends).where(parts.c.path == path, parts.c.run.in_(unfinished))
    with database.read() as connection:
        if not all(connection.dialect.has_table(connection, table.name) for table in (parts, runs)):
            return []
        return [Part(*row) for row in connection.execute(of_file)]


def note_begun(database: Database, run: str, starts: Mapping[str, int]) -> None:
    """Note where a run begins to write, before it does; what others wrote from there on is gone then.

    Args:
        database: where; the table is made if it is not there.
        run: the name of the run.
        starts: the first byte in each file, by its path.

    Raises:
        DatabaseError: nothing of it was written.
    """
    open_tables(database, TABLES)
    register_rows(database, _ROWS_OF_RUNS)
    with database.write() as connection:
        for path, start in starts.items():
            gone = or_(parts.c.run == run, parts.c.starts >= start)
            connection.execute(delete(parts).where(parts.c.path == path, gone))
            connection.execute(insert(parts).values(path=path, run=run, starts=start))


def note_ended(database: Database, run: str, ends: Mapping[str, int]) -> None:
    """Note how long the files are now that a run has written its part.

    Raises:
        DatabaseError: nothing of it was written.
    """
    with database.write() as connection:
        for path, end in ends.items():
            connection.execute(update(parts).where(parts.c.path == path, parts.c.run == run).values(ends=end))


def forget(database: Database, run: str) -> None:
    """Forget the parts of a run that has finished: nobody goes on with it.

    Raises:
        DatabaseError: nothing of it was written.
    """
    with database.write() as connection:
        connection.execute(delete(parts).where(parts.c.run == run))
