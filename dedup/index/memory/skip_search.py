"""Through a long range of a table without reading it all.

A range is long where many fingerprints have a block in common. It is sorted by the tag, and what has
the same tag by the fingerprint. So each of the 17 tags within one bit is searched for, and among
those that have it, whenever a fingerprint differs in too many bits, the next value that does not.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.addresses import array_at
from dedup.index.memory.ranges import compare, position_of, tags_of
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_BITS, BLOCKS, COUNT, FINGERPRINTS

_ONE = np.uint64(1)
_NO_VALUE = np.uint64(0)
_FEW = 64
"""Entries; so few are read more quickly than skipped."""


@inner
def skip_search(
    row: NDArray[np.int64],
    table: int,
    first: int,
    after: int,
    query: np.uint64,
    number: int,
    radius: np.uint64,
    limit: int,
    results: NDArray[np.int64],
    found: int,
) -> int:
    """Note what is within the radius in a range of entries that have the query's block.

    Args:
        row: that of the segment.
        table: the number of the table.
        first: where the range begins.
        after: where it ends.
        query: the fingerprint looked for.
        number: that of the query.
        radius: the largest distance of a result, in bits; at most 3.
        limit: how many results of a query are of interest.
        results: receives query, distance and document of each; shape (m, 3).
        found: how many are in it.

    Returns:
        How many results there are now.
    """
    stored = array_at(row[FINGERPRINTS], np.uint64, row[COUNT])
    tag_shift = np.uint64((32 - BLOCK_BITS * table) % 64)
    for flip in range(-1, BLOCK_BITS):
        sought, left = query, signed(radius)
        if flip >= 0:
            sought ^= _ONE << (tag_shift + np.uint64(flip))
            left -= 1
        if left < 0:
            break
        tag = block_of(sought, (table + 1) % BLOCKS)
        place, end = first_with_tag(row, table, tag, first, after), first_with_tag(row, table, tag + 1, first, after)
        while place < end:
            position = position_of(row, table, place)
            wanted = next_within(stored[position], sought, left) if end - place > _FEW else stored[position]
            if wanted == stored[position]:
                found = compare(row, table, position, query, number, radius, limit, results, found)
                place += 1
                continue
            if wanted == _NO_VALUE:
                break
            # By steps twice as long each time, then by halves: the next is often not far.
            step = 1
            while place + step < end and stored[position_of(row, table, place + step)] < wanted:
                place += step
                step *= 2
            high = min(place + step, end)
            place += 1
            while place < high:
                middle = (place + high) >> 1
                if stored[position_of(row, table, middle)] < wanted:
                    place = middle + 1
                else:
                    high = middle
    return found


@inner
def first_with_tag(row: NDArray[np.int64], table: int, tag: int, first: int, after: int) -> int:
    """Return the first place of a range whose entry has this tag or a higher one."""
    tags, stored = tags_of(row, max(1, table)), array_at(row[FINGERPRINTS], np.uint64, row[COUNT])
    while first < after:
        middle = (first + after) >> 1
        if (block_of(stored[middle], 1) if table == 0 else signed(tags[middle])) < tag:
            first = middle + 1
        else:
            after = middle
    return first


@compiled
def next_within(value: np.uint64, sought: np.uint64, bits: int) -> np.uint64:
    """Return the smallest number from `value` on that differs from another in at most so many bits; 0 if none does."""
    if signed(ones(value ^ sought)) <= bits:
        return value
    for bit in range(64):
        place = np.uint64(bit)
        if (value >> place) & _ONE:
            continue
        # The same bits above, a 1 here instead of the 0, and below whatever is smallest.
        above = (value >> place) | _ONE
        left = bits - signed(ones(above ^ (sought >> place)))
        if left < 0:
            continue
        below = sought & ((_ONE << place) - _ONE)
        for lower in range(bit - 1, -1, -1):
            mask = _ONE << np.uint64(lower)
            if left > 0 and below & mask:
                below ^= mask
                left -= 1
        return (above << place) | below
    return _NO_VALUE
