"""Through a long range of a table without reading it all.

A range is long where many fingerprints have bits in common. It is sorted by the other blocks: by
the tag, then by the two that are left. So whenever a block differs in too many bits, the next value
that does not is searched for. However long a range, at most 17 tags matter, and for each at most
697 values of the block after it.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at, words_at
from dedup.index.memory.segment import BLOCK_BITS, BLOCK_VALUES, COUNT, FINGERPRINTS, POSITIONS

_BLOCK = np.uint64(BLOCK_VALUES - 1)
_LEVELS = 3
_TAG_BITS = 1


@compiled
def next_near(row: NDArray[np.int64], table: int, query: np.uint64, radius: int, place: int, after: int) -> int:
    """Return the next place of a range where something within the radius stands.

    Args:
        row: that of the segment.
        table: the number of the table.
        query: the fingerprint looked for.
        radius: the largest distance of a find, in bits; at most 3.
        place: where to start; all from there on have the query's block.
        after: where the range ends.

    Returns:
        The place; `after` if there is none.
    """
    sought = _sorted_by(query, table)
    while place < after:
        key = _key_at(row, table, place)
        wanted = _next_key(key, sought, radius)
        if wanted == key:
            return place
        if wanted >> np.uint64(_LEVELS * BLOCK_BITS) != 0:
            return after
        # By steps twice as long each time, then by halves: the next is often not far.
        step = 1
        low = place
        while place + step < after and _key_at(row, table, place + step) < wanted:
            low = place + step
            step *= 2
        high = min(place + step, after)
        low += 1
        while low < high:
            middle = (low + high) >> 1
            if _key_at(row, table, middle) < wanted:
                low = middle + 1
            else:
                high = middle
        place = low
    return after


@compiled
def _key_at(row: NDArray[np.int64], table: int, place: int) -> np.uint64:
    position = place
    if table > 0:
        position = signed(words_at(row[POSITIONS] + 4 * (table - 1) * row[COUNT], row[COUNT])[place])
        # Of a damaged file.
        position = min(position, row[COUNT] - 1)
    return _sorted_by(fingerprints_at(row[FINGERPRINTS], row[COUNT])[position], table)


@compiled
def _sorted_by(fingerprint: np.uint64, table: int) -> np.uint64:
    """Return the three blocks by which a range is sorted: the tag, then the others as in the fingerprint."""
    tag = (table + 1) & 3
    key = _block(fingerprint, tag)
    for block in range(4):
        if block not in (tag, table):
            key = (key << np.uint64(BLOCK_BITS)) | _block(fingerprint, block)
    return key


@compiled
def _block(fingerprint: np.uint64, block: int) -> np.uint64:
    return (fingerprint >> np.uint64(48 - BLOCK_BITS * block)) & _BLOCK


@compiled
def _next_key(key: np.uint64, sought: np.uint64, radius: int) -> np.uint64:
    """Return the smallest key from this one on that is within the radius, or at least none that is not smaller.

    What it returns is the key itself only where this is within the radius.
    """
    left = radius
    for level in range(_LEVELS):
        shift = np.uint64(BLOCK_BITS * (_LEVELS - 1 - level))
        value, block = (key >> shift) & _BLOCK, (sought >> shift) & _BLOCK
        wanted = next_within(value, block, min(left, _TAG_BITS) if level == 0 else left)
        if wanted != value:
            # Beyond the last value this is the next of the level above.
            return ((key >> shift) - value + wanted) << shift
        left -= signed(ones(value ^ block))
    return key


@compiled
def next_within(value: np.uint64, block: np.uint64, differing: int) -> np.uint64:
    """Return the smallest number from `value` on that differs from a block in at most so many bits; 65,536 if none."""
    if signed(ones(value ^ block)) <= differing:
        return value
    for bit in range(BLOCK_BITS):
        place = np.uint64(bit)
        if (value >> place) & np.uint64(1):
            continue
        # The same bits above, a 1 here instead of the 0, and below whatever is smallest.
        above = (value >> place) | np.uint64(1)
        left = differing - signed(ones(above ^ (block >> place)))
        if left < 0:
            continue
        below = block & ((np.uint64(1) << place) - np.uint64(1))
        for lower in range(bit - 1, -1, -1):
            mask = np.uint64(1) << np.uint64(lower)
            if left > 0 and below & mask:
                below ^= mask
                left -= 1
        return (above << place) | below
    return np.uint64(BLOCK_VALUES)
