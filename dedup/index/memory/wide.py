"""The general look-up: whatever a `ProbePlan` of four blocks promises, no more and no less."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS
from dedup.index.lookups.kernels import ones
from dedup.index.memory.addresses import fingerprints_at, numbers_at, prefetch, shorts_at, signed, words_at
from dedup.index.memory.owners import note, note_owners, settle
from dedup.index.memory.ranges import directory_of, range_at
from dedup.index.memory.recent import CAPACITY, FILLED, RECENT, RECENT_IDS, block_of
from dedup.index.memory.segment import (
    BLOCK_BITS,
    BLOCK_VALUES,
    BLOCKS,
    COUNT,
    FINGERPRINTS,
    POSITIONS,
    TAGS,
    tags_length,
)
from dedup.index.probes import ProbePlan

_AHEAD = 16
_WORDS = BLOCK_VALUES // BITS
_FULL_SCAN = 4
"""Where more than one of so many fingerprints would be jumped to, reading them all in their order is faster."""


class Flips(NamedTuple):
    """How the blocks of a query are flipped, for compiled functions.

    Attributes:
        exact: the flips that are always tried, as bits of the block, those of one table behind those
            of the other; shape (m,).
        starts: where each table's start in `exact`, shape (5,).
        exact_bits: how many bits those of a table flip at most; -1 where there are none, shape (4,).
        weak_bits: of how many of the weakest bits flips of more bits are tried.
        max_flips: how many of these, the likeliest.
        firm_margin: what these bring agrees in all bits whose margin exceeds so many times the root
            of the sum of all margins.
    """

    exact: NDArray[np.int64]
    starts: NDArray[np.int64]
    exact_bits: NDArray[np.int64]
    weak_bits: int
    max_flips: int
    firm_margin: float

    @classmethod
    def of(cls, plan: ProbePlan) -> Flips:
        """Make them of a plan for four blocks."""
        exact_bits = plan.design.flips_needed(plan.exact_radius)
        exact = [
            [
                sum(1 << place for place in places)
                for count in range(bits + 1)
                for places in combinations(range(BLOCK_BITS), count)
            ]
            for bits in exact_bits
        ]
        starts = np.cumsum([0, *(len(each) for each in exact)])
        flat = np.array([flip for each in exact for flip in each], np.int64)
        return cls(
            flat, starts, np.array(exact_bits), min(plan.weak_bits, BLOCK_BITS), plan.max_flips, plan.firm_margin
        )


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
    most = np.uint64(radius)
    for number in range(start, len(queries)):
        query = queries[number]
        for table in range(BLOCKS):
            counts[table] = probe(query, margins[number], table, flips, values[table])
            for place in range(counts[table]):
                value = values[table, place]
                kind = 0 if place < flips.starts[table + 1] - flips.starts[table] else 1
                probed[kind, table, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        firm = firm_bits(margins[number], flips.firm_margin)
        now = _wide_in_recent(parts[0], query, firm, probed, most, finds, found)
        for part in range(1, len(parts)):
            now = _wide_in_segment(
                parts[part], query, firm, values, counts, flips.starts, probed, most, limit, finds, now
            )
        for table in range(BLOCKS):
            for value in values[table, : counts[table]]:
                probed[:, table, value >> 6] = 0
        now = settle(finds, found, now, limit)
        if now > len(finds):
            return number
        ends[number] = found = now
    return len(queries)


@compiled
def probe(
    query: np.uint64,
    margins: NDArray[np.int64],
    table: int,
    flips: Flips,
    values: NDArray[np.int64],
) -> int:
    """Write the values of a block that are looked up, each once, and return how many; see `ProbePlan`."""
    weak_bits, max_flips = flips.weak_bits, flips.max_flips
    block = block_of(query, table)
    count = 0
    for place in range(flips.starts[table], flips.starts[table + 1]):
        values[count] = block ^ flips.exact[place]
        count += 1
    if weak_bits == 0 or max_flips == 0:
        return count
    # The weakest bits, of equally weak ones the topmost first.
    weakest = np.empty(BLOCK_BITS, np.int64)
    for bit in range(BLOCK_BITS - 1, -1, -1):
        place = BLOCK_BITS - 1 - bit
        margin = margins[BLOCK_BITS * (BLOCKS - 1 - table) + bit]
        while place > 0 and margins[BLOCK_BITS * (BLOCKS - 1 - table) + weakest[place - 1]] > margin:
            weakest[place] = weakest[place - 1]
            place -= 1
        weakest[place] = bit
    # The cheapest so far, in order; equally dear flips in the order in which they come.
    most = min(max_flips, 1 << weak_bits)
    costs, cheapest = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    have = 0
    sums, flipped = np.zeros(1 << weak_bits, np.int64), np.zeros(1 << weak_bits, np.int64)
    for rank in range(weak_bits):
        half = 1 << rank
        margin = margins[BLOCK_BITS * (BLOCKS - 1 - table) + weakest[rank]]
        for subset in range(half):
            sums[half + subset] = sums[subset] + margin
            flipped[half + subset] = flipped[subset] | 1 << weakest[rank]
    for subset in range(1 << weak_bits):
        if signed(ones(np.uint64(subset))) <= flips.exact_bits[table]:
            continue
        cost, flip = sums[subset], flipped[subset]
        if have == most and cost >= costs[most - 1]:
            continue
        place = have
        while place > 0 and costs[place - 1] > cost:
            costs[place] = costs[place - 1]
            cheapest[place] = cheapest[place - 1]
            place -= 1
        costs[place] = cost
        cheapest[place] = flip
        have = min(have + 1, most)
    for place in range(have):
        values[count] = block ^ cheapest[place]
        count += 1
    return count


@compiled
def firm_bits(margins: NDArray[np.int64], firm_margin: float) -> np.uint64:
    """Return the bits in which what weak flips bring has to agree with the query; see `ProbePlan.firm_bits`."""
    firm = np.uint64(0)
    # Without a bound this would be a product of nothing and infinity for a text without features.
    if firm_margin < np.inf:
        bound = firm_margin * np.sqrt(np.float64(margins.sum()))
        for bit in range(BITS):
            if margins[bit] > bound:
                firm |= np.uint64(1) << np.uint64(bit)
    return firm


@compiled
def first_probed(probed: NDArray[np.uint64], query: np.uint64, firm: np.uint64, stored: np.uint64) -> int:
    """Return the first table in which a look-up brings a stored fingerprint; 4 where none does."""
    for table in range(BLOCKS):
        value = block_of(stored, table)
        word, shift = value >> 6, np.uint64(value & 63)
        if (probed[0, table, word] >> shift) & np.uint64(1):
            return table
        below = ~(np.uint64(BLOCK_VALUES - 1) << np.uint64(BLOCK_BITS * (BLOCKS - 1 - table)))
        if (probed[1, table, word] >> shift) & np.uint64(1) and (stored ^ query) & firm & below == 0:
            return table
    return BLOCKS


@compiled
def _wide_in_recent(
    row: NDArray[np.int64],
    query: np.uint64,
    firm: np.uint64,
    probed: NDArray[np.uint64],
    radius: np.uint64,
    finds: NDArray[np.int64],
    found: int,
) -> int:
    stored, ids = fingerprints_at(row[RECENT], CAPACITY), numbers_at(row[RECENT_IDS], CAPACITY)
    for place in range(row[FILLED]):
        distance = ones(stored[place] ^ query)
        if distance <= radius and ids[place] >= 0 and first_probed(probed, query, firm, stored[place]) < BLOCKS:
            found = note(finds, found, signed(distance), ids[place])
    return found


@compiled
def _wide_in_segment(
    row: NDArray[np.int64],
    query: np.uint64,
    firm: np.uint64,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    probed: NDArray[np.uint64],
    radius: np.uint64,
    limit: int,
    finds: NDArray[np.int64],
    found: int,
) -> int:
    count = row[COUNT]
    stored = fingerprints_at(row[FINGERPRINTS], count)
    jumps = 0
    for table in range(1, BLOCKS):
        directory, deeper = directory_of(row, table)
        for value in values[table, : counts[table]]:
            first, after = range_at(directory, value << deeper, (value + 1) << deeper, count)
            jumps += after - first
    if jumps > count // _FULL_SCAN:
        for position in range(count):
            distance = ones(stored[position] ^ query)
            if distance <= radius and first_probed(probed, query, firm, stored[position]) < BLOCKS:
                found = note_owners(row, position, signed(distance), limit, finds, found)
        return found
    directory, deeper = directory_of(row, 0)
    for value in values[0, : counts[0]]:
        first, after = range_at(directory, value << deeper, (value + 1) << deeper, count)
        for position in range(first, after):
            distance = ones(stored[position] ^ query)
            if distance <= radius and first_probed(probed, query, firm, stored[position]) == 0:
                found = note_owners(row, position, signed(distance), limit, finds, found)
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
                if differing & firm_in_tag != 0 or flipped + ones(np.uint64(differing)) > radius:
                    continue
                position = signed(positions[place])
                # Positions of damaged files may be any number.
                if position >= count:
                    continue
                distance = ones(stored[position] ^ query)
                if distance <= radius and first_probed(probed, query, firm, stored[position]) == table:
                    found = note_owners(row, position, signed(distance), limit, finds, found)
    return found
