"""How much of a text can have been rewritten, by the shingles that two texts share, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.signature.hashes import hashes_of_words
from dedup.signature.sketch import SHINGLE_WORDS

# Any odd number with bits everywhere: neighbours of a shingle must not be mistaken for it.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def most_rewritten(a: bytes, b: bytes) -> float:
    """Return a share that `dedup.rules.wordwise.WordDifference.rewritten` of two texts does not exceed.

    There as many shared shingles as can be stand in the same order in both texts, and each of them takes at
    least one token more out of what lies between. Here nearly as many are found, in a tenth of the time.

    Args:
        a: the tokens of one text in UTF-8, a line feed between them; at least one.
        b: those of the other.
    """
    share: float = _most_rewritten(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8))
    return share


@compiled
def _most_rewritten(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    ours = hashes_of_words(a)
    theirs = hashes_of_words(b)
    shorter = min(len(ours), len(theirs))
    return (shorter - _shared_in_order(_shingles(ours), _shingles(theirs))) / shorter


@compiled
def _shingles(tokens: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each shingle, by the hashes of tokens."""
    shingles = np.empty(max(0, len(tokens) - SHINGLE_WORDS + 1), np.uint64)
    for place in range(len(shingles)):
        mixed = np.uint64(0)
        for token in range(SHINGLE_WORDS):
            mixed = (mixed ^ tokens[place + token]) * _SPREAD
            mixed ^= mixed >> _HALF
        shingles[place] = mixed
    return shingles


@compiled
def _shared_in_order(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> int:
    """Return how many shingles stand in the same order in both texts, each taken to be only where it comes first."""
    room = 1
    while room < 2 * len(ours) + 1:
        room *= 2
    mask = np.uint64(room - 1)
    # A hash table by open addressing: places plus one.
    slots = np.zeros(room, np.int64)
    for place in range(len(ours)):
        slot = ours[place] & mask
        while slots[slot] and ours[slots[slot] - 1] != ours[place]:
            slot = (slot + np.uint64(1)) & mask
        if not slots[slot]:
            slots[slot] = place + 1
    # The longest rising row of places: of each length the one that ends first. C. Schensted, "Longest increasing
    # and decreasing subsequences", 1961.
    last, length = np.empty(min(len(ours), len(theirs)), np.int64), 0
    for shingle in theirs:
        slot = shingle & mask
        while slots[slot] and ours[slots[slot] - 1] != shingle:
            slot = (slot + np.uint64(1)) & mask
        place = slots[slot]
        if place == 0:
            continue
        if length == 0 or last[length - 1] < place:
            last[length] = place
            length += 1
        else:
            low, high = 0, length - 1
            while low < high:
                middle = (low + high) >> 1
                if last[middle] < place:
                    low = middle + 1
                else:
                    high = middle
            last[low] = place
    return length
