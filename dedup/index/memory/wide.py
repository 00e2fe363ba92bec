"""The general look-up: whatever a `ProbePlan` of four blocks promises, no more and no less.

Fingerprints of real texts crowd, and of what a wide look-up brings only the closest are wanted. So few
finds are kept in order while it goes on, and once there are enough nothing farther is looked at. Where
the ranges of the tables hold a large part of all fingerprints, these are read in their order instead.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS
from dedup.index.memory.addresses import fingerprints_at, numbers_at, prefetch, shorts_at, words_at
from dedup.index.memory.flips import Flips, firm_bits, first_probed, probe
from dedup.index.memory.owners import note, note_owners, offer, offer_owners, owner_of, settle
from dedup.index.memory.ranges import directory_of, range_at
from dedup.index.memory.recent import CAPACITY, FILLED, RECENT, RECENT_IDS, block_of
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, COUNT, FINGERPRINTS, POSITIONS, TAGS, tags_length

FEW = 1024
"""Up to so many finds of a query are kept in order while it is looked up."""

_AHEAD = 16
_AT_ONCE = 64
_WORDS = BLOCK_VALUES // BITS
_FULL_SCAN = 8
"""Where more than one of so many fingerprints would be jumped to, reading them all in their order is faster."""


@compiled
def look_up_wide(
    parts: NDArray[np.int64],
    queries: NDArray[np.uint64],
    margins: NDArray[np.int64],
    flips: Flips,
    radius: int,
    limit: int,
    start: int,
    finds: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Look up some fingerprints, from number `start` on.

    Args:
        parts: the table of addresses: the row of the newest fingerprints, then those of segments.
        queries: shape (q,).
        margins: the margins of their bits, shape (q, 64).
        flips: see `Flips`.
        radius: the largest distance of a find, in bits.
        limit: how many finds are of interest, for each query.
        start: the first query that is looked up; `ends` has been written for those before it.
        finds: receives distances and documents, the closest first, then by document, one query
            after the other; shape (m, 2).
        ends: receives for each query how many finds there are up to and with it, shape (q,).

    Returns:
        The number of the first query for whose finds there was no room; q if there is none.
    """
    # For each table which values are looked up, by flips that are always tried and by flips of weak bits.
    probed = np.zeros((2, BLOCKS, _WORDS), np.uint64)
    values = np.empty((BLOCKS, len(flips.exact) + (1 << flips.weak_bits)), np.int64)
    counts = np.empty(BLOCKS, np.int64)
    found = ends[start - 1] if start > 0 else 0
    for number in range(start, len(queries)):
        if limit <= FEW and len(finds) - found < limit:
            return number
        query = queries[number]
        probe(query, margins[number], flips, values, counts)
        for table in range(BLOCKS):
            for place in range(counts[table]):
                value = values[table, place]
                kind = 0 if place < flips.starts[table + 1] - flips.starts[table] else 1
                probed[kind, table, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        firm = firm_bits(margins[number], flips.firm_margin)
        now = found
        if limit > 0:
            now = _in_recent(parts[0], query, firm, probed, radius, limit, finds, found)
        for part in range(1, len(parts) if limit > 0 else 0):
            row = parts[part]
            if _jumps(row, values, counts) > row[COUNT] // _FULL_SCAN:
                now = _by_scan(row, query, firm, probed, radius, limit, finds, found, now)
            else:
                now = _by_tables(
                    row, query, firm, values, counts, flips.starts, probed, radius, limit, finds, found, now
                )
        for table in range(BLOCKS):
            for value in values[table, : counts[table]]:
                probed[:, table, value >> 6] = 0
        if limit > FEW:
            now = settle(finds, found, now, limit)
            if now > len(finds):
                return number
        ends[number] = found = now
    return len(queries)


@compiled
def _most(radius: int, limit: int, finds: NDArray[np.int64], start: int, found: int) -> np.uint64:
    """Return how far away something may be to be of interest still; of equally far ones the first document is."""
    return np.uint64(finds[found - 1, 0]) if limit <= FEW and found - start == limit else np.uint64(radius)


@compiled
def _take_owners(
    row: NDArray[np.int64],
    position: int,
    distance: int,
    limit: int,
    finds: NDArray[np.int64],
    start: int,
    found: int,
) -> int:
    if limit <= FEW:
        return offer_owners(row, position, distance, limit, finds, start, found)
    return note_owners(row, position, distance, limit, finds, found)


@compiled
def _is_any_within(block: NDArray[np.uint64], query: np.uint64, most: np.uint64) -> bool:
    # Without branches: the compiler does this for several at once.
    nearest = np.uint64(BITS)
    for place in range(len(block)):
        nearest = min(nearest, ones(block[place] ^ query))
    return bool(nearest <= most)


@compiled
def _in_recent(
    row: NDArray[np.int64],
    query: np.uint64,
    firm: np.uint64,
    probed: NDArray[np.uint64],
    radius: int,
    limit: int,
    finds: NDArray[np.int64],
    start: int,
) -> int:
    stored, ids = fingerprints_at(row[RECENT], CAPACITY), numbers_at(row[RECENT_IDS], CAPACITY)
    found = start
    most = np.uint64(radius)
    for first in range(0, row[FILLED], _AT_ONCE):
        after = min(first + _AT_ONCE, row[FILLED])
        if not _is_any_within(stored[first:after], query, most):
            continue
        for place in range(first, after):
            distance = ones(stored[place] ^ query)
            if distance <= most and ids[place] >= 0 and first_probed(probed, query, firm, stored[place]) < BLOCKS:
                if limit <= FEW:
                    found = offer(finds, start, found, limit, signed(distance), ids[place])
                else:
                    found = note(finds, found, signed(distance), ids[place])
                most = _most(radius, limit, finds, start, found)
    return found


@compiled
def _jumps(row: NDArray[np.int64], values: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Return how many entries of the tables 1 to 3 would be looked at."""
    jumps = signed(0)
    for table in range(1, BLOCKS):
        directory, deeper = directory_of(row, table)
        for value in values[table, : counts[table]]:
            first, after = range_at(directory, value << deeper, (value + 1) << deeper, row[COUNT])
            jumps += after - first
    return jumps


@compiled
def _by_scan(
    row: NDArray[np.int64],
    query: np.uint64,
    firm: np.uint64,
    probed: NDArray[np.uint64],
    radius: int,
    limit: int,
    finds: NDArray[np.int64],
    start: int,
    found: int,
) -> int:
    """Compare with every fingerprint of a segment."""
    count = row[COUNT]
    stored = fingerprints_at(row[FINGERPRINTS], count)
    most = _most(radius, limit, finds, start, found)
    for first in range(0, count, _AT_ONCE):
        after = min(first + _AT_ONCE, count)
        if not _is_any_within(stored[first:after], query, most):
            continue
        for position in range(first, after):
            distance = ones(stored[position] ^ query)
            if distance > most:
                continue
            # Most of those that are as far away as the last one come after it, where finds are kept in order.
            is_full = limit <= FEW and found - start == limit
            if is_full and distance == most and owner_of(row, position) > finds[found - 1, 1]:
                continue
            if first_probed(probed, query, firm, stored[position]) < BLOCKS:
                found = _take_owners(row, position, signed(distance), limit, finds, start, found)
                most = _most(radius, limit, finds, start, found)
    return found


@compiled
def _by_tables(
    row: NDArray[np.int64],
    query: np.uint64,
    firm: np.uint64,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    probed: NDArray[np.uint64],
    radius: int,
    limit: int,
    finds: NDArray[np.int64],
    start: int,
    found: int,
) -> int:
    """Compare with what stands in the ranges of a segment's tables."""
    count = row[COUNT]
    stored = fingerprints_at(row[FINGERPRINTS], count)
    most = _most(radius, limit, finds, start, found)
    directory, deeper = directory_of(row, 0)
    for value in values[0, : counts[0]]:
        first, after = range_at(directory, value << deeper, (value + 1) << deeper, count)
        for position in range(first, after):
            distance = ones(stored[position] ^ query)
            if distance <= most and first_probed(probed, query, firm, stored[position]) == 0:
                found = _take_owners(row, position, signed(distance), limit, finds, start, found)
                most = _most(radius, limit, finds, start, found)
    for table in range(1, BLOCKS):
        directory, deeper = directory_of(row, table)
        tags = shorts_at(row[TAGS] + 2 * (table - 1) * tags_length(count), count)
        positions = words_at(row[POSITIONS] + 4 * (table - 1) * count, count)
        block, tag = block_of(query, table), block_of(query, (table + 1) % BLOCKS)
        for number in range(counts[table]):
            value = values[table, number]
            is_exact = number < starts[table + 1] - starts[table]
            firm_in_tag = 0 if is_exact else block_of(firm, (table + 1) % BLOCKS)
            first, after = range_at(directory, value << deeper, (value + 1) << deeper, count)
            # What is left for the tag, as the block itself differs in so many bits.
            flipped = ones(np.uint64(value ^ block))
            for place in range(first, after):
                if place + _AHEAD < after:
                    prefetch(row[FINGERPRINTS] + 8 * signed(positions[place + _AHEAD]))
                differing = signed(tags[place]) ^ tag
                if differing & firm_in_tag != 0 or flipped + ones(np.uint64(differing)) > most:
                    continue
                position = signed(positions[place])
                # Positions of damaged files may be any number.
                if position >= count:
                    continue
                distance = ones(stored[position] ^ query)
                if distance <= most and first_probed(probed, query, firm, stored[position]) == table:
                    found = _take_owners(row, position, signed(distance), limit, finds, start, found)
                    most = _most(radius, limit, finds, start, found)
    return found
