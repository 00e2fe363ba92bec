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

_DEARER_THAN_ALL = 1 << 62


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
    # Flips of few bits are among the exact ones, and are left out at the end.
    left_out, combinations_ = 0, 1
    for bits in range(flips.exact_bits[table] + 1):
        left_out += combinations_
        combinations_ = combinations_ * (weak_bits - bits) // (bits + 1)
    most = min(max_flips + left_out, 1 << weak_bits)
    # The cheapest so far, in order, and with each further bit they are merged with those that flip it too. Of
    # equally dear flips those without it come first.
    costs, cheapest = np.zeros((2, most + 1), np.int64), np.zeros((2, most + 1), np.int64)
    now, have = 0, 1
    for rank in range(weak_bits):
        margin = margins[BLOCK_BITS * (BLOCKS - 1 - table) + weakest[rank]]
        if have == most and margin >= costs[now, most - 1]:
            # All further flips turn a bit that is as strong.
            break
        costs[now, have] = _DEARER_THAN_ALL
        without, with_it = 0, 0
        merged = min(2 * have, most)
        for place in range(merged):
            is_without = costs[now, without] <= costs[now, with_it] + margin
            # Without a branch: which of the two is cheaper cannot be foreseen.
            costs[1 - now, place] = costs[now, without] if is_without else costs[now, with_it] + margin
            flipped = cheapest[now, with_it] | 1 << weakest[rank]
            cheapest[1 - now, place] = cheapest[now, without] if is_without else flipped
            without += is_without
            with_it += not is_without
        now, have = 1 - now, merged
    for place in range(have):
        if signed(ones(np.uint64(cheapest[now, place]))) > flips.exact_bits[table]:
            values[count] = block ^ cheapest[now, place]
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
def outside(table: int) -> np.uint64:
    """Return all bits but those of a table's block."""
    return ~(np.uint64(BLOCK_VALUES - 1) << np.uint64(BLOCK_BITS * (BLOCKS - 1 - table)))


@compiled
def first_probed(probed: NDArray[np.uint64], query: np.uint64, firm: np.uint64, stored: np.uint64) -> int:
    """Return the first table in which a look-up brings a stored fingerprint; 4 where none does."""
    for table in range(BLOCKS):
        value = block_of(stored, table)
        word, shift = value >> 6, np.uint64(value & 63)
        if (probed[0, table, word] >> shift) & np.uint64(1):
            return table
        if (probed[1, table, word] >> shift) & np.uint64(1) and (stored ^ query) & firm & outside(table) == 0:
            return table
    return BLOCKS
