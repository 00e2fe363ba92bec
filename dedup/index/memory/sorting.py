"""The compiled sorts: of fingerprints with their documents, and of a table's entries by their tags.

All are stable and take linear time whatever the data: nothing is slower because bits are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled

_FEW = 24
_BYTE = np.uint64(0xFF)


@compiled
def partition(
    fingerprints: NDArray[np.uint64],
    ids: NDArray[np.int64],
    ordered: NDArray[np.uint64],
    moved: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sort fingerprints by their first block, with their documents.

    Args:
        fingerprints: shape (n,).
        ids: shape (n,).
        ordered: receives the fingerprints.
        moved: receives the ids in the same order.

    Returns:
        Where each block's value starts, shape (65537,).
    """
    starts = np.zeros((1 << 16) + 1, np.int64)
    for i in range(len(fingerprints)):
        starts[signed(fingerprints[i] >> np.uint64(48)) + 1] += 1
    starts = np.cumsum(starts)
    nexts = starts.copy()
    for i in range(len(fingerprints)):
        block = signed(fingerprints[i] >> np.uint64(48))
        place = nexts[block]
        nexts[block] = place + 1
        ordered[place] = fingerprints[i]
        moved[place] = ids[i]
    return starts


@compiled
def sort_in_blocks(fingerprints: NDArray[np.uint64], ids: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
    """Sort what `partition` has left, in place: by the next byte, then by the one after it, and so on."""
    longest = 0
    for block in range(len(starts) - 1):
        longest = max(longest, starts[block + 1] - starts[block])
    spare, spare_ids = np.empty(longest, np.uint64), np.empty(longest, np.int64)
    counts = np.empty(257, np.int64)
    # At most 255 runs wait at each of 6 bytes.
    waiting = np.empty((6 * 256, 3), np.int64)
    for block in range(len(starts) - 1):
        if starts[block + 1] - starts[block] < 2:
            continue
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = starts[block], starts[block + 1], 40
        depth = 1
        while depth > 0:
            depth -= 1
            first, after, shift = waiting[depth]
            if after - first <= _FEW:
                _insert(fingerprints, ids, first, after)
                continue
            counts[:] = 0
            for i in range(first, after):
                counts[signed((fingerprints[i] >> np.uint64(shift)) & _BYTE) + 1] += 1
            for byte in range(256):
                counts[byte + 1] += counts[byte]
                if shift > 0 and counts[byte + 1] - counts[byte] > 1:
                    waiting[depth] = first + counts[byte], first + counts[byte + 1], shift - 8
                    depth += 1
            for i in range(first, after):
                byte = signed((fingerprints[i] >> np.uint64(shift)) & _BYTE)
                spare[counts[byte]] = fingerprints[i]
                spare_ids[counts[byte]] = ids[i]
                counts[byte] += 1
            fingerprints[first:after] = spare[: after - first]
            ids[first:after] = spare_ids[: after - first]


@compiled
def _insert(fingerprints: NDArray[np.uint64], ids: NDArray[np.int64], first: int, after: int) -> None:
    for i in range(first + 1, after):
        fingerprint, document = fingerprints[i], ids[i]
        place = i
        while place > first and fingerprints[place - 1] > fingerprint:
            fingerprints[place] = fingerprints[place - 1]
            ids[place] = ids[place - 1]
            place -= 1
        fingerprints[place] = fingerprint
        ids[place] = document


@compiled
def sort_by_tag(
    tags: NDArray[np.uint16],
    positions: NDArray[np.uint32],
    spare: tuple[NDArray[np.uint16], NDArray[np.uint32], NDArray[np.int64]],
) -> None:
    """Sort the entries of one block in place.

    Args:
        tags: shape (m,).
        positions: shape (m,).
        spare: room for as many tags and positions, and for counts of two bytes, shape (2, 257).
    """
    length = len(tags)
    if length <= _FEW:
        for i in range(1, length):
            tag, position = tags[i], positions[i]
            place = i
            while place > 0 and tags[place - 1] > tag:
                tags[place] = tags[place - 1]
                positions[place] = positions[place - 1]
                place -= 1
            tags[place] = tag
            positions[place] = position
        return
    other_tags, other_positions, counts = spare
    counts[:] = 0
    for i in range(length):
        tag = signed(tags[i])
        counts[0, (tag & 0xFF) + 1] += 1
        counts[1, (tag >> 8) + 1] += 1
    for byte in range(256):
        counts[0, byte + 1] += counts[0, byte]
        counts[1, byte + 1] += counts[1, byte]
    for i in range(length):
        byte = signed(tags[i]) & 0xFF
        place = counts[0, byte]
        counts[0, byte] = place + 1
        other_tags[place] = tags[i]
        other_positions[place] = positions[i]
    for i in range(length):
        byte = signed(other_tags[i]) >> 8
        place = counts[1, byte]
        counts[1, byte] = place + 1
        tags[place] = other_tags[i]
        positions[place] = other_positions[i]
