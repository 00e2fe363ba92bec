"""Sketches in brief: they tell of nearly every candidate that it is not worth the check."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner

BRIEF_WORDS = 4
"""How many words of 64 bits a sketch in brief has; the first three are minima."""

_MINIMA_WORDS = 3


def room_for_briefs(count: int) -> NDArray[np.uint64]:
    """Make room for so many sketches in brief, none of which is on two cache lines."""
    size = BRIEF_WORDS * np.uint64().itemsize
    room = np.empty((count + 1) * size, np.uint8)
    start = -room.ctypes.data % size
    return room[start : start + count * size].view(np.uint64).reshape(count, BRIEF_WORDS)


@inner
def write_brief(minima: NDArray[np.uint64], shingles: int, tokens: int, brief: NDArray[np.uint64]) -> None:
    """Write a sketch in brief: two bits of each of its first 96 minima, its shingles and tokens.

    That tells of nearly every candidate that it is not worth the check, and is half a cache line. A sketch in
    full is on two, and there are 256 candidates of a document, anywhere in memory.

    Args:
        minima: those of the sketch, shape (8,).
        shingles: how many shingles it has.
        tokens: how many tokens.
        brief: takes it, shape (4,).
    """
    for word in range(_MINIMA_WORDS):
        low, high = _low_bits(minima[2 * word]), _low_bits(minima[2 * word + 1])
        brief[word] = low | high << np.uint64(32)
    brief[_MINIMA_WORDS] = np.uint64(shingles) | np.uint64(tokens) << np.uint64(32)


@compiled
def write_briefs(
    minima: NDArray[np.uint64], shingles: NDArray[np.uint32], tokens: NDArray[np.uint32], briefs: NDArray[np.uint64]
) -> None:
    """Write many sketches in brief; see `write_brief`."""
    for number in range(len(briefs)):
        write_brief(minima[number], shingles[number], tokens[number], briefs[number])


@inner
def _low_bits(word: np.uint64) -> np.uint64:
    """Return the two low bits of each group of four, side by side."""
    word &= np.uint64(0x3333333333333333)
    word = (word | word >> np.uint64(2)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word | word >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
    word = (word | word >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return (word | word >> np.uint64(16)) & np.uint64(0x00000000FFFFFFFF)
