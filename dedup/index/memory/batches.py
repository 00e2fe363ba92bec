"""Many look-ups at once: table by table, each in the order of the table's blocks.

As long as the blocks are not too large, each is read as a whole, once for all queries that have it, and
stays at hand meanwhile. What seems near there stands anywhere in the memory; it is looked at when
many such places have been asked for.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at
from dedup.index.memory.lines import TAGS_A_LINE
from dedup.index.memory.owners import settle
from dedup.index.memory.ranges import (
    begin,
    begin_block,
    begin_entry,
    begin_place,
    begin_ranges,
    block_of_table,
    collect,
    collect_tags,
    compare,
    note_in_long_ranges,
    range_of_block,
    tag_shift,
    tags_address,
)
from dedup.index.memory.recent import FILLED, RADIUS, near_in_recent
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, COUNT, FINGERPRINTS, HAS_LONG, LONG_RANGE, MAX_DEEPER

_WHOLE = 8 * LONG_RANGE
"""Entries; no larger block is read as a whole: all of it may seem near, to each of its queries."""

_BYTES_A_QUERY = 4096
"""So much of a block a query may cost. Memory is fetched ahead up to the end of a page, but not beyond."""

_WAITING = 128
"""So many places are asked for before the first is looked at."""

_ROOM = _WAITING + (1 + MAX_DEEPER) * LONG_RANGE
"""One query more may come to the last but one that waits: with all of a block, or of its short ranges."""

_AHEAD = 8


@compiled
def look_up_many(
    parts: NDArray[np.int64], queries: NDArray[np.uint64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look up many fingerprints.

    Args:
        parts: see `look_up`.
        queries: shape (q,).
        limit: how many finds are of interest, for each query.

    Returns:
        The finds as `look_up_few` writes them, and `ends`.
    """
    finds, found = _many_in_recent(parts[0], queries)
    waiting, tags = np.empty((2, _ROOM), np.int64), np.empty(_WHOLE + 2 * TAGS_A_LINE, np.uint16)
    radius = np.uint64(parts[0, RADIUS])
    for table in range(BLOCKS):
        asked = _in_order(queries, table)
        for part in range(1, len(parts)):
            finds, found = _many_in_table(parts[part], table, asked, radius, limit, waiting, tags, finds, found)
    return _by_query(finds[:found], len(queries), limit)


@compiled
def _many_in_recent(row: NDArray[np.int64], queries: NDArray[np.uint64]) -> tuple[NDArray[np.int64], int]:
    """Find everything among the newest: distances, documents and numbers of queries; say how many finds there are."""
    finds, found = np.empty((len(queries) + 1024, 3), np.int64), 0
    if row[FILLED] == 0:
        return finds, found
    for query in range(len(queries)):
        now = near_in_recent(row, queries[query], finds, found)
        while now > len(finds):
            finds = _longer(finds, now)
            now = near_in_recent(row, queries[query], finds, found)
        finds[found:now, 2] = query
        found = now
    return finds, found


@compiled
def _in_order(queries: NDArray[np.uint64], table: int) -> NDArray[np.uint64]:
    """Return the queries in the order of a table's blocks, each with its number."""
    starts = np.zeros(BLOCK_VALUES + 1, np.int64)
    for query in queries:
        starts[block_of_table(query, table) + 1] += 1
    starts = np.cumsum(starts)
    asked = np.empty((len(queries), 2), np.uint64)
    for number in range(len(queries)):
        block = block_of_table(queries[number], table)
        asked[starts[block], 0] = queries[number]
        asked[starts[block], 1] = number
        starts[block] += 1
    return asked


@compiled
def _many_in_table(
    row: NDArray[np.int64],
    table: int,
    asked: NDArray[np.uint64],
    radius: np.uint64,
    limit: int,
    waiting: NDArray[np.int64],
    tags: NDArray[np.uint16],
    finds: NDArray[np.int64],
    found: int,
) -> tuple[NDArray[np.int64], int]:
    """Find everything that a table finds.

    Args:
        row: that of the segment.
        table: the number of the table.
        asked: see `_in_order`.
        radius: the largest distance of a find, in bits.
        limit: how many finds of a query are of interest.
        waiting: room for places that were not looked at yet, and for who asks.
        tags: room for those of a block.
        finds: receives distances, documents and numbers of queries, shape (m, 3).
        found: how many are in it.

    Returns:
        The finds, in a longer array where that one was too short, and how many there are.
    """
    have = first = begun = 0
    places, askers = waiting[0], waiting[1]
    while first < len(asked):
        after = _end_of_block(asked, first, table)
        start, end = range_of_block(row, table, asked[first, 0])
        is_whole = _is_whole(table, end - start, after - first)
        address = _write_tags(row, start, end, tags) if is_whole and table == 0 else tags_address(row, table)
        if is_whole:
            begun = _begin_blocks(row, table, asked, max(begun, after), min(after + _AHEAD, len(asked)))
        for asking in range(first, after):
            query = asked[asking, 0]
            before = have
            if is_whole:
                have = collect_tags(address, query >> tag_shift(table), start, end, places, have)
            else:
                _begin_ranges_ahead(row, table, asked, asking)
                have = collect(row, table, query, places, have)
                if row[HAS_LONG]:
                    finds, found = _note_in_long_ranges(row, table, asked[asking], radius, limit, finds, found)
            for entry in range(before, have):
                begin_place(row, table, places[entry])
                askers[entry] = asking
            if have >= _WAITING:
                finds, found = _compare(row, table, asked, radius, limit, waiting[:, :have], finds, found)
                have = 0
        first = after
    return _compare(row, table, asked, radius, limit, waiting[:, :have], finds, found)


