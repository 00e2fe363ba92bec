"""An index in memory that follows the permuted tables of a database, whoever writes them.

The database is the truth: what is added and removed here is written there, into the tables as into the
journal, so that other processes find it, by SQL or in memory. At the start of each transaction the
journal says what has become of the tables since the last one. It also says whether that one was
committed: its own changes stand there then, and are taken back here if not.

The writer's lock of the transaction is this index's lock too: threads that share it come one after the other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection
from sqlalchemy.engine import Transaction

from dedup.errors import DatabaseError, IndexFileError
from dedup.index.memory.index import MemoryIndex
from dedup.index.probes import ProbePlan
from dedup.index.protocol import Candidate
from dedup.ledger.tables.journal import Change, Position, changes, find_last, read_since
from dedup.ledger.tables.permuted import SqlIndex, read_entries
from dedup.ledger.tables.saved import Saver, open_saved
from dedup.sql.database import Database

logger = logging.getLogger(__name__)


class FollowingIndex:
    """Finds what `SqlIndex` finds with the same plan.

    Transactions without savepoints alone: what a savepoint takes back is not noticed.

    Args:
        plan: how far around a fingerprint is looked; its design is four tables of one block.
        scheme: name and version of the way the fingerprints are made.
        database: the database that is followed.
        file: where the tables are saved, and read from at the start; None: nowhere.

    Raises:
        DatabaseError: the database cannot be read.
        SettingsError: the design is another one.
    """

    def __init__(self, plan: ProbePlan, scheme: str, database: Database, file: Path | None = None) -> None:
        self._tables = SqlIndex(plan)
        self._database = database
        self._memory = MemoryIndex(plan, scheme)
        self._position: Position | None = None
        self._own: list[tuple[Change, bool]] = []
        self._source = ""
        self._transaction: Transaction | None = None
        self._saver = Saver(file) if file is not None else None
        self._start(file)

    def add(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Store fingerprints; see `Index.add`."""
        self._write(connection, changes(entries, added=True))

    def remove(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Take fingerprints out; see `Index.remove`."""
        self._write(connection, changes(entries, added=False))

    def query(
        self, connection: Connection, fingerprint: int, margins: NDArray[np.int64], limit: int
    ) -> list[Candidate]:
        """Find the stored fingerprints that the plan's probes bring; see `Index.query`."""
        self._follow(connection)
        return self._memory.query(fingerprint, margins, limit)

    def close(self) -> None:
        """Save what has changed since it was saved last; what cannot be saved is built again at the next start."""
        if self._saver is None:
            return
        try:
            with self._database.read() as connection:
                self._catch_up(connection)
        except DatabaseError as error:
            logger.warning("the index is not saved: %s", error)
        else:
            if self._position is not None:
                self._saver.save(self._memory, self._position)
        self._saver.close()

    def _start(self, file: Path | None) -> None:
        if file is not None:
            self._source = str(file)
            try:
                saved = open_saved(file, self._memory.plan, self._memory.scheme)
            except IndexFileError as error:
                logger.warning("%s; it is built anew, from database %s", error, self._database.name)
            else:
                self._memory, self._position = saved or (self._memory, None)
        saved_position = self._position
        with self._database.read() as connection:
            if self._catch_up(connection) and self._saver is not None:
                self._saver.note(saved_position)
        self._source = "the index in memory"

    def _write(self, connection: Connection, made: list[Change]) -> None:
        self._follow(connection)
        self._tables.write(connection, made)
        # What was not there is not taken back either.
        self._own += [(change, self._apply(change)) for change in made]

    def _apply(self, change: Change) -> bool:
        if change.is_added:
            self._memory.add(change.document_id, change.fingerprint)
            return True
        return self._memory.remove(change.document_id, change.fingerprint)

    def _follow(self, connection: Connection) -> None:
        """Catch up with the database, once a transaction."""
        transaction = connection.get_transaction()
        if transaction is not None and transaction is self._transaction:
            return
        self._catch_up(connection)
        if self._saver is not None and self._position is not None:
            self._saver.save_sometimes(self._memory, self._position)
        # Without an explicit beginning the first statement has begun it.
        self._transaction = connection.get_transaction()

    def _catch_up(self, connection: Connection) -> bool:
        """Make the tables in memory those of the database; return whether the journal was enough for it."""
        position = self._position
        since = None if position is None else read_since(connection, position)
        # Nothing is relied on should this be interrupted.
        self._position = self._transaction = None
        own, self._own = self._own, []
        if since is None:
            if position is not None:
                name = self._database.name
                logger.warning("%s is not in the journal of database %s: built anew from there", self._source, name)
            self._build(connection)
            return False
        # Of a transaction all changes are there or none is, and right behind the position.
        is_committed = bool(own and since) and own[0][0].stamp == since[0][1].stamp
        if not is_committed:
            self._take_back(own)
        for _, change in since[len(own) if is_committed else 0 :]:
            self._apply(change)
        self._position = since[-1][0] if since else position
        return True

    def _take_back(self, own: list[tuple[Change, bool]]) -> None:
        for change, had_effect in reversed(own):
            if had_effect:
                self._apply(change._replace(is_added=not change.is_added))

    def _build(self, connection: Connection) -> None:
        """Read the tables of the database.

        The journal's end is asked first: what is written between the two questions is applied again
        then, which changes nothing.
        """
        position = find_last(connection)
        parts = list(read_entries(connection))
        self._memory = MemoryIndex(self._memory.plan, self._memory.scheme)
        if parts:
            self._memory.add_many(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        self._position = position
