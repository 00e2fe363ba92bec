"""The fast look-up: everything within 3 bits, by the tags; of one query, or of many.

Reading memory here and there takes longer than all the rest. So each step asks for all that the next
one reads, for some queries, tables and segments at a time.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.addresses import array_at, prefetch
from dedup.index.memory.near_tags import near_tags
from dedup.index.memory.ranges import compare, position_of, range_of
from dedup.index.memory.recent import BUFFER, RADIUS, RESULTS, RESULTS_LENGTH, block_of, search_recent
from dedup.index.memory.segment import (
    BLOCKS,
    COUNT,
    DIRECTORIES,
    DIRECTORY_LENGTH,
    FINGERPRINTS,
    HAS_LONG,
    LONG_RANGE,
    OWNER_BYTES,
    OWNERS,
    POSITIONS,
    TAGS,
    TAGS_A_LINE,
    TAGS_LENGTH,
)
from dedup.index.memory.skip_search import skip_search
from dedup.index.memory.top_k import rank

MAX_RADIUS = 3
"""Beyond it, what differs need not have a block in common followed by one with at most one differing bit."""

AT_ONCE = 64
"""So many queries are worked on at a time, in one table."""

BUFFER_LENGTH = AT_ONCE * LONG_RANGE + 2
"""So many entries of a segment may seem near to them. What is not needed takes no memory."""

_PLACE_BITS = 32
_PLACE = (1 << _PLACE_BITS) - 1
_LINE = 64
_ONE = np.uint64(1)


@compiled
def look_up(parts: NDArray[np.int64], query: int, limit: int) -> int:
    """Find everything within the radius for one query.

    The results are written where the first row says; another argument would cost as much as reading a table.

    Args:
        parts: the table of addresses: the row of the newest fingerprints, then those of segments.
        query: the fingerprint looked for, its 64 bits as a signed number.
        limit: how many results are of interest.

    Returns:
        How many results there are; if there was no room for so many, they have to be found again.
    """
    results = array_at(parts[0, RESULTS], np.int64, 3 * parts[0, RESULTS_LENGTH]).reshape((-1, 3))
    buffer = array_at(parts[0, BUFFER], np.int64, BUFFER_LENGTH)
    asked = buffer[:2].reshape((1, 2))
    asked[0, 0], asked[0, 1] = query, 0
    found = 0
    if parts[0, COUNT] > 0:
        found = search_recent(parts[0], np.uint64(query), 0, results, found)
    found = search(parts[1:], 0, BLOCKS, asked, np.uint64(parts[0, RADIUS]), limit, buffer[2:], results, found)
    return rank(results, 0, found, limit)


@compiled
def look_up_many(
    parts: NDArray[np.int64],
    table: int,
    asked: NDArray[np.int64],
    limit: int,
    results: NDArray[np.int64],
    found: int,
) -> tuple[NDArray[np.int64], int]:
    """Find what one table finds for many queries, and with table 0 what is near among the newest fingerprints too.

    Args:
        parts: see `look_up`.
        table: the number of the table.
        asked: the queries as signed numbers, and the number of each, in the order of the table's blocks; shape (q, 2).
        limit: how many results of a query are of interest.
        results: receives query, distance and document of each, in no order; shape (m, 3).
        found: how many are in it.

    Returns:
        The results, in a longer array where there was no room, and how many there are now.
    """
    radius = np.uint64(parts[0, RADIUS])
    buffer = np.empty(BUFFER_LENGTH, np.int64)
    for part in range(0 if table == 0 and parts[0, COUNT] > 0 else 1, len(parts)):
        for first in range(0, len(asked), AT_ONCE):
            some = asked[first : first + AT_ONCE]
            while True:
                now = found
                if part == 0:
                    for query, number in some:
                        now = search_recent(parts[0], np.uint64(query), number, results, now)
                else:
                    now = search(parts[part : part + 1], table, table + 1, some, radius, limit, buffer, results, now)
                if now <= len(results):
                    break
                longer = np.empty((2 * now, 3), np.int64)
                for i in range(found):
                    for column in range(3):
                        longer[i, column] = results[i, column]
                results = longer
            found = now
    return results, found


@inner
def search(
    rows: NDArray[np.int64],
    first_table: int,
    after_table: int,
    asked: NDArray[np.int64],
    radius: np.uint64,
    limit: int,
    buffer: NDArray[np.int64],
    results: NDArray[np.int64],
    found: int,
) -> int:
    """Find what some tables of segments find for some queries.

    Args:
        rows: those of the segments.
        first_table: the number of the first table.
        after_table: the number after that of the last one.
        asked: the queries as signed numbers, and the number of each; shape (q, 2), of which
            (after_table - first_table) * q is at most `AT_ONCE`.
        radius: the largest distance of a result, in bits; at most 3.
        limit: how many results of a query are of interest.
        buffer: room for what seems near.
        results: receives number of the query, distance and document of each, in no order; shape (m, 3).
        found: how many are in it.

    Returns:
        How many results there are now; those for which there was no room are counted too.
    """
    for row in rows:
        for table in range(first_table, after_table):
            for query in asked[:, 0]:
                prefetch(row[DIRECTORIES] + 4 * (DIRECTORY_LENGTH * table + block_of(np.uint64(query), table)))
    for row in rows:
        for table in range(first_table, after_table):
            size = 8 if table == 0 else 2
            start = row[FINGERPRINTS] if table == 0 else row[TAGS] + 2 * (table - 1) * row[TAGS_LENGTH]
            for query in asked[:, 0]:
                first, after = range_of(row, table, block_of(np.uint64(query), table))
                for line in range(first * size & -_LINE, min(after, first + LONG_RANGE) * size, _LINE):
                    prefetch(start + line)
    for row in rows:
        have = 0
        for table in range(first_table, after_table):
            block, first, after = -1, 0, 0
            for place in range(len(asked)):
                before = have
                query = np.uint64(asked[place, 0])
                # Of many queries several have the same block.
                if block_of(query, table) != block:
                    block = block_of(query, table)
                    first, after = range_of(row, table, block)
                have = collect(row, table, query, first, after, buffer, have)
                for i in range(before, have):
                    if table > 0:
                        prefetch(row[POSITIONS] + 4 * ((table - 1) * row[COUNT] + buffer[i]))
                    # Those of all tables and queries wait together.
                    buffer[i] |= (place * BLOCKS + table) << _PLACE_BITS
        for i in range(have):
            place = buffer[i] >> _PLACE_BITS
            position = position_of(row, place % BLOCKS, buffer[i] & _PLACE)
            prefetch(row[FINGERPRINTS] + 8 * position)
            prefetch(row[OWNERS] + row[OWNER_BYTES] * position)
            buffer[i] = place << _PLACE_BITS | position
        for i in range(have):
            place = buffer[i] >> _PLACE_BITS
            query, number = np.uint64(asked[place // BLOCKS, 0]), asked[place // BLOCKS, 1]
            position = buffer[i] & _PLACE
            found = compare(row, place % BLOCKS, position, query, number, radius, limit, results, found)
        if row[HAS_LONG]:
            for table in range(first_table, after_table):
                for query, number in asked:
                    first, after = range_of(row, table, block_of(np.uint64(query), table))
                    if after - first > LONG_RANGE:
                        found = skip_search(
                            row, table, first, after, np.uint64(query), number, radius, limit, results, found
                        )
    return found


@compiled
def collect(
    row: NDArray[np.int64], table: int, query: np.uint64, first: int, after: int, places: NDArray[np.int64], have: int
) -> int:
    """Collect the places of entries in a range that have a tag within one bit of the query's; none of a long range.

    Args:
        row: that of the segment.
        table: the number of the table.
        query: the fingerprint looked for.
        first: where the entries with its block begin.
        after: where they end.
        places: receives them; there must be room for `LONG_RANGE`.
        have: how many are in it.

    Returns:
        How many are in it then.
    """
    if after - first > LONG_RANGE:
        return have
    if table == 0:
        stored = array_at(row[FINGERPRINTS], np.uint64, row[COUNT])
        for start in range(first, after, TAGS_A_LINE):
            some = stored[start : min(start + TAGS_A_LINE, after)]
            # Without branches: the compiler does this for several at once, and few have any.
            near = 0
            for place in range(len(some)):
                bits = (some[place] ^ query) >> np.uint64(32)
                near += bits & (bits - _ONE) == 0
            if near:
                for place in range(len(some)):
                    bits = (some[place] ^ query) >> np.uint64(32)
                    if bits & (bits - _ONE) == 0:
                        places[have] = start + place
                        have += 1
        return have
    tags = row[TAGS] + 2 * (table - 1) * row[TAGS_LENGTH]
    tag = block_of(query, (table + 1) % BLOCKS)
    for line in range(first & -TAGS_A_LINE, after, TAGS_A_LINE):
        near = near_tags(tags + 2 * line, tag)
        while near:
            # The bits below the lowest that is 1 are as many as its number.
            place = line + signed(ones((near - _ONE) & ~near))
            if first <= place < after:
                places[have] = place
                have += 1
            near &= near - _ONE
    return have
