"""How far two texts may differ at most, by the shingles and words that they share, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import signed
from dedup.rules.verification import Bounds
from dedup.signature.hashes import hashes_of_words
from dedup.signature.sketch import SHINGLE_WORDS

# Any odd number with bits everywhere: neighbours of a shingle must not be mistaken for it.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LINE_FEED, _ZERO, _NINE, _NOT_ASCII = 10, 48, 57, 128


def bounds(a: bytes, b: bytes) -> Bounds:
    """Return how far two texts may differ at most, in a tenth of the time that comparing them word by word takes.

    There as many shared shingles as can be stand in the same order in both texts, and each of them takes at
    least one token more out of what lies between. Here nearly as many are found.

    Args:
        a: the tokens of one text in UTF-8, a line feed between them; at least one.
        b: those of the other.
    """
    ours, theirs = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
    rewritten, added, shorter, may_have_numbers, may_be_swapped = _bounds(ours, theirs)
    return Bounds(rewritten, added, 100 / shorter, may_have_numbers, may_be_swapped)


@compiled
def _bounds(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> tuple[float, float, int, bool, bool]:
    ours, theirs = hashes_of_words(a), hashes_of_words(b)
    shorter, longer = min(len(ours), len(theirs)), max(len(ours), len(theirs))
    shared = _shared_in_order(_shingles(ours), _shingles(theirs))
    tokens = np.concatenate((ours, theirs))
    slots = _empty_slots(len(tokens))
    # How much more often each stands in the first text.
    excess = np.zeros(len(slots), np.int64)
    for place in range(len(tokens)):
        slot = _slot_of(tokens[place], tokens, slots)
        if not slots[slot]:
            slots[slot] = place + 1
        excess[slot] += 1 if place < len(ours) else -1
    gone = _net_words(a, ours, tokens, slots, excess)
    come = _net_words(b, theirs, tokens, slots, -excess)
    return (
        (shorter - shared) / shorter,
        (longer - shared) / shorter,
        shorter,
        gone[0] and come[0],
        gone[1] and come[1],
    )


@inner
def _net_words(
    text: NDArray[np.uint8],
    words: NDArray[np.uint64],
    tokens: NDArray[np.uint64],
    slots: NDArray[np.int64],
    excess: NDArray[np.int64],
) -> tuple[bool, bool]:
    """Say of what a text has more often than another one whether a number may be in it, and a word twice."""
    may_have_number = is_repeated = False
    place, has_digit, is_ascii = 0, False, True
    for at in range(len(text) + 1):
        if at < len(text) and text[at] != _LINE_FEED:
            has_digit |= _ZERO <= text[at] <= _NINE
            is_ascii &= text[at] < _NOT_ASCII
            continue
        more = excess[_slot_of(words[place], tokens, slots)]
        if more > 0:
            # Other scripts have digits of their own.
            may_have_number |= has_digit or not is_ascii
            is_repeated |= more > 1 and not has_digit
        place, has_digit, is_ascii = place + 1, False, True
    return may_have_number, is_repeated


@inner
def _empty_slots(count: int) -> NDArray[np.int64]:
    """Return a hash table by open addressing for so many numbers; it will hold their places plus one."""
    room = 1
    while room < 2 * count + 1:
        room *= 2
    return np.zeros(room, np.int64)


@inner
def _slot_of(number: np.uint64, numbers: NDArray[np.uint64], slots: NDArray[np.int64]) -> int:
    """Return where a number stands in a hash table, or where it is to stand."""
    mask = np.uint64(len(slots) - 1)
    slot = number & mask
    while slots[slot] and numbers[slots[slot] - 1] != number:
        slot = (slot + np.uint64(1)) & mask
    return signed(slot)


@inner
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


@inner
def _shared_in_order(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> int:
    """Return how many shingles stand in the same order in both texts, each taken to be only where it comes first."""
    slots = _empty_slots(len(ours))
    for place in range(len(ours)):
        slot = _slot_of(ours[place], ours, slots)
        if not slots[slot]:
            slots[slot] = place + 1
    # The longest rising row of places: of each length the one that ends first. C. Schensted, "Longest increasing
    # and decreasing subsequences", 1961.
    last, length = np.empty(min(len(ours), len(theirs)), np.int64), 0
    for shingle in theirs:
        place = slots[_slot_of(shingle, ours, slots)]
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
