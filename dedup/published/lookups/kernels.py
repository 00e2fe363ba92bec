"""The compiled loops of the look-ups.

All of them return results as query << 32 | position, in the order in which they are met.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones
from dedup.signature.signature import BITS

_BLOCK = 4096
_TILE = 512
_FEW = 256


@inner
def _with_room(results: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the results, in an array twice as long where they fill theirs."""
    if count < len(results):
        return results
    longer = np.empty(2 * len(results), np.int64)
    longer[:count] = results
    return longer


@compiled
def compare_all(stored: NDArray[np.uint64], queries: NDArray[np.uint64], radius: np.uint64) -> NDArray[np.int64]:
    """Compare every query, shape (q,), with every stored fingerprint, shape (n,)."""
    results = np.empty(_FEW, np.int64)
    count = 0
    for query in range(len(queries)):
        for start in range(0, len(stored), _BLOCK):
            block = stored[start : start + _BLOCK]
            near = 0
            # Only a loop without branches uses the wide registers.
            for place in range(len(block)):
                near += 1 if ones(block[place] ^ queries[query]) <= radius else 0
            if near == 0:
                continue
            for place in range(len(block)):
                if ones(block[place] ^ queries[query]) <= radius:
                    results = _with_room(results, count)
                    results[count] = (query << 32) | (start + place)
                    count += 1
    return results[:count]


@compiled
def count_in_lists(
    lists: NDArray[np.uint64], stored: int, queries: NDArray[np.uint64], radius: int
) -> NDArray[np.int64]:
    """Count for every fingerprint in how many one-bit lists it differs from the query.

    64 fingerprints are counted at once: bit i of `counters[p]` is bit p of the i-th count.

    Args:
        lists: for each bit the fingerprints that have 1 there, as a bitmap, shape (64, words).
        stored: how many fingerprints there are.
        queries: shape (q,).
        radius: the largest distance of a result, in bits.
    """
    results = np.empty(_FEW, np.int64)
    count = 0
    words = lists.shape[1]
    planes = 0
    while (1 << planes) <= radius:
        planes += 1
    counters = np.empty((planes, _TILE), np.uint64)
    carry = np.empty(_TILE, np.uint64)
    overflown = np.empty(_TILE, np.uint64)
    for query in range(len(queries)):
        for start in range(0, words, _TILE):
            width = min(_TILE, words - start)
            counters[:] = 0
            overflown[:] = 0
            for bit in range(BITS):
                same = np.uint64(0) - ((queries[query] >> np.uint64(bit)) & np.uint64(1))
                for word in range(width):
                    carry[word] = lists[bit, start + word] ^ same
                for plane in range(planes):
                    for word in range(width):
                        both = counters[plane, word] & carry[word]
                        counters[plane, word] ^= carry[word]
                        carry[word] = both
                for word in range(width):
                    overflown[word] |= carry[word]
            for word in range(width):
                left = ~overflown[word]
                while left != 0:
                    lowest = left & (~left + np.uint64(1))
                    left ^= lowest
                    place = ones(lowest - np.uint64(1))
                    differing = np.int64(0)
                    for plane in range(planes):
                        differing |= np.int64((counters[plane, word] >> place) & np.uint64(1)) << plane
                    position = (start + word) * BITS + np.int64(place)
                    if differing <= radius and position < stored:
                        results = _with_room(results, count)
                        results[count] = (query << 32) | position
                        count += 1
    return results[:count]


@compiled
def scan_lists(
    starts: NDArray[np.uint32],
    positions: NDArray[np.uint32],
    stored: NDArray[np.uint64],
    probes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]],
    radius: np.uint64,
) -> tuple[NDArray[np.int64], int]:
    """Compare with what stands in the lists that are asked for.

    Args:
        starts: for each block and value of it the start of its list, shape (blocks, values + 1).
        positions: the lists, one behind the other, shape (blocks, n).
        stored: the fingerprints, shape (n,).
        probes: for each probe the number of its query, that of the block, the value, and the query
            itself; shape (p,) each.
        radius: the largest distance of a result, in bits.

    Returns:
        The results, and the number of candidates.
    """
    results = np.empty(_FEW, np.int64)
    count = candidates = 0
    owners, blocks, values, queries = probes
    for probe in range(len(owners)):
        block, value = blocks[probe], values[probe]
        for place in range(starts[block, value], starts[block, value + 1]):
            candidates += 1
            position = positions[block, place]
            if ones(stored[position] ^ queries[probe]) <= radius:
                results = _with_room(results, count)
                results[count] = (owners[probe] << 32) | np.int64(position)
                count += 1
    return results[:count], candidates


@compiled
def scan_tables(
    values: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    probes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]],
    radius: np.uint64,
) -> NDArray[np.int64]:
    """Compare with what stands in ranges of sorted tables.

    Args:
        values: the permuted fingerprints, sorted, shape (tables, n).
        positions: whose they are, shape (tables, n).
        probes: for each probe the number of its query, that of the table, where its range begins and
            ends, and the query in the order of the table; shape (p,) each.
        radius: the largest distance of a result, in bits.
    """
    results = np.empty(_FEW, np.int64)
    count = 0
    owners, tables, firsts, afters, permuted = probes
    for probe in range(len(owners)):
        row = values[tables[probe]]
        near = 0
        # As above: without branches first.
        for place in range(firsts[probe], afters[probe]):
            near += 1 if ones(row[place] ^ permuted[probe]) <= radius else 0
        if near == 0:
            continue
        for place in range(firsts[probe], afters[probe]):
            if ones(row[place] ^ permuted[probe]) <= radius:
                results = _with_room(results, count)
                results[count] = (owners[probe] << 32) | np.int64(positions[tables[probe], place])
                count += 1
    return results[:count]
