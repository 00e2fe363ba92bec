"""Fingerprints of real-valued vectors, and the random hyperplanes that they are equal to.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3: bit i
says on which side of hyperplane i a vector lies, so two vectors differ in a bit with the
probability angle / pi. A simhash is this with hyperplanes of +1 and -1 that hashes draw: coordinate
k of hyperplane i is +1 where bit i of the hash of dimension k is 1. (The worked example of three
dimensions in a widespread article prints 7 for its first sum; it is 3 - 2 + 4 = 5.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.signature.schemes import find_hash
from dedup.signature.simhash import fingerprint_of, fold_wide


def dimension_hashes(dimensions: int, hash_name: str = "mmh3", bits: int = 64) -> list[int]:
    """Hash the numbers of a vector's dimensions, written as decimal digits.

    Args:
        dimensions: how many there are.
        hash_name: its name.
        bits: a width that this hash function has.
    """
    return [find_hash(hash_name).of(b"%d" % dimension, bits) for dimension in range(dimensions)]


def hyperplanes(hashes: Sequence[int], bits: int = 64) -> NDArray[np.int8]:
    """Return the hyperplanes that hashes draw, of +1 and -1, shape (bits, dimensions).

    Args:
        hashes: the hash of each dimension.
        bits: the width of the hashes; hyperplane 0 belongs to their least significant bit.
    """
    planes = [[1 if value >> bit & 1 else -1 for value in hashes] for bit in range(bits)]
    return np.array(planes, np.int8).reshape(bits, len(hashes))


def vector_sums(vector: NDArray[np.float64], hashes: Sequence[int], bits: int = 64) -> NDArray[np.float64]:
    """Return the dot products of a vector with the hyperplanes that hashes draw, without drawing them.

    Args:
        vector: any real numbers, negative ones too, shape (dimensions,).
        hashes: the hash of each dimension.
        bits: the width of the hashes.

    Returns:
        The sums, shape (bits,); index 0 belongs to the least significant bit.

    Raises:
        ValueError: there are not as many hashes as dimensions.
    """
    if len(vector) != len(hashes):
        raise ValueError(f"a vector of {len(vector)} dimensions needs as many hashes, not {len(hashes)}")
    return fold_wide(hashes, np.ascontiguousarray(vector, np.float64), bits)


def vector_fingerprint(vector: NDArray[np.float64], hash_name: str = "mmh3", bits: int = 64, tie: int = 0) -> int:
    """Return the fingerprint of a vector.

    Args:
        vector: any real numbers, shape (dimensions,).
        hash_name: its name.
        bits: a width that this hash function has.
        tie: the bit that a sum of 0 gives.
    """
    return fingerprint_of(vector_sums(vector, dimension_hashes(len(vector), hash_name, bits), bits), tie)
