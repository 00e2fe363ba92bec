"""The newest fingerprints: four hash tables with lists, of a fixed size, before they become a segment.

Its row in the table of addresses is the first. Documents that were removed have the id -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at, numbers_at, offsets_at, prefetch
from dedup.index.memory.owners import note
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, ROW

CAPACITY = 1 << 15
"""So many are compared with a query where the lists are of no use: in some 7 us."""

_FINDS = 1024

LONG_LIST = 256
"""Following so many links costs as much as comparing with several thousand fingerprints."""

# The columns of the row.
FILLED, RADIUS, RECENT, RECENT_IDS, HEADS, LINKS, ROOM, FINDS, FINDS_ROOM = range(9)

REMOVED_ID = -1

_BLOCK = np.uint64(BLOCK_VALUES - 1)


class Recent:
    """The arrays behind the first row.

    Args:
        radius: the largest distance of a find, in bits, for kernels that find all within a radius.
        room: how many numbers kernels need room for, while they look something up.

    Attributes:
        row: what kernels are told; they count in it.
        fingerprints: in the order in which they came, shape (CAPACITY,).
        ids: whose they are.
        finds: receives what a single query finds, shape (m, 2); see `make_room`.
    """

    def __init__(self, radius: int, room: int) -> None:
        self.fingerprints = np.empty(CAPACITY, np.uint64)
        self.ids = np.empty(CAPACITY, np.int64)
        self._heads = np.full((BLOCKS, BLOCK_VALUES), -1, np.int32)
        self._links = np.empty((BLOCKS, CAPACITY), np.int32)
        arrays = self.fingerprints, self.ids, self._heads, self._links
        self.row = np.zeros(ROW, np.int64)
        self.row[: LINKS + 1] = 0, radius, *(array.ctypes.data for array in arrays)
        self._room = np.empty(room, np.int64)
        self.row[ROOM] = self._room.ctypes.data
        self.finds = np.empty((_FINDS, 2), np.int64)
        self.row[[FINDS, FINDS_ROOM]] = self.finds.ctypes.data, len(self.finds)
        self.nbytes = sum(array.nbytes for array in arrays)

    def make_room(self, row: NDArray[np.int64], finds: int) -> None:
        """Make room for so many finds, and write into the row where."""
        self.finds = np.empty((finds, 2), np.int64)
        row[[FINDS, FINDS_ROOM]] = self.finds.ctypes.data, finds

    def clear(self) -> None:
        """Forget everything."""
        self._heads.fill(-1)


@compiled
def append(row: NDArray[np.int64], document: int, fingerprint: np.uint64) -> int:
    """Store a fingerprint and return how many there are now; there must be room for it."""
    place = row[FILLED]
    fingerprints_at(row[RECENT], CAPACITY)[place] = fingerprint
    numbers_at(row[RECENT_IDS], CAPACITY)[place] = document
    heads = offsets_at(row[HEADS], BLOCKS * BLOCK_VALUES)
    links = offsets_at(row[LINKS], BLOCKS * CAPACITY)
    for table in range(BLOCKS):
        head = table * BLOCK_VALUES + block_of(fingerprint, table)
        links[table * CAPACITY + place] = heads[head]
        heads[head] = place
    row[FILLED] = place + 1
    return int(place + 1)


@compiled
def add_one(parts: NDArray[np.int64], document: int, fingerprint: int) -> int:
    """Store a fingerprint, given as a signed number, and return how many there are now; there must be room for it."""
    return append(parts[0], document, np.uint64(fingerprint))


@compiled
def add_many(parts: NDArray[np.int64], ids: NDArray[np.int64], fingerprints: NDArray[np.uint64], start: int) -> int:
    """Store as many fingerprints as there is room for, from number `start` on, and return the number after them."""
    after = min(len(ids), start + CAPACITY - parts[0, FILLED])
    for i in range(start, after):
        append(parts[0], ids[i], fingerprints[i])
    return int(after)


@compiled
def remove_recent(parts: NDArray[np.int64], document: int, fingerprint: int) -> int:
    """Mark a document as removed, wherever it stands with this fingerprint; return how often it did."""
    row = parts[0]
    stored, ids = fingerprints_at(row[RECENT], CAPACITY), numbers_at(row[RECENT_IDS], CAPACITY)
    links = offsets_at(row[LINKS], BLOCKS * CAPACITY)
    sought = np.uint64(fingerprint)
    removed = 0
    place = signed(offsets_at(row[HEADS], BLOCKS * BLOCK_VALUES)[block_of(sought, 0)])
    while place >= 0:
        if stored[place] == sought and ids[place] == document:
            ids[place] = REMOVED_ID
            removed += 1
        place = signed(links[place])
    return removed


@compiled
def block_of(fingerprint: np.uint64, table: int) -> int:
    """Return one of the four blocks of a fingerprint; block 0 is the topmost."""
    return signed((fingerprint >> np.uint64(48 - 16 * table)) & _BLOCK)


@compiled
def begin_recent(row: NDArray[np.int64], query: np.uint64) -> None:
    """Start reading the heads of the lists of a query."""
    for table in range(BLOCKS):
        prefetch(row[HEADS] + 4 * (table * BLOCK_VALUES + block_of(query, table)))


@compiled
def near_in_recent(row: NDArray[np.int64], query: np.uint64, finds: NDArray[np.int64], found: int) -> int:
    """Find everything within the radius of the row, at most 3 bits.

    Args:
        row: the first row of the table of addresses.
        query: the fingerprint looked for.
        finds: receives distances and documents, shape (m, 2).
        found: how many are in it.

    Returns:
        How many finds there are now; those for which there was no room are counted too.
    """
    filled = row[FILLED]
    if filled == 0:
        return found
    radius = np.uint64(row[RADIUS])
    stored, ids = fingerprints_at(row[RECENT], CAPACITY), numbers_at(row[RECENT_IDS], CAPACITY)
    heads = offsets_at(row[HEADS], BLOCKS * BLOCK_VALUES)
    links = offsets_at(row[LINKS], BLOCKS * CAPACITY)
    before = found
    steps = 0
    for table in range(BLOCKS):
        place = signed(heads[table * BLOCK_VALUES + block_of(query, table)])
        while place >= 0:
            differing = stored[place] ^ query
            if ones(differing) <= radius and ids[place] >= 0 and first_equal_block(differing) == table:
                found = note(finds, found, signed(ones(differing)), ids[place])
            place = signed(links[table * CAPACITY + place])
            steps += 1
            if steps == LONG_LIST:
                break
        if steps == LONG_LIST:
            break
    if steps < LONG_LIST:
        return found
    found = before
    near = 0
    for place in range(filled):
        near += 1 if ones(stored[place] ^ query) <= radius else 0
    if near > 0:
        for place in range(filled):
            differing = ones(stored[place] ^ query)
            if differing <= radius and ids[place] >= 0:
                found = note(finds, found, signed(differing), ids[place])
    return found


@compiled
def first_equal_block(differing: np.uint64) -> int:
    """Return the first block without a differing bit; 4 where there is none."""
    table = 0
    while table < BLOCKS and block_of(differing, table) != 0:
        table += 1
    return table
