"""Segments: the parts of the index that no longer change, sorted and as small as they get.

The fingerprints of a segment are sorted, each stands once, and its place is its position. Table 0
is this array itself. The tables 1 to 3 are sorted by the fingerprint rotated to the left by 16, 32
and 48 bits; of what stands in them only the second block of 16 bits (the tag) and the position are
kept, 6 bytes: the first block follows from the place, by a directory. If two fingerprints differ
in at most 3 bits, some block is equal and the one after it, cyclically, differs in at most 1 bit:
otherwise every equal block would be followed by one with at least 2 differing bits, and with e
equal blocks there would be at least 2e + (4 - 2e) = 4 of them. So for radius 3 the tag says who is
worth looking at. 3 * 6 + 8 bytes, and 4 or 8 for the document's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled

Owners = NDArray[np.int32] | NDArray[np.int64]

BLOCKS = 4
BLOCK_BITS = 16
BLOCK_VALUES = 1 << BLOCK_BITS
MAX_FINGERPRINTS = (1 << 32) - 2

LONG_RANGE = 512
"""Entries; in a longer range those that matter are searched for instead of all being read."""

MAX_DEEPER = 8
"""How many bits beyond the block a directory tells apart at most."""

_RANGE_COST = 4.0

ARRAYS = ("fingerprints", "owners", "starts", "members", "first_directory", "directories", "tags", "positions")

# What stands where in a segment's row of the table of addresses that kernels work on.
COUNT, DEEPER, DEEPER_FIRST, FINGERPRINTS, OWNERS, OWNER_BYTES, LOWEST, GROUPS = range(8)
STARTS, MEMBERS, MEMBER_IDS, FIRST_DIRECTORY, DIRECTORIES, TAGS, POSITIONS, REMOVED = range(8, 16)
HAS_LONG = 16
ROW = 17


@dataclass(eq=False)
class Segment:
    """The arrays of a segment of n fingerprints.

    Attributes:
        fingerprints: ascending, each once, uint64 of shape (n,).
        owners: whose they are: the id of the document minus `lowest`, or where there are several
            documents, ~g with the number g of their group; int32 or int64 of shape (n,).
        lowest: what is added to the owners, the smallest document id.
        highest: the largest document id.
        starts: where in `members` each group starts, int64 of shape (g + 1,).
        members: the ids of documents with a fingerprint in common, ascending in a group; int64.
        first_directory: for each value of the top bits of a fingerprint the first position with
            it or a higher one; uint32 of shape (2**b + 1,).
        directories: the same for the tables 1 to 3, uint32 of shape (3, 2**c + 1).
        tags: of the tables 1 to 3: block t + 1 of the fingerprint, uint16 of shape (3, n); some
            zeros more, up to the next multiple of 32.
        positions: and its position; entries of one block are sorted by tag, then by position;
            uint32 of shape (3, n).
        removed: which documents were removed: bit p that at position p, bit n + m the member m;
            None where none was.
    """

    fingerprints: NDArray[np.uint64]
    owners: Owners
    lowest: int
    highest: int
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    first_directory: NDArray[np.uint32]
    directories: NDArray[np.uint32]
    tags: NDArray[np.uint16]
    positions: NDArray[np.uint32]
    removed: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.fingerprints)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by their names, in the order in which they stand in files."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def documents(self) -> int:
        """How many documents there are, without those removed."""
        all_of_them = len(self) - (len(self.starts) - 1) + len(self.members)
        return all_of_them - (int(np.bitwise_count(self.removed).sum()) if self.removed is not None else 0)

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """What kernels are told of the segment; the arrays have to be kept as long as it is used."""
        row = np.zeros(ROW, np.int64)
        row[COUNT] = len(self)
        row[DEEPER] = depth(self.directories.shape[1])
        row[DEEPER_FIRST] = depth(len(self.first_directory))
        row[OWNER_BYTES], row[LOWEST] = self.owners.itemsize, self.lowest
        row[GROUPS], row[MEMBERS] = len(self.starts) - 1, len(self.members)
        places = (FINGERPRINTS, OWNERS, STARTS, MEMBER_IDS, FIRST_DIRECTORY, DIRECTORIES, TAGS, POSITIONS)
        for place, array in zip(places, self.arrays.values(), strict=True):
            row[place] = array.ctypes.data
        if self.removed is not None:
            row[REMOVED] = self.removed.ctypes.data
        directories = self.first_directory, *self.directories
        row[HAS_LONG] = max(longest_range(directory) for directory in directories) > LONG_RANGE
        return row

    def remove(self, slot: int) -> None:
        """Mark a document as removed; see `removed`."""
        if self.removed is None:
            self.removed = np.zeros((len(self) + len(self.members) + 7) >> 3, np.uint8)
            self.row[REMOVED] = self.removed.ctypes.data
        self.removed[slot >> 3] |= np.uint8(1 << (slot & 7))


@compiled
def longest_range(directory: NDArray[np.uint32]) -> int:
    """Return how many entries stand in the longest range of a directory."""
    longest = signed(0)
    for value in range(len(directory) - 1):
        longest = max(longest, signed(directory[value + 1]) - signed(directory[value]))
    return longest


@compiled
def tags_length(count: int) -> int:
    """Return how many tags a table of so many entries is given room for: lines of the cache are read as a whole."""
    return (count + 31) & -32


def depth(directory_length: int) -> int:
    """Return how many bits beyond the first block a directory of this length tells apart."""
    return (directory_length - 1).bit_length() - 1 - BLOCK_BITS


def directory_shapes(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of the first directory and of the others, for so many fingerprints."""
    first, others = (BLOCK_VALUES << _deeper(count, entries) for entries in (8, 32))
    return (first + 1,), (BLOCKS - 1, others + 1)


def _deeper(count: int, entries: int) -> int:
    """Return how many bits beyond the block a directory should tell apart, where so many entries fill a cache line.

    With d such bits, 1 + d ranges are read, one for each way to flip at most one of them. Finding a
    range costs about as much as reading four lines.
    """
    lines = count / BLOCK_VALUES / entries
    return min(range(MAX_DEEPER + 1), key=lambda deeper: (1 + deeper) * (_RANGE_COST + lines / 2**deeper))


def empty_owners(count: int, lowest: int, highest: int, groups: int) -> Owners:
    """Return room for so many owners of these ids, or of at most so many groups, as narrow as may be."""
    if max(highest - lowest, groups) < 1 << 31:
        return np.empty(count, np.int32)
    return np.empty(count, np.int64)
