"""The fingerprint: the signs of weighted sums of feature hashes.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3;
used on web pages by G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 2. (A worked example of
six bits that many articles repeat prints 115 for its fifth sum; it is 1.)

This module loads no compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.signature.schemes import Scheme
from dedup.signature.signature import BITS

_AT_ONCE = 1 << 12


def sums_of(features: Mapping[bytes, float], scheme: Scheme) -> NDArray[np.int64]:
    """Add up features by a scheme's weighting and hash function.

    Args:
        features: the features and their own weights: counts, or the ranks of keywords.
        scheme: the scheme; its kind of features plays no part.

    Returns:
        The sums, shape (bits,), index 0 of the least significant bit; where weights are real in units of
        1 / `dedup.published.features.UNIT`.
    """
    weights = np.array([scheme.weigh(weight) for weight in features.values()], np.int64)
    return fold([scheme.hash_of(feature) for feature in features], weights, scheme.bits)


def fold(hashes: Sequence[int], weights: NDArray[np.int64], bits: int = BITS) -> NDArray[np.int64]:
    """Add up the features bit by bit: plus the weight where the hash has 1, minus it where 0.

    Args:
        hashes: the features' hashes, n numbers of so many bits.
        weights: the features' weights, shape (n,).
        bits: the width of the fingerprint, a multiple of 8.

    Returns:
        The sums, shape (bits,); index 0 belongs to the least significant bit.
    """
    width, ones = bits // 8, np.zeros(bits, np.int64)
    for first in range(0, len(hashes), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        data = b"".join(value.to_bytes(width, "little") for value in hashes[some])
        rows = np.frombuffer(data, np.uint8).reshape(-1, width)
        ones += weights[some] @ np.unpackbits(rows, axis=1, bitorder="little")
    sums: NDArray[np.int64] = 2 * ones - weights.sum()
    return sums


def fingerprint_of(sums: NDArray[np.int64], tie: int = 0) -> int:
    """Return the fingerprint: bit i is 1 where sum i is above 0.

    Args:
        sums: what `fold` returns, shape (bits,).
        tie: the bit that a sum of 0 gives. The papers leave it open; some public versions give 1, and
            then a text without features has all ones.
    """
    ones = sums >= 0 if tie else sums > 0
    return int.from_bytes(np.packbits(ones, bitorder="little").tobytes(), "little")