@compiled
def _end_of_block(asked: NDArray[np.uint64], first: int, table: int) -> int:
    """Return the first query that has not the block of query `first`."""
    block = block_of_table(asked[first, 0], table)
    after = first + 1
    while after < len(asked) and block_of_table(asked[after, 0], table) == block:
        after += 1
    return after


@compiled
def _is_whole(table: int, entries: int, queries: int) -> bool:
    """Say whether a block is read as a whole for so many queries, instead of a few ranges for each."""
    return entries <= _WHOLE and entries * (8 if table == 0 else 2) <= queries * _BYTES_A_QUERY


@compiled
def _write_tags(row: NDArray[np.int64], start: int, end: int, tags: NDArray[np.uint16]) -> int:
    """Write the tags of a range of table 0, which has none; return the address where that of position 0 would be."""
    # Lines of tags begin where they do in other tables.
    line = start & -TAGS_A_LINE
    stored = fingerprints_at(row[FINGERPRINTS], row[COUNT])[line:end]
    for place in range(len(stored)):
        tags[place] = np.uint16(stored[place] >> np.uint64(32))
    return int(tags.ctypes.data) - 2 * line


@compiled
def _begin_blocks(row: NDArray[np.int64], table: int, asked: NDArray[np.uint64], first: int, after: int) -> int:
    """Start reading the blocks of some queries, each once, and the directory for later ones; return `after`."""
    for asking in range(first, after):
        if asking + _AHEAD < len(asked):
            begin(row, table, asked[asking + _AHEAD, 0])
        if block_of_table(asked[asking, 0], table) != block_of_table(asked[asking - 1, 0], table):
            begin_block(row, table, asked[asking, 0])
    return after


@compiled
def _begin_ranges_ahead(row: NDArray[np.int64], table: int, asked: NDArray[np.uint64], asking: int) -> None:
    """Start reading what some of the next queries need, if their blocks are not read as a whole either."""
    if asking + 2 * _AHEAD < len(asked):
        begin(row, table, asked[asking + 2 * _AHEAD, 0])
        begin_ranges(row, table, asked[asking + _AHEAD, 0])


@compiled
def _compare(
    row: NDArray[np.int64],
    table: int,
    asked: NDArray[np.uint64],
    radius: np.uint64,
    limit: int,
    waiting: NDArray[np.int64],
    finds: NDArray[np.int64],
    found: int,
) -> tuple[NDArray[np.int64], int]:
    """Note what is within the radius of all that waits; see `_many_in_table`."""
    entries, askers = waiting[0], waiting[1]
    for i in range(len(entries)):
        entries[i] = begin_entry(row, table, entries[i])
    for i in range(len(entries)):
        query, number = asked[askers[i], 0], signed(asked[askers[i], 1])
        now = compare(row, query, radius, limit, entries[i], finds, found)
        while now > len(finds):
            finds = _longer(finds, now)
            now = compare(row, query, radius, limit, entries[i], finds, found)
        for find in range(found, now):
            finds[find, 2] = number
        found = now
    return finds, found


@compiled
def _note_in_long_ranges(
    row: NDArray[np.int64],
    table: int,
    asking: NDArray[np.uint64],
    radius: np.uint64,
    limit: int,
    finds: NDArray[np.int64],
    found: int,
) -> tuple[NDArray[np.int64], int]:
    query, number = asking
    now = note_in_long_ranges(row, table, query, radius, limit, finds, found)
    while now > len(finds):
        finds = _longer(finds, now)
        now = note_in_long_ranges(row, table, query, radius, limit, finds, found)
    finds[found:now, 2] = signed(number)
    return finds, now


@compiled
def _longer(finds: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    longer = np.empty((2 * room, 3), np.int64)
    longer[: len(finds)] = finds
    return longer


@compiled
def _by_query(finds: NDArray[np.int64], total: int, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bring the finds into the order of the queries, and those of each into theirs."""
    nexts = np.zeros(total + 1, np.int64)
    for i in range(len(finds)):
        nexts[finds[i, 2] + 1] += 1
    nexts = np.cumsum(nexts)
    ordered = np.empty((len(finds), 2), np.int64)
    for i in range(len(finds)):
        place = nexts[finds[i, 2]]
        nexts[finds[i, 2]] = place + 1
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
