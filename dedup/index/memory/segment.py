"""Segments: the parts of the index that no longer change, sorted and as small as they get.

The fingerprints of a segment are sorted, each stands once, and its place is its position. Table 0
is this array itself. The tables 1 to 3 are sorted by the fingerprint rotated to the left by 16, 32
and 48 bits; of what stands in them only the second block of 16 bits (the tag) and the position are
kept, 6 bytes: the first block follows from the place, by a directory. If two fingerprints differ
in at most 3 bits, some block is equal and the one after it, cyclically, differs in at most 1 bit:
otherwise every equal block would be followed by one with at least 2 differing bits, and with e
equal blocks there would be at least 2e + (4 - 2e) = 4 of them. So for radius 3 the tag says what is
worth comparing. 3 * 6 + 8 bytes, and 4 or 8 for the document's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Owners = NDArray[np.int32] | NDArray[np.int64]

BLOCKS = 4
BLOCK_BITS = 16
BLOCK_VALUES = 1 << BLOCK_BITS
MAX_FINGERPRINTS = (1 << 32) - 2

DIRECTORY_LENGTH = BLOCK_VALUES + 1

TAGS_A_LINE = 32
"""Tags of a cache line: compiled functions read whole lines, so that tables end with one."""

LONG_RANGE = 4096
"""Entries; in a longer range those that matter are searched for instead of all being read."""

# The columns of a segment's row in the table of addresses that compiled functions work on.
COUNT, FINGERPRINTS, OWNERS, OWNER_BYTES, LOWEST, GROUPS, STARTS, MEMBERS, MEMBER_IDS = range(9)
DIRECTORIES, TAGS, TAGS_LENGTH, POSITIONS, REMOVED, HAS_LONG = range(9, 15)
ROW = 21


@dataclass(eq=False)
class Segment:
    """The arrays of a segment of n fingerprints.

    Attributes:
        fingerprints: ascending, each once, uint64 of shape (n,).
        owners: the id of a fingerprint's document minus `lowest`, or where there are several
            documents, ~g with the number g of their group; int32 or int64 of shape (n,).
        lowest: what is added to the owners, the smallest document id.
        highest: the largest document id.
        starts: where in `members` each group starts, int64 of shape (g + 1,).
        members: the ids of documents with a fingerprint in common, ascending in a group; int64.
        directories: for each table and value of its first block the first place with it or a higher
            one; uint32 of shape (4, 65537).
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
    directories: NDArray[np.uint32]
    tags: NDArray[np.uint16]
    positions: NDArray[np.uint32]
    removed: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.fingerprints)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = self.fingerprints, self.owners, self.starts, self.members, self.directories, self.tags, self.positions
        return sum(array.nbytes for array in arrays)

    @property
    def documents(self) -> int:
        """How many documents there are, without those removed."""
        all_of_them = len(self) - (len(self.starts) - 1) + len(self.members)
        return all_of_them - (int(np.bitwise_count(self.removed).sum()) if self.removed is not None else 0)

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """What compiled functions are told of the segment; the arrays have to be kept as long as it is used."""
        row = np.zeros(ROW, np.int64)
        row[COUNT], row[TAGS_LENGTH] = len(self), self.tags.shape[1]
        row[OWNER_BYTES], row[LOWEST] = self.owners.itemsize, self.lowest
        row[GROUPS], row[MEMBERS] = len(self.starts) - 1, len(self.members)
        row[FINGERPRINTS], row[OWNERS] = self.fingerprints.ctypes.data, self.owners.ctypes.data
        row[STARTS], row[MEMBER_IDS] = self.starts.ctypes.data, self.members.ctypes.data
        row[DIRECTORIES], row[TAGS] = self.directories.ctypes.data, self.tags.ctypes.data
        row[POSITIONS] = self.positions.ctypes.data
        if self.removed is not None:
            row[REMOVED] = self.removed.ctypes.data
        row[HAS_LONG] = np.diff(self.directories.astype(np.int64)).max() > LONG_RANGE
        return row

    def remove(self, document_id: int, fingerprint: np.uint64) -> bool:
        """Mark a document as removed, if it is there with this fingerprint; return whether it was."""
        slot = self._slot(document_id, fingerprint)
        if slot is None:
            return False
        if self.removed is None:
            self.removed = np.zeros((len(self) + len(self.members) + 7) >> 3, np.uint8)
            self.row[REMOVED] = self.removed.ctypes.data
        bit = np.uint8(1 << (slot & 7))
        was_there = not self.removed[slot >> 3] & bit
        self.removed[slot >> 3] |= bit
        return was_there

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the documents that were not removed, and the fingerprint of each, in the order of the fingerprints."""
        owners = self.owners.astype(np.int64)
        is_group = owners < 0
        # Of damaged files groups may not exist, end anywhere, and overlap.
        starts = np.clip(self.starts, 0, len(self.members))
        groups = np.where(is_group, np.minimum(~owners, len(starts) - 1), 0)
        sizes = np.where(is_group, np.maximum(np.diff(starts, append=0), 0)[groups], 1)
        sizes[np.cumsum(sizes) > len(self) + len(self.members)] = 0
        ids, of_groups = np.repeat(owners + self.lowest, sizes), np.repeat(is_group, sizes)
        # Where each entry of a group stands among the members.
        places = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = (np.repeat(starts[groups], sizes) + places)[of_groups]
        ids[of_groups] = self.members[places]
        fingerprints = np.repeat(self.fingerprints, sizes)
        if self.removed is None:
            return ids, fingerprints
        slots = np.repeat(np.arange(len(self)), sizes)
        slots[of_groups] = len(self) + places
        is_there = np.unpackbits(self.removed, bitorder="little")[slots] == 0
        return ids[is_there], fingerprints[is_there]

    def _slot(self, document_id: int, fingerprint: np.uint64) -> int | None:
        """Return the number of a document's bit in `removed`; None where it does not stand with this fingerprint."""
        position = int(np.searchsorted(self.fingerprints, fingerprint))
        if position == len(self) or self.fingerprints[position] != fingerprint:
            return None
        owner = int(self.owners[position])
        if owner >= 0:
            return position if owner + self.lowest == document_id else None
        if ~owner >= len(self.starts) - 1:
            return None  # of a damaged file
        first, after = np.clip(self.starts[~owner : ~owner + 2], 0, len(self.members)).tolist()
        member = first + int(np.searchsorted(self.members[first:after], document_id))
        return len(self) + member if member < after and self.members[member] == document_id else None
