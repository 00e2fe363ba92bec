"""What the probes of fingerprints bring, as it is asked of one stored fingerprint after the other."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.compiled.bits import ones
from dedup.index.memory.flips import Flips, firm_bits, outside, probe
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_BITS, BLOCKS


class Probes(NamedTuple):
    """The values that are looked up for some fingerprints.

    Attributes:
        values: those of each table, first those that are always looked up, shape (q, 4, m).
        counts: how many there are, shape (q, 4).
        kept: for each table the bits in which all agrees that is brought by weak flips, shape (q, 4).
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: NDArray[np.uint64]


@compiled
def probes_of(queries: NDArray[np.uint64], margins: NDArray[np.int64], flips: Flips) -> Probes:
    """Return the values that are looked up.

    Args:
        queries: the fingerprints, shape (q,).
        margins: their margins, shape (q, 64).
        flips: how they are probed.
    """
    size = len(queries)
    probes = Probes(
        np.empty((size, BLOCKS, len(flips.exact) + (1 << flips.weak_bits)), np.int64),
        np.empty((size, BLOCKS), np.int64),
        np.empty((size, BLOCKS), np.uint64),
    )
    for number in range(size):
        query, values, counts = queries[number], probes.values[number], probes.counts[number]
        probe(query, margins[number], flips, values, counts)
        firm = firm_bits(margins[number], flips.firm_margin)
        for table in range(BLOCKS):
            flipped = 0
            for value in values[table, : counts[table]]:
                flipped |= value ^ block_of(query, table)
            shift = np.uint64(BLOCK_BITS * (BLOCKS - 1 - table))
            probes.kept[number, table] = (firm & outside(table)) | (~outside(table) & ~(np.uint64(flipped) << shift))
    return probes


@compiled
def brought(
    fingerprints: NDArray[np.uint64],
    places: NDArray[np.int64],
    query: np.uint64,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    kept: NDArray[np.uint64],
    exact: NDArray[np.int64],
    exact_ends: NDArray[np.uint64],
) -> int:
    """Move those places to the front whose fingerprints any look-up brings; return how many they are.

    Args:
        fingerprints: the fingerprints.
        places: where those stand that are asked for.
        query: what is looked up.
        values: see `Probes`, as `counts` and `kept`, of this query alone.
        counts: how many there are.
        kept: in which bits all agrees that is brought by weak flips.
        exact: how many of the values of each table are always looked up, shape (4,).
        exact_ends: from how many bits on these do not bring what differs in its block, shape (4,).
    """
    # Table by table, and without a branch: the compiler does this for several at once.
    differing, may_be = np.empty(len(places), np.uint64), np.zeros(len(places), np.bool_)
    for number in range(len(places)):
        differing[number] = fingerprints[np.uint64(places[number])] ^ query
    for table in range(BLOCKS):
        end, agreed = exact_ends[table], kept[table]
        for number in range(len(places)):
            bits = differing[number]
            may_be[number] |= (ones(bits & ~outside(table)) < end) | (bits & agreed == 0)
    left = 0
    for number in range(len(places)):
        places[left] = places[number]
        left += may_be[number]
    found = 0
    for place in places[:left]:
        bits = fingerprints[np.uint64(place)] ^ query
        times = 0
        for table in range(BLOCKS):
            times += ones(bits & ~outside(table)) < exact_ends[table]
        # With an index that cannot be negative several values are compared at once.
        for table in range(np.uint64(BLOCKS)):
            if times == 0 and bits & kept[table] == 0:
                block = block_of(query ^ bits, table)
                for number in range(np.uint64(exact[table]), np.uint64(counts[table])):
                    times += values[table, number] == block
        places[found] = place
        found += times > 0
    return found
