"""The fingerprint: the signs of sums of the hashes of distinct features that weigh the same, in compiled code.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3;
used on web pages by G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.signature.signature import BITS

# A word of 64 bits is eight counters of 8 bits.
_LOWEST_OF_BYTES = np.uint64(0x0101010101010101)
_FULL = 255
_GROUP = 8


@compiled
def fold_equal(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Add up features bit by bit: one more where the hash has 1, one less where it has 0.

    Words are added as 64 adders side by side would do it: three of them become one of ones and one of twos.
    So only every eighth word, of eights, is spread out and counted. H. Warren, "Hacker's Delight", 5-1.

    Args:
        hashes: the features' hashes, shape (n,).

    Returns:
        The 64 sums; index 0 belongs to the least significant bit.
    """
    counts = np.empty(BITS, np.int64)
    for bit in range(BITS):
        counts[bit] = 0
    counters = np.empty(8, np.uint64)
    whole = len(hashes) // _GROUP * _GROUP
    ones = twos = fours = np.uint64(0)
    for start in range(0, whole, _GROUP * _FULL):
        # Written out, the compiler keeps them where it counts.
        a = b = c = d = e = f = g = h = np.uint64(0)
        for at in range(start, min(start + _GROUP * _FULL, whole), _GROUP):
            group = hashes[at : at + _GROUP]
            ones, first = _add(ones, group[0], group[1])
            ones, second = _add(ones, group[2], group[3])
            twos, third = _add(twos, first, second)
            ones, first = _add(ones, group[4], group[5])
            ones, second = _add(ones, group[6], group[7])
            twos, first = _add(twos, first, second)
            fours, bits = _add(fours, third, first)
            a += bits & _LOWEST_OF_BYTES
            b += (bits >> np.uint64(1)) & _LOWEST_OF_BYTES
            c += (bits >> np.uint64(2)) & _LOWEST_OF_BYTES
            d += (bits >> np.uint64(3)) & _LOWEST_OF_BYTES
            e += (bits >> np.uint64(4)) & _LOWEST_OF_BYTES
            f += (bits >> np.uint64(5)) & _LOWEST_OF_BYTES
            g += (bits >> np.uint64(6)) & _LOWEST_OF_BYTES
            h += (bits >> np.uint64(7)) & _LOWEST_OF_BYTES
        counters[0], counters[1], counters[2], counters[3] = a, b, c, d
        counters[4], counters[5], counters[6], counters[7] = e, f, g, h
        for bit in range(BITS):
            counts[bit] += _GROUP * np.int64((counters[bit % 8] >> np.uint64(bit // 8 * 8)) & np.uint64(_FULL))
    _count(counts, ones, 1)
    _count(counts, twos, 2)
    _count(counts, fours, 4)
    for at in range(whole, len(hashes)):
        _count(counts, hashes[at], 1)
    for bit in range(BITS):
        counts[bit] = 2 * counts[bit] - len(hashes)
    return counts


@inner
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Add three bits at each place; return the sums' lower and higher bits."""
    differing = a ^ b
    return differing ^ c, (a & b) | (differing & c)


@inner
def _count(counts: NDArray[np.int64], bits: np.uint64, weight: int) -> None:
    for bit in range(BITS):
        counts[bit] += weight * np.int64((bits >> np.uint64(bit)) & np.uint64(1))


@inner
def distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each hash once, in the order in which they first come."""
    size = 2
    while size < 2 * len(hashes):
        size *= 2
    slots, mask = np.zeros(size, np.uint64), np.uint64(size - 1)
    found, count, has_zero = np.empty(len(hashes), np.uint64), 0, False
    for value in hashes:
        slot = value & mask
        while slots[slot] != 0 and slots[slot] != value:
            slot = (slot + np.uint64(1)) & mask
        # An empty slot is 0.
        if slots[slot] != value or (value == 0 and not has_zero):
            slots[slot] = found[count] = value
            count += 1
            has_zero |= value == 0
    return found[:count]
