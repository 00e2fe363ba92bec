"""Which values of which block are looked up for a query, and what a look-up brings; see `ProbePlan`."""

# Compiled functions are one with those that they call, and take nothing by name.

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_BITS, BLOCK_VALUES, BLOCKS
from dedup.index.probes import ProbePlan


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
    all_costs, all_flips = np.zeros(1 << weak_bits, np.int64), np.zeros(1 << weak_bits, np.int64)
    have = 0
    if flips.exact_bits[table] < 0:
        costs[0] = cheapest[0] = 0
        have = 1
    for rank in range(weak_bits):
        margin = margins[BLOCK_BITS * (BLOCKS - 1 - table) + weakest[rank]]
        if have == most and margin >= costs[most - 1]:
            # All further flips turn a bit that is as strong.
            break
        for rest in range(1 << rank):
            subset = 1 << rank | rest
            all_costs[subset] = cost = all_costs[rest] + margin
            all_flips[subset] = flip = all_flips[rest] | 1 << weakest[rank]
            if (have == most and cost >= costs[most - 1]) or signed(ones(np.uint64(subset))) <= flips.exact_bits[table]:
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
