"""The file of an index that follows a database: opened only as a whole and unharmed, written now and then.

Besides the tables it says up to where in the database's journal they go.
"""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Thread

from dedup.errors import IndexFileError
from dedup.index.memory.index import Frozen, MemoryIndex
from dedup.index.probes import ProbePlan
from dedup.ledger.tables.journal import KEPT, Position

LEAST_CHANGES = 10_000
"""So few changes are read from the journal as fast as they are from a file."""

_SHARE = 8
"""A file is written once there are changes of one in so many documents, so that it costs little of them."""

logger = logging.getLogger(__name__)


def open_saved(file: Path, plan: ProbePlan, scheme: str) -> tuple[MemoryIndex, Position] | None:
    """Open a saved index; the whole file is read and compared with its checksums.

    Returns:
        The index, and up to where in the journal it goes; None where there is no file.

    Raises:
        IndexFileError: the file is damaged, is none, is another index's, or belongs to no database.
    """
    if not file.exists():
        return None
    MemoryIndex.verify(file)
    index = MemoryIndex.open(file, plan, scheme)
    words = index.origin.split()
    if len(words) != 3 or words[0] != "journal" or not all(word.isdecimal() for word in words[1:]):
        raise IndexFileError(f"{file}: not saved by a crawl")
    return index, Position(int(words[1]), int(words[2]))


class Saver:
    """Saves an index to a file, in a thread of its own where others would wait."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._saved: Position | None = None
        self._failed = False
        self._thread: Thread | None = None

    def note(self, position: Position | None) -> None:
        """Note up to where the file goes."""
        self._saved = position

    def save_sometimes(self, index: MemoryIndex, position: Position) -> None:
        """Begin to save an index that goes up to a position, if much has changed; the caller may go on changing it."""
        since = position.sequence - (self._saved.sequence if self._saved is not None else 0)
        if since < LEAST_CHANGES:
            return
        # The journal must reach back to the file of a process that was killed.
        enough = min(len(index) // _SHARE, KEPT // 4)
        if since < enough or (self._thread is not None and self._thread.is_alive()):
            return
        self._saved = position
        self._thread = Thread(target=self._write, args=(index.freeze(), position), name="save index")
        self._thread.start()

    def save(self, index: MemoryIndex, position: Position) -> None:
        """Save the index, unless the file is as new already."""
        self.close()
        if position != self._saved or self._failed:
            self._saved = position
            self._write(index.freeze(), position)

    def close(self) -> None:
        """Wait until all is written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _write(self, frozen: Frozen, position: Position) -> None:
        try:
            frozen.save(self._file, f"journal {position.sequence} {position.stamp}")
        except OSError as error:
            # Nothing is lost: the next start reads the database.
            logger.warning("%s: the index cannot be saved there: %s", self._file, error.strerror or error)
            self._failed = True
        else:
            self._failed = False
