"""The fingerprint: the signs of weighted sums of feature hashes.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3;
used on web pages by G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS

_POWERS = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))


@compiled
def fold(hashes: NDArray[np.uint64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up the features bit by bit: plus the weight where the hash has 1, minus it where 0.

    Args:
        hashes: the features' hashes, shape (n,).
        weights: the features' weights, shape (n,).

    Returns:
        The 64 sums; index 0 belongs to the least significant bit.
    """
    ones = np.zeros(BITS, weights.dtype)
    for feature in range(len(hashes)):
        bits = hashes[feature]
        weight = weights[feature]
        for bit in range(BITS):
            ones[bit] += weight * ((bits >> np.uint64(bit)) & np.uint64(1))
    sums: NDArray[np.int64] = 2 * ones - weights.sum()
    return sums


def fingerprint_of(sums: NDArray[np.int64]) -> int:
    """Return the 64-bit fingerprint: bit i is 1 where sum i is above 0 (a tie gives 0).

    Args:
        sums: the 64 sums of `fold`.
    """
    return int(_POWERS[sums > 0].sum(dtype=np.uint64))
