"""Which values of which block are looked up for a query, and what a look-up finds; see `ProbePlan`."""

# Compiled functions are one with those that they call, and take nothing by name.

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_BITS, BLOCK_VALUES, BLOCKS
from dedup.index.probes import ProbePlan
from dedup.signature.signature import BITS

_DEARER_THAN_ALL = 1 << 62


class Flips(NamedTuple):
    """How the blocks of a query are flipped, for compiled functions.

    Attributes:
        exact: the flips that are always tried, as bits of the block, those of one table behind those
            of the other; shape (m,).
        starts: where each table's start in `exact`, shape (5,).
        exact_bits: how many bits those of a table flip at most; -1 where there are none, shape (4,).
        weak_bits: of how many of the weakest bits flips of more bits are tried.
        likeliest: how many of these are tried in each table, the likeliest, those among the exact ones
            counted too; shape (4,).
        firm_margin: what these find agrees in all bits whose margin exceeds so many times the root
            of the sum of all margins.
    """

    exact: NDArray[np.int64]
    starts: NDArray[np.int64]
    exact_bits: NDArray[np.int64]
    weak_bits: int
    likeliest: NDArray[np.int64]
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
        weak_bits = min(plan.weak_bits, BLOCK_BITS)
        among_exact = [sum(comb(weak_bits, count) for count in range(bits + 1)) for bits in exact_bits]
        likeliest = np.minimum(plan.max_flips + np.array(among_exact), 1 << weak_bits)
        if plan.max_flips == 0:
            weak_bits = 0
        return cls(flat, starts, np.array(exact_bits), weak_bits, likeliest, plan.firm_margin)


@inner
def probe(
    query: np.uint64,
    margins: NDArray[np.int64],
    flips: Flips,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write the values of each block that are looked up, each once; see `ProbePlan`.

    Args:
        query: the fingerprint.
        margins: the margin of each bit, shape (64,).
        flips: how its blocks are flipped.
        values: takes the values, first those that are always looked up; shape (4, m).
        counts: takes how many there are, shape (4,).
    """
    for table in range(BLOCKS):
        block, start = block_of(query, table), flips.starts[table]
        counts[table] = flips.starts[table + 1] - start
        for place in range(counts[table]):
            values[table, place] = block ^ flips.exact[start + place]
    if flips.weak_bits == 0:
        return
    cheapest, bits = _cheapest(margins, flips)
    for table in range(BLOCKS):
        block, exact_bits = block_of(query, table), flips.exact_bits[table]
        count = counts[table]
        for place in range(flips.likeliest[table]):
            flipped = 0
            for rank in range(len(bits)):
                flipped |= (cheapest[place, table] >> rank & 1) << bits[rank, table]
            # Flips of few bits are among the exact ones.
            values[table, count] = block ^ flipped
            count += signed(ones(np.uint64(flipped))) > exact_bits
        counts[table] = count


@inner
def _cheapest(margins: NDArray[np.int64], flips: Flips) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cheapest flips of each block's weak bits, in order, and these bits.

    Returns:
        Flips, the lowest digit for the weakest bit, below their costs, shape (n, 4); the weak bits of
        each block, the weakest first, shape (weak bits, 4).
    """
    weak_bits = flips.weak_bits
    margins_of, bits = _weakest(margins, weak_bits)
    most = 1
    for count in flips.likeliest:
        most = max(most, count)
    # The cheapest so far, in order, and with each further bit they are merged with those that flip it too. Of
    # equally dear flips those without it come first. All tables take each step together: within one, each step
    # waits for the one before.
    before, after = np.empty((most + 1, BLOCKS), np.int64), np.empty((most + 1, BLOCKS), np.int64)
    before[0] = 0
    without = np.empty(BLOCKS, np.uint64)
    have = 1
    for rank in range(weak_bits):
        before[have] = _DEARER_THAN_ALL
        without[:] = 0
        have = min(2 * have, most)
        for place in range(np.uint64(have)):
            for table in range(np.uint64(BLOCKS)):
                first = without[table]
                cheapest = before[first, table]
                with_it = before[np.uint64(place) - first, table] + (margins_of[rank, table] << weak_bits | 1 << rank)
                # Without a branch: which of the two is cheaper cannot be foreseen.
                after[place, table] = min(cheapest, with_it)
                without[table] = first + np.uint64(cheapest < with_it)
        before, after = after, before
    return before[:have], bits


@inner
def _weakest(margins: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return margins and numbers of the weakest bits of each block, of equally weak ones the topmost first."""
    strengths, bits = np.empty((BLOCK_BITS, BLOCKS), np.int64), np.empty((BLOCK_BITS, BLOCKS), np.int64)
    ranks = np.empty(BITS, np.int64)
    # Equally strong ones are told apart, so that how many are weaker is the rank.
    unlike = np.empty(BITS, np.int64)
    for bit in range(len(margins)):
        unlike[bit] = (margins[bit] + 1) * BLOCK_BITS - bit % BLOCK_BITS
    ranks[:] = 0
    for table in range(BLOCKS):
        first = BLOCK_BITS * (BLOCKS - 1 - table)
        block, ranks_of = unlike[first : first + BLOCK_BITS], ranks[first : first + BLOCK_BITS]
        for other in block:
            for bit in range(len(block)):
                ranks_of[bit] += other < block[bit]
        for bit in range(len(block)):
            strengths[ranks_of[bit], table], bits[ranks_of[bit], table] = margins[first + bit], bit
    return strengths[:count], bits[:count]


@inner
def firm_bits(margins: NDArray[np.int64], firm_margin: float) -> np.uint64:
    """Return the bits in which what weak flips find has to agree with the query; see `ProbePlan.firm_bits`."""
    firm = np.uint64(0)
    # Without a bound this would be a product of nothing and infinity for a text without features.
    if firm_margin < np.inf:
        total = 0
        for margin in margins:
            total += margin
        bound = firm_margin * np.sqrt(np.float64(total))
        for bit in range(BITS):
            if margins[bit] > bound:
                firm |= np.uint64(1) << np.uint64(bit)
    return firm


@inner
def outside(table: int) -> np.uint64:
    """Return all bits but those of a table's block."""
    return ~(np.uint64(BLOCK_VALUES - 1) << np.uint64(BLOCK_BITS * (BLOCKS - 1 - table)))


@inner
def first_probed(probed: NDArray[np.uint64], query: np.uint64, firm: np.uint64, stored: np.uint64) -> int:
    """Return the first table in which a look-up finds a stored fingerprint; 4 where none does."""
    for table in range(BLOCKS):
        value = block_of(stored, table)
        word, shift = value >> 6, np.uint64(value & 63)
        if (probed[0, table, word] >> shift) & np.uint64(1):
            return table
        if (probed[1, table, word] >> shift) & np.uint64(1) and (stored ^ query) & firm & outside(table) == 0:
            return table
    return BLOCKS
