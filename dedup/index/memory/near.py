"""The fast look-up: everything within 3 bits, by the tags."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.index.memory.addresses import numbers_at
from dedup.index.memory.owners import settle
from dedup.index.memory.ranges import (
    PLACE,
    PLACE_BITS,
    begin,
    begin_entry,
    begin_place,
    begin_ranges,
    collect,
    compare,
    note_in_long_ranges,
)
from dedup.index.memory.recent import FINDS, FINDS_ROOM, RADIUS, ROOM, begin_recent, near_in_recent
from dedup.index.memory.segment import BLOCKS, HAS_LONG, LONG_RANGE, MAX_DEEPER

MAX_RADIUS = 3
"""Beyond it, what differs need not have a block in common followed by one with at most one differing bit."""

ENTRIES_A_QUERY = BLOCKS * (1 + MAX_DEEPER) * LONG_RANGE
"""So many may be collected of a segment."""


@compiled
def look_up(parts: NDArray[np.int64], query: int, limit: int) -> int:
    """Find everything within the radius: distances and documents, the closest first, then by document.

    They are written where the first row says; another argument would cost as much as reading a table.

    Args:
        parts: the table of addresses: the row of the newest fingerprints, then those of segments.
        query: the fingerprint looked for, its 64 bits as a signed number.
        limit: how many finds are of interest.

    Returns:
        How many finds there are; if there was no room for so many, they have to be found again.
    """
    finds = numbers_at(parts[0, FINDS], 2 * parts[0, FINDS_ROOM]).reshape((-1, 2))
    return settle(finds, 0, _near(parts, np.uint64(query), limit, finds, 0), limit)


@compiled
def look_up_few(
    parts: NDArray[np.int64],
    queries: NDArray[np.uint64],
    limit: int,
    start: int,
    finds: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Look up some fingerprints in their order, from number `start` on.

    Args:
        parts: see `look_up`.
        queries: shape (q,).
        limit: how many finds are of interest, for each query.
        start: the first query that is looked up; `ends` has been written for those before it.
        finds: receives distances and documents, one query after the other; shape (m, 2).
        ends: receives for each query how many finds there are up to and with it, shape (q,).

    Returns:
        The number of the first query for whose finds there was no room; q if there is none.
    """
    found = ends[start - 1] if start > 0 else 0
    for query in range(start, len(queries)):
        now = settle(finds, found, _near(parts, queries[query], limit, finds, found), limit)
        if now > len(finds):
            return query
        ends[query] = found = now
    return len(queries)


@compiled
def _near(parts: NDArray[np.int64], query: np.uint64, limit: int, finds: NDArray[np.int64], found: int) -> int:
    # First everything that has to be waited for is asked for.
    begin_recent(parts[0], query)
    for part in range(1, len(parts)):
        for table in range(BLOCKS):
            begin(parts[part], table, query)
    for part in range(1, len(parts)):
        for table in range(BLOCKS):
            begin_ranges(parts[part], table, query)
    found = near_in_recent(parts[0], query, finds, found)
    radius = np.uint64(parts[0, RADIUS])
    collected = numbers_at(parts[0, ROOM], ENTRIES_A_QUERY)
    for part in range(1, len(parts)):
        row = parts[part]
        have = 0
        for table in range(BLOCKS):
            before = have
            have = collect(row, table, query, collected, have)
            for i in range(before, have):
                begin_place(row, table, collected[i])
                # Places of all tables wait together.
                collected[i] |= table << PLACE_BITS
        for i in range(have):
            collected[i] = begin_entry(row, collected[i] >> PLACE_BITS, collected[i] & PLACE)
        for i in range(have):
            found = compare(row, query, radius, limit, collected[i], finds, found)
        if row[HAS_LONG]:
            for table in range(BLOCKS):
                found = note_in_long_ranges(row, table, query, radius, limit, finds, found)
    return found
