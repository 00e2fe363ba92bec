"""Whether a saved index, or a file of fingerprints alone, is whole and fits together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.deciding.known import NOWHERE
from dedup.corpus.saved.folder import FINGERPRINTS, damaged, wrong_sums
from dedup.corpus.saved.reader import SavedIndex
from dedup.errors import IndexFileError
from dedup.index.memory import index_file
from dedup.index.memory.checking import find_damage
from dedup.index.memory.index import MemoryIndex


def verify(path: Path) -> int:
    """Read all of an index and check it: lengths and checksums, order, and what one file says of another.

    Args:
        path: the folder of a saved index, or a file that `MemoryIndex.save` wrote.

    Returns:
        How many documents it has.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged; the message says how.
    """
    if path.is_file():
        return _verify_fingerprints(path)
    with closing(SavedIndex(path)) as saved:
        for reason in _damages(saved):
            raise damaged(path, reason)
        return len(saved)


def _verify_fingerprints(path: Path) -> int:
    MemoryIndex.verify(path)
    _, segment = index_file.read(path)
    damage = find_damage(segment)
    if damage is not None:
        raise IndexFileError(f"{path}: damaged index file, {damage}: build the index again, or take a copy")
    return segment.documents


def _damages(saved: SavedIndex) -> Iterator[str]:
    """Yield what is wrong; what comes later may rely on what comes before."""
    yield from wrong_sums(saved.folder)
    _verify_fingerprints(saved.folder / FINGERPRINTS)
    yield from _wrong_rows(saved)
    for column, name in (("key", "keys"), ("words", "words")):
        yield from _wrong_places(np.array(saved.rows[column]), saved.folder / name)
    yield from _wrong_fingerprints(saved)


def _wrong_rows(saved: SavedIndex) -> Iterator[str]:
    rows = saved.rows
    count = len(rows)
    leaders = np.array(rows["leader"])
    led = leaders != NOWHERE
    if (leaders[led] < 0).any() or (leaders >= np.arange(count)).any():
        yield "a document is led by one that is not before it"
    elif (leaders[leaders[led]] != NOWHERE).any():
        yield "a leader is led by another document"
    if not np.isin(rows["indexed"], (0, 1)).all():
        yield "a document neither stands among the fingerprints nor does not"
    if len(np.unique(np.array(rows["digest"]), axis=0)) != count:
        yield "two documents have the same content"


def _wrong_places(places: NDArray[np.int64], path: Path) -> Iterator[str]:
    """Check that the byte strings of a file are those that the documents name, one behind the other."""
    with path.open("rb") as file:
        place = 0
        for wanted in places[places != NOWHERE].tolist():
            if place != wanted:
                yield f"{path.name} has nothing where a document says it has"
                return
            place += LENGTH_BYTES + int.from_bytes(file.read(LENGTH_BYTES), "little")
            file.seek(place)
    if place != path.stat().st_size:
        yield f"{path.name} has something else than the documents name"


def _wrong_fingerprints(saved: SavedIndex) -> Iterator[str]:
    numbers = np.flatnonzero(saved.rows["indexed"])
    wanted = saved.rows["fingerprint"][numbers]
    order = np.lexsort((numbers, wanted))
    _, segment = index_file.read(saved.folder / FINGERPRINTS)
    ids, fingerprints = segment.entries()
    if not (np.array_equal(ids, numbers[order]) and np.array_equal(fingerprints, wanted[order])):
        yield f"{FINGERPRINTS} has {len(ids):,} documents that are not the {len(numbers):,} of the others"
