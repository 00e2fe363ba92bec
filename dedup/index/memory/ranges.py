"""What a table is read for: the ranges of a query's block, and of the tags in them within one bit."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at, prefetch, words_at
from dedup.index.memory.leaps import next_near
from dedup.index.memory.lines import FINGERPRINTS_A_LINE, TAGS_A_LINE, near_fingerprints, near_tags
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
PLACE_BITS = 32
PLACE = (1 << PLACE_BITS) - 1
_LINE = 64
_AHEAD = 24 * _LINE


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
def block_of_table(query: np.uint64, table: int) -> int:
    """Return the block by which a table is sorted first."""
    return signed(rotated(query, table) >> np.uint64(64 - BLOCK_BITS))


@compiled
def range_of_block(row: NDArray[np.int64], table: int, query: np.uint64) -> tuple[int, int]:
    """Return where the entries that have the block of a query stand."""
    directory, deeper = directory_of(row, table)
    block = block_of_table(query, table)
    return range_at(directory, block << deeper, (block + 1) << deeper, row[COUNT])


@compiled
def tags_address(row: NDArray[np.int64], table: int) -> int:
    """Return where the tags of a table stand; table 0 has none, and nothing is to be read there."""
    return int(row[TAGS] + 2 * (table - 1) * tags_length(row[COUNT]))


@compiled
def tag_shift(table: int) -> np.uint64:
    """Return by how many bits a fingerprint is shifted for its tag to be the lowest 16."""
    return np.uint64((32 - BLOCK_BITS * table) & 63)


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
    for flip in range(-1, deeper):
        at = value if flip < 0 else value ^ (1 << flip)
        _begin_range(row, table, signed(directory[at]), signed(directory[at + 1]))


@compiled
def begin_block(row: NDArray[np.int64], table: int, query: np.uint64) -> None:
    """Start reading all that have the block of a query."""
    start, end = range_of_block(row, table, query)
    _begin_range(row, table, start, end)


@compiled
def _begin_range(row: NDArray[np.int64], table: int, first: int, after: int) -> None:
    size = 8 if table == 0 else 2
    address = row[FINGERPRINTS] if table == 0 else tags_address(row, table)
    start, end = address + size * first, address + size * after
    for line in range(start, min(end, start + _AHEAD), _LINE):
        prefetch(line)
    prefetch(end - 1)


@compiled
def begin_place(row: NDArray[np.int64], table: int, place: int) -> None:
    """Start reading which fingerprint stands at a place of a table."""
    if table > 0:
        prefetch(row[POSITIONS] + 4 * ((table - 1) * row[COUNT] + place))


@compiled
def begin_entry(row: NDArray[np.int64], table: int, place: int) -> int:
    """Start reading the fingerprint at a place, and whose it is; return what `compare` takes."""
    position = place
    if table > 0:
        position = signed(words_at(row[POSITIONS] + 4 * (table - 1) * row[COUNT], row[COUNT])[place])
    prefetch(row[FINGERPRINTS] + 8 * position)
    prefetch(row[OWNERS] + row[OWNER_BYTES] * position)
    return (table << PLACE_BITS) | position


@compiled
def collect(row: NDArray[np.int64], table: int, query: np.uint64, places: NDArray[np.int64], have: int) -> int:
    """Collect the places of short ranges whose tag is within one bit.

    Args:
        row: that of the segment.
        table: the number of the table.
        query: the fingerprint looked for.
        places: receives them; there must be room for all entries of short ranges.
        have: how many are in it.

    Returns:
        How many are in it then.
    """
    directory, deeper = directory_of(row, table)
    value = signed(rotated(query, table) >> np.uint64(48 - deeper))
    for flip in range(-1, deeper):
        at = value if flip < 0 else value ^ (1 << flip)
        first, after = range_at(directory, at, at + 1, row[COUNT])
        if after - first > LONG_RANGE:
            continue
        if table == 0:
            have = _collect_fingerprints(row, query, first, after, places, have)
        else:
            have = collect_tags(tags_address(row, table), query >> tag_shift(table), first, after, places, have)
    return have


@compiled
def collect_tags(address: int, tag: np.uint64, first: int, after: int, places: NDArray[np.int64], have: int) -> int:
    """Collect the places of a range of tags that are within one bit.

    Lines are read as a whole, so that there must be tags up to the end of the last.

    Args:
        address: where the tag of place 0 stands.
        tag: the lowest 16 bits of it are looked for.
        first: where the range starts.
        after: where it ends.
        places: receives them.
        have: how many are in it.

    Returns:
        How many are in it then.
    """
    for line in range(first & -TAGS_A_LINE, after, TAGS_A_LINE):
        near = near_tags(address + 2 * line, tag)
        if near:
            have = _note_places(near, line, first, after, places, have)
    return have


@compiled
def _collect_fingerprints(
    row: NDArray[np.int64], query: np.uint64, first: int, after: int, places: NDArray[np.int64], have: int
) -> int:
    """Collect the places of a range of table 0, in which tags are parts of fingerprints."""
    if row[COUNT] < FINGERPRINTS_A_LINE:
        # All of them are fewer than can be read at once.
        stored = fingerprints_at(row[FINGERPRINTS], row[COUNT])
        for place in range(first, after):
            bits = (stored[place] ^ query) >> np.uint64(32)
            if bits & (bits - _ONE) == 0:
                places[have] = place
                have += 1
        return have
    for place in range(first, after, FINGERPRINTS_A_LINE):
        # The last line of all would end beyond the array.
        line = min(place, row[COUNT] - FINGERPRINTS_A_LINE)
        near = near_fingerprints(row[FINGERPRINTS] + 8 * line, query)
        if near:
            have = _note_places(near, line, place, after, places, have)
    return have


@compiled
def _note_places(near: np.uint64, line: int, first: int, after: int, places: NDArray[np.int64], have: int) -> int:
    """Note the places from `first` to before `after` whose bits are 1; that of place `line` is the lowest."""
    while near:
        # The bits below the lowest that is 1 are as many as its number.
        place = line + signed(ones((near - _ONE) & ~near))
        if first <= place < after:
            places[have] = place
            have += 1
        near &= near - _ONE
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
    position = entry & PLACE
    # Positions of damaged files may be any number.
    if position >= row[COUNT]:
        return found
    differing = fingerprints_at(row[FINGERPRINTS], row[COUNT])[position] ^ query
    distance = ones(differing)
    if distance > radius or _finder(differing) != entry >> PLACE_BITS:
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
            found = compare(row, query, radius, limit, (table << PLACE_BITS) | position, finds, found)
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
