"""The newest fingerprints: four hash tables with lists, of a fixed size, before they become a segment.

Their row in the table of addresses is the first, and has the columns of a segment's row for the
fingerprints and their documents. A document that was removed has the owner -1, that of a group that
does not exist.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.addresses import array_at
from dedup.index.memory.segment import (
    BLOCK_VALUES,
    BLOCKS,
    COUNT,
    FINGERPRINTS,
    HAS_LONG,
    OWNER_BYTES,
    OWNERS,
    ROW,
)
from dedup.index.memory.top_k import note

CAPACITY = 1 << 15
"""So many are compared with a query where the lists are of no use: in some 7 us."""

LONG_LIST = 256
"""Following so many links costs as much as comparing with several thousand fingerprints."""

# More columns of the row, behind those of a segment's.
HEADS, LINKS, RADIUS, BUFFER, RESULTS, RESULTS_LENGTH = range(HAS_LONG + 1, ROW)

REMOVED_OWNER = -1

_BLOCK = np.uint64(BLOCK_VALUES - 1)


class Recent:
    """The arrays behind the first row.

    Args:
        radius: the largest distance of a result, in bits, for look-ups of all within a radius.

    Attributes:
        row: what compiled functions are told, and where they count; a view of it may be put in its place.
    """

    def __init__(self, radius: int) -> None:
        self._fingerprints = np.empty(CAPACITY, np.uint64)
        self._ids = np.empty(CAPACITY, np.int64)
        self._heads = np.full((BLOCKS, BLOCK_VALUES), -1, np.int32)
        self._links = np.empty((BLOCKS, CAPACITY), np.int32)
        self.row = np.zeros(ROW, np.int64)
        self.row[FINGERPRINTS], self.row[OWNERS] = self._fingerprints.ctypes.data, self._ids.ctypes.data
        self.row[HEADS], self.row[LINKS] = self._heads.ctypes.data, self._links.ctypes.data
        self.row[OWNER_BYTES], self.row[RADIUS] = 8, radius

    def __len__(self) -> int:
        """How many fingerprints there are, those removed among them."""
        return int(self.row[COUNT])

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return self._fingerprints.nbytes + self._ids.nbytes + self._heads.nbytes + self._links.nbytes

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return copies of the documents that were not removed, and of their fingerprints."""
        is_there = self._ids[: len(self)] != REMOVED_OWNER
        return self._ids[: len(self)][is_there], self._fingerprints[: len(self)][is_there]

    def remove(self, document_id: int, fingerprint: np.uint64) -> bool:
        """Mark a document as removed, wherever it stands with this fingerprint; return whether it did."""
        found = np.flatnonzero(self._fingerprints[: len(self)] == fingerprint)
        found = found[self._ids[found] == document_id]
        self._ids[found] = REMOVED_OWNER
        return len(found) > 0

    def clear(self) -> None:
        """Forget everything."""
        self._heads.fill(-1)
        self.row[COUNT] = 0


@compiled
def append(parts: NDArray[np.int64], document: int, fingerprint: int) -> int:
    """Store a fingerprint, given as a signed number, and return how many there are now; there must be room for it."""
    row = parts[0]
    place = row[COUNT]
    array_at(row[FINGERPRINTS], np.int64, CAPACITY)[place] = fingerprint
    array_at(row[OWNERS], np.int64, CAPACITY)[place] = document
    heads = array_at(row[HEADS], np.int32, BLOCKS * BLOCK_VALUES)
    links = array_at(row[LINKS], np.int32, BLOCKS * CAPACITY)
    for table in range(BLOCKS):
        head = table * BLOCK_VALUES + block_of(np.uint64(fingerprint), table)
        links[table * CAPACITY + place] = heads[head]
        heads[head] = place
    row[COUNT] = place + 1
    return int(place + 1)


@compiled
def block_of(fingerprint: np.uint64, table: int) -> int:
    """Return one of the four blocks of a fingerprint; block 0 is the topmost."""
    return signed((fingerprint >> np.uint64(48 - 16 * table)) & _BLOCK)


@inner
def search_recent(row: NDArray[np.int64], query: np.uint64, number: int, results: NDArray[np.int64], found: int) -> int:
    """Find everything within the radius of the row, at most 3 bits; the arguments are those of `near.search`."""
    count = row[COUNT]
    radius = np.uint64(row[RADIUS])
    stored, ids = array_at(row[FINGERPRINTS], np.uint64, count), array_at(row[OWNERS], np.int64, count)
    heads = array_at(row[HEADS], np.int32, BLOCKS * BLOCK_VALUES)
    links = array_at(row[LINKS], np.int32, BLOCKS * CAPACITY)
    before, steps = found, 0
    for table in range(BLOCKS):
        place = signed(heads[table * BLOCK_VALUES + block_of(query, table)])
        while place >= 0 and steps < LONG_LIST:
            distance = ones(stored[place] ^ query)
            if distance <= radius and ids[place] >= 0:
                found = note(results, found, number, signed(distance), ids[place])
            place = signed(links[table * CAPACITY + place])
            steps += 1
    if steps < LONG_LIST:
        return found
    found = before
    for place in range(count):
        distance = ones(stored[place] ^ query)
        if distance <= radius and ids[place] >= 0:
            found = note(results, found, number, signed(distance), ids[place])
    return found
