"""The fast look-up: everything within 3 bits, by the tags."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import numbers_at
from dedup.index.memory.owners import settle
from dedup.index.memory.ranges import begin, begin_ranges, collect, compare, note_in_long_ranges
from dedup.index.memory.recent import FINDS, FINDS_ROOM, RADIUS, ROOM, begin_recent, near_in_recent
from dedup.index.memory.segment import BLOCK_BITS, BLOCK_VALUES, BLOCKS, HAS_LONG, LONG_RANGE, MAX_DEEPER

MAX_RADIUS = 3
"""Beyond it, what differs need not have a block in common followed by one with at most one differing bit."""

ENTRIES_A_QUERY = BLOCKS * (1 + MAX_DEEPER) * LONG_RANGE
"""So many may be collected of a segment."""

_AHEAD = 8
_WAITING = 32


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
            have = collect(row, table, query, collected, have)
        for i in range(have):
            found = compare(row, query, radius, limit, collected[i], finds, found)
        if row[HAS_LONG]:
            for table in range(BLOCKS):
                found = note_in_long_ranges(row, table, query, radius, limit, finds, found)
    return found


@compiled
def look_up_many(
    parts: NDArray[np.int64], queries: NDArray[np.uint64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look up many fingerprints, table by table, each in the order of the table.

    So what is read for one query is often still at hand for the next.

    Args:
        parts: see `look_up`.
        queries: shape (q,).
        limit: how many finds are of interest, for each query.

    Returns:
        The finds as `look_up_few` writes them, and `ends`.
    """
    total = len(queries)
    finds, owners = np.empty((total + 1024, 2), np.int64), np.empty(total + 1024, np.int64)
    found = 0
    radius = np.uint64(parts[0, RADIUS])
    for query in range(total):
        now = near_in_recent(parts[0], queries[query], finds, found)
        while now > len(finds):
            finds, owners = _longer(finds, owners, now)
            now = near_in_recent(parts[0], queries[query], finds, found)
        for find in range(found, now):
            owners[find] = query
        found = now
    collected = np.empty(ENTRIES_A_QUERY + _WAITING, np.int64)
    asking = np.empty(ENTRIES_A_QUERY + _WAITING, np.int64)
    for table in range(BLOCKS):
        order = _order(queries, table)
        ordered = queries[order]
        for part in range(1, len(parts)):
            row = parts[part]
            have = 0
            for i in range(total):
                if i + 2 * _AHEAD < total:
                    begin(row, table, ordered[i + 2 * _AHEAD])
                    begin_ranges(row, table, ordered[i + _AHEAD])
                before = have
                have = collect(row, table, ordered[i], collected, have)
                for entry in range(before, have):
                    asking[entry] = i
                # They wait until the memory has answered, or there are no more.
                if have >= _WAITING or i == total - 1:
                    for entry in range(have):
                        fingerprint = ordered[asking[entry]]
                        now = compare(row, fingerprint, radius, limit, collected[entry], finds, found)
                        while now > len(finds):
                            finds, owners = _longer(finds, owners, now)
                            now = compare(row, fingerprint, radius, limit, collected[entry], finds, found)
                        for find in range(found, now):
                            owners[find] = order[asking[entry]]
                        found = now
                    have = 0
                if row[HAS_LONG]:
                    now = note_in_long_ranges(row, table, ordered[i], radius, limit, finds, found)
                    while now > len(finds):
                        finds, owners = _longer(finds, owners, now)
                        now = note_in_long_ranges(row, table, ordered[i], radius, limit, finds, found)
                    for find in range(found, now):
                        owners[find] = order[i]
                    found = now
    return _by_query(finds[:found], owners[:found], total, limit)


@compiled
def _order(queries: NDArray[np.uint64], table: int) -> NDArray[np.int64]:
    """Return the numbers of the queries in the order of a table's blocks."""
    starts = np.zeros(BLOCK_VALUES + 1, np.int64)
    shift, mask = np.uint64(48 - BLOCK_BITS * table), np.uint64(BLOCK_VALUES - 1)
    for query in range(len(queries)):
        starts[signed((queries[query] >> shift) & mask) + 1] += 1
    starts = np.cumsum(starts)
    order = np.empty(len(queries), np.int64)
    for query in range(len(queries)):
        block = signed((queries[query] >> shift) & mask)
        order[starts[block]] = query
        starts[block] += 1
    return order


@compiled
def _longer(
    finds: NDArray[np.int64], owners: NDArray[np.int64], room: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    longer, longer_owners = np.empty((2 * room, 2), np.int64), np.empty(2 * room, np.int64)
    longer[: len(finds)] = finds
    longer_owners[: len(owners)] = owners
    return longer, longer_owners


@compiled
def _by_query(
    finds: NDArray[np.int64], owners: NDArray[np.int64], total: int, limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    nexts = np.zeros(total + 1, np.int64)
    for i in range(len(owners)):
        nexts[owners[i] + 1] += 1
    nexts = np.cumsum(nexts)
    ordered = np.empty((len(finds), 2), np.int64)
    for i in range(len(owners)):
        place = nexts[owners[i]]
        nexts[owners[i]] = place + 1
        ordered[place, 0] = finds[i, 0]
        ordered[place, 1] = finds[i, 1]
    ends = np.empty(total, np.int64)
    first = kept = 0
    for query in range(total):
        after = settle(ordered, first, nexts[query], limit)
        for i in range(first, after):
            ordered[kept, 0] = ordered[i, 0]
            ordered[kept, 1] = ordered[i, 1]
            kept += 1
        ends[query] = kept
        first = nexts[query]
    return ordered[:kept], ends
