"""Brute force by the widest instructions that the machine has: what the index in memory is measured by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones

_BLOCK = 4096
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
    """Return all pairs within the radius as `query << 32 | position`, the queries in order."""
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
