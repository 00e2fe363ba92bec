"""The general look-up: whatever a `ProbePlan` of four blocks promises, no more and no less.

Fingerprints of real texts crowd, and of the results of a wide look-up only the closest are wanted. So
once there are enough results nothing farther is looked at. Where the ranges of the tables hold a large
part of all fingerprints, these are read in their order instead.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.addresses import array_at, prefetch
from dedup.index.memory.flips import Flips, firm_bits, first_probed, probe
from dedup.index.memory.ranges import position_of, range_of, tags_of
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, COUNT, FINGERPRINTS, POSITIONS
from dedup.index.memory.top_k import note_documents, rank
from dedup.signature.signature import BITS

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
    results: NDArray[np.int64],
    found: int,
) -> tuple[int, int]:
    """Look up some fingerprints, from number `start` on.

    Args:
        parts: the table of addresses: the row of the newest fingerprints, then those of segments.
        queries: shape (q,).
        margins: the margins of their bits, shape (q, 64).
        flips: see `Flips`.
        radius: the largest distance of a result, in bits.
        limit: how many results of a query are of interest; at least 1.
        start: the first query that is looked up.
        results: receives query, distance and document of each, the closest first, then by document, one
            query after the other; shape (m, 3).
        found: how many are in it.

    Returns:
        The number of the first query for whose results there was no room, q if there is none, and how
        many results there are up to it.
    """
    # For each table which values are looked up, by flips that are always tried and by flips of weak bits.
    probed = np.zeros((2, BLOCKS, _WORDS), np.uint64)
    values = np.empty((BLOCKS, len(flips.exact) + (1 << flips.weak_bits)), np.int64)
    counts = np.empty(BLOCKS, np.int64)
    for number in range(start, len(queries)):
        query = queries[number]
        probe(query, margins[number], flips, values, counts)
        for table in range(BLOCKS):
            always = flips.starts[table + 1] - flips.starts[table]
            for place in range(counts[table]):
                value = values[table, place]
                probed[0 if place < always else 1, table, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        firm = firm_bits(margins[number], flips.firm_margin)
        now, farthest = found, np.uint64(radius)
        for part in range(len(parts)):
            row = parts[part]
            entries = row[COUNT]
            if part > 0:
                entries = 0
                for table in range(1, BLOCKS):
                    for value in values[table, : counts[table]]:
                        first, after = range_of(row, table, value)
                        entries += after - first
            # The newest have no such tables.
            if part == 0 or entries > row[COUNT] // _FULL_SCAN:
                now, farthest = _scan(row, query, number, firm, probed, farthest, limit, results, found, now)
            else:
                now, farthest = _probe_tables(
                    row, query, number, firm, values, counts, flips.starts, probed, farthest, limit, results, found, now
                )
        for table in range(BLOCKS):
            for value in values[table, : counts[table]]:
                probed[:, table, value >> 6] = 0
        now = rank(results, found, now, limit)
        if now > len(results):
            return number, found
        found = now
    return len(queries), found


@inner
def _keep_closest(
    results: NDArray[np.int64], start: int, found: int, limit: int, farthest: np.uint64
) -> tuple[int, np.uint64]:
    """Leave the closest once there are many more than are wanted.

    Args:
        results: see `look_up_wide`.
        start: where those of the query begin.
        found: where they end.
        limit: how many are wanted.
        farthest: how far away a result may be.

    Returns:
        Where they end now, and how far away further ones may be.
    """
    if found - start < 2 * limit or found > len(results):
        return found, farthest
    found = rank(results, start, found, limit)
    return found, np.uint64(results[found - 1, 1]) if found - start == limit else farthest


@inner
def _scan(
    row: NDArray[np.int64],
    query: np.uint64,
    number: int,
    firm: np.uint64,
    probed: NDArray[np.uint64],
    farthest: np.uint64,
    limit: int,
    results: NDArray[np.int64],
    start: int,
    found: int,
) -> tuple[int, np.uint64]:
    """Compare with every fingerprint of a part."""
    count = row[COUNT]
    stored = array_at(row[FINGERPRINTS], np.uint64, count)
    for first in range(0, count, _AT_ONCE):
        some = stored[first : first + _AT_ONCE]
        # Without branches: the compiler does this for several at once.
        nearest = np.uint64(BITS)
        for place in range(len(some)):
            nearest = min(nearest, ones(some[place] ^ query))
        if nearest > farthest:
            continue
        for place in range(len(some)):
            distance = ones(some[place] ^ query)
            if distance <= farthest and first_probed(probed, query, firm, some[place]) < BLOCKS:
                found = note_documents(row, first + place, number, signed(distance), limit, results, found)
                found, farthest = _keep_closest(results, start, found, limit, farthest)
    return found, farthest


@inner
def _probe_tables(
    row: NDArray[np.int64],
    query: np.uint64,
    number: int,
    firm: np.uint64,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    probed: NDArray[np.uint64],
    farthest: np.uint64,
    limit: int,
    results: NDArray[np.int64],
    start: int,
    found: int,
) -> tuple[int, np.uint64]:
    """Compare with what stands in the ranges of a segment's tables."""
    stored = array_at(row[FINGERPRINTS], np.uint64, row[COUNT])
    for table in range(BLOCKS):
        tags = tags_of(row, max(1, table))
        positions = array_at(row[POSITIONS] + 4 * max(0, table - 1) * row[COUNT], np.uint32, row[COUNT])
        block, tag = block_of(query, table), block_of(query, (table + 1) % BLOCKS)
        for which in range(counts[table]):
            value = values[table, which]
            firm_in_tag = block_of(firm, (table + 1) % BLOCKS) if which >= starts[table + 1] - starts[table] else 0
            first, after = range_of(row, table, value)
            # What is left for the tag, as the block itself differs in so many bits.
            flipped = ones(np.uint64(value ^ block))
            for place in range(first, after):
                if table > 0:
                    if place + _AHEAD < after:
                        prefetch(row[FINGERPRINTS] + 8 * signed(positions[place + _AHEAD]))
                    differing = signed(tags[place]) ^ tag
                    if differing & firm_in_tag != 0 or flipped + ones(np.uint64(differing)) > farthest:
                        continue
                position = position_of(row, table, place)
                distance = ones(stored[position] ^ query)
                if distance <= farthest and first_probed(probed, query, firm, stored[position]) == table:
                    found = note_documents(row, position, number, signed(distance), limit, results, found)
                    found, farthest = _keep_closest(results, start, found, limit, farthest)
    return found, farthest
