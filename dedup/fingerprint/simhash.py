"""The fingerprint: the signs of weighted sums of feature hashes.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3;
used on web pages by G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 64

# A feature takes 64 numbers of 8 bytes for a moment; 512 of them fit the second-level cache.
_CHUNK = 512

_POWERS = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))


def fold(hashes: NDArray[np.uint64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up the features bit by bit: plus the weight where the hash has 1, minus it where 0.

    Args:
        hashes: the features' hashes, shape (n,).
        weights: the features' weights, shape (n,).

    Returns:
        The 64 sums; index 0 belongs to the least significant bit.
    """
    ones = np.zeros(BITS)
    for start in range(0, len(hashes), _CHUNK):
        chunk = hashes[start : start + _CHUNK].astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(chunk, axis=1, bitorder="little")
        # In float64 the product runs in BLAS, and sums of weights below 2**53 stay exact.
        ones += weights[start : start + _CHUNK].astype(np.float64) @ bits.astype(np.float64)
    sums: NDArray[np.int64] = 2 * ones.astype(np.int64) - weights.sum()
    return sums


def fingerprint_of(sums: NDArray[np.int64]) -> int:
    """Return the 64-bit fingerprint: bit i is 1 where sum i is above 0 (a tie gives 0).

    Args:
        sums: the 64 sums of `fold`.
    """
    return int(_POWERS[sums > 0].sum(dtype=np.uint64))


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two fingerprints, 0 to 64 bits."""
    return (a ^ b).bit_count()
