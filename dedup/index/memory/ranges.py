"""What a table is read for: the ranges of a query's block, and of the tags in them within one bit."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at, prefetch, shorts_at, words_at
from dedup.index.memory.leaps import next_near
from dedup.index.memory.owners import note_owners
from dedup.index.memory.segment import (
    BLOCK_BITS,
    BLOCK_VALUES,
    BLOCKS,
    COUNT,
    DEEPER,
    DEEPER_FIRST,
    DIRECTORIES,
    FINGERPRINTS,
    FIRST_DIRECTORY,
    LONG_RANGE,
    OWNER_BYTES,
    OWNERS,
    POSITIONS,
    TAGS,
    tags_length,
)

_ONE = np.uint64(1)
_POSITION = (1 << 32) - 1
_LINE = 64
_AHEAD = 8 * _LINE
_TAGS_A_LINE = 32
_LOWEST_OF_FOUR = np.uint64(0x0001_0001_0001_0001)
_TOPMOST_OF_FOUR = np.uint64(0x8000_8000_8000_8000)


@compiled
def rotated(fingerprint: np.uint64, table: int) -> np.uint64:
    """Return the fingerprint as the table sorts it."""
    left = np.uint64(BLOCK_BITS * table)
    return (fingerprint << left) | (fingerprint >> ((np.uint64(64) - left) & np.uint64(63)))


@compiled
def directory_of(row: NDArray[np.int64], table: int) -> tuple[NDArray[np.uint32], int]:
    """Return the directory of a table, and how many bits beyond the block it tells apart."""
    if table == 0:
        return words_at(row[FIRST_DIRECTORY], (BLOCK_VALUES << row[DEEPER_FIRST]) + 1), row[DEEPER_FIRST]
    stride = (BLOCK_VALUES << row[DEEPER]) + 1
    return words_at(row[DIRECTORIES] + 4 * (table - 1) * stride, stride), row[DEEPER]


@compiled
def range_at(directory: NDArray[np.uint32], first: int, after: int, count: int) -> tuple[int, int]:
    """Return where the entries from one value on to another stand; damaged directories may say anything."""
    end = min(signed(directory[after]), count)
    return min(signed(directory[first]), end), end


@compiled
def begin(row: NDArray[np.int64], table: int, query: np.uint64) -> None:
    """Start reading the directory, for what follows."""
    if table == 0:
        prefetch(row[FIRST_DIRECTORY] + 4 * signed(query >> np.uint64(48 - row[DEEPER_FIRST])))
    else:
        place = signed(rotated(query, table) >> np.uint64(48 - row[DEEPER]))
        prefetch(row[DIRECTORIES] + 4 * ((table - 1) * ((BLOCK_VALUES << row[DEEPER]) + 1) + place))


@compiled
def begin_ranges(row: NDArray[np.int64], table: int, query: np.uint64) -> None:
    """Start reading the ranges that the directory names, for what follows."""
    directory, deeper = directory_of(row, table)
    value = signed(rotated(query, table) >> np.uint64(48 - deeper))
    size = 8 if table == 0 else 2
    address = row[FINGERPRINTS] if table == 0 else row[TAGS] + 2 * (table - 1) * tags_length(row[COUNT])
    for flip in range(-1, deeper):
        at = value if flip < 0 else value ^ (1 << flip)
        start = address + size * signed(directory[at])
        end = address + size * signed(directory[at + 1])
        for line in range(start, min(end, start + _AHEAD), _LINE):
            prefetch(line)
        prefetch(end - 1)


@compiled
def collect(row: NDArray[np.int64], table: int, query: np.uint64, collected: NDArray[np.int64], have: int) -> int:
    """Collect the entries of short ranges whose tag is within one bit.

    Args:
        row: that of the segment.
        table: the number of the table.
        query: the fingerprint looked for.
        collected: receives table << 32 | position; there must be room for all entries of short ranges.
        have: how many are in it.

    Returns:
        How many are in it then.
    """
    count = row[COUNT]
    directory, deeper = directory_of(row, table)
    top = rotated(query, table) >> np.uint64(32)
    value = signed(top >> np.uint64(BLOCK_BITS - deeper))
    stored = fingerprints_at(row[FINGERPRINTS], count)
    if table == 0:
        for flip in range(-1, deeper):
            at = value if flip < 0 else value ^ (1 << flip)
            first, after = range_at(directory, at, at + 1, count)
            if after - first > LONG_RANGE:
                continue
            # First all of them without a branch, so that the wide registers are used.
            some = stored[first:after]
            one_bit = 0
            for place in range(len(some)):
                bits = (some[place] ^ query) >> np.uint64(32)
                one_bit += 1 if bits & (bits - _ONE) == 0 else 0
            if one_bit == 0:
                continue
            for position in range(first, after):
                bits = (stored[position] ^ query) >> np.uint64(32)
                if bits & (bits - _ONE) == 0:
                    prefetch(row[OWNERS] + row[OWNER_BYTES] * position)
                    collected[have] = position
                    have += 1
        return have
    stride = tags_length(count)
    tags = shorts_at(row[TAGS] + 2 * (table - 1) * stride, stride)
    four_tags = fingerprints_at(row[TAGS] + 2 * (table - 1) * stride, stride >> 2)
    positions = words_at(row[POSITIONS] + 4 * (table - 1) * count, count)
    tag = signed(top & np.uint64(BLOCK_VALUES - 1))
    four = (top & np.uint64(BLOCK_VALUES - 1)) * _LOWEST_OF_FOUR
    for flip in range(-1, deeper):
        at = value if flip < 0 else value ^ (1 << flip)
        first, after = range_at(directory, at, at + 1, count)
        if after - first > LONG_RANGE:
            continue
        # The same with whole lines, so that the wide registers are used.
        words = four_tags[(first & -_TAGS_A_LINE) >> 2 : ((after + _TAGS_A_LINE - 1) & -_TAGS_A_LINE) >> 2]
        near = np.uint64(0)
        for word in range(len(words)):
            # Four at once: the topmost bit of a tag tells whether at most one bit differs. A borrow
            # from the tag below may set it wrongly, but only where that one's is set as well.
            differing_in_four = words[word] ^ four
            more = differing_in_four & (differing_in_four - _LOWEST_OF_FOUR)
            near |= (more - _LOWEST_OF_FOUR) & ~more & _TOPMOST_OF_FOUR
        if near == 0:
            continue
        for place in range(first, after):
            differing = signed(tags[place]) ^ tag
            if differing & (differing - 1) == 0:
                position = signed(positions[place])
                prefetch(row[FINGERPRINTS] + 8 * position)
                prefetch(row[OWNERS] + row[OWNER_BYTES] * position)
                collected[have] = (table << 32) | position
                have += 1
    return have


@compiled
def compare(
    row: NDArray[np.int64],
    query: np.uint64,
    radius: np.uint64,
    limit: int,
    entry: int,
    finds: NDArray[np.int64],
    found: int,
) -> int:
    """Note an entry that was collected if it is within the radius; return how many finds there are then."""
    position = entry & _POSITION
    # Positions of damaged files may be any number.
    if position >= row[COUNT]:
        return found
    differing = fingerprints_at(row[FINGERPRINTS], row[COUNT])[position] ^ query
    distance = ones(differing)
    if distance > radius or _finder(differing) != entry >> 32:
        return found
    return note_owners(row, position, signed(distance), limit, finds, found)


@compiled
def note_in_long_ranges(
    row: NDArray[np.int64],
    table: int,
    query: np.uint64,
    radius: np.uint64,
    limit: int,
    finds: NDArray[np.int64],
    found: int,
) -> int:
    """Note what is within the radius in the ranges that `collect` leaves out; return how many finds there are then."""
    directory, deeper = directory_of(row, table)
    value = signed(rotated(query, table) >> np.uint64(48 - deeper))
    positions = words_at(row[POSITIONS] + 4 * max(0, table - 1) * row[COUNT], row[COUNT])
    for flip in range(-1, deeper):
        at = value if flip < 0 else value ^ (1 << flip)
        place, after = range_at(directory, at, at + 1, row[COUNT])
        if after - place <= LONG_RANGE:
            continue
        while True:
            place = next_near(row, table, query, signed(radius), place, after)
            if place == after:
                break
            position = signed(place) if table == 0 else signed(positions[place])
            found = compare(row, query, radius, limit, (table << 32) | position, finds, found)
            place += 1
    return found


@compiled
def _finder(differing: np.uint64) -> int:
    """Return the first table that finds what differs in these bits, so that each is noted once."""
    for table in range(BLOCKS):
        top = rotated(differing, table) >> np.uint64(32)
        # The block is equal if nothing is above the tag; and the tag has at most one bit.
        if top < np.uint64(BLOCK_VALUES) and top & (top - _ONE) == 0:
            return table
    return BLOCKS
