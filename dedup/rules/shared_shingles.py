"""The shingles and words that two texts share, and how far they may differ at most, in compiled code.

Tokens are compared byte by byte: words of other bytes can be made to have the same hashes. Texts with such words are
compared as they are where there is no compiler.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import KEY, compiled, inner, signed, slot_of
from dedup.signature.kernels import murmur3_of_tokens
from dedup.signature.signature import SHINGLE_WORDS

_LINE_FEED, _ZERO, _NINE, _NOT_ASCII = 10, 48, 57, 128
# What the hash function reads behind a token.
_SLACK = b"\n" * 16


def bounds(a: bytes, b: bytes) -> tuple[float, float, float, float, float, bool, bool] | None:
    """Return what `Bounds` has, in a tenth of the time that comparing texts word by word takes.

    That finds the most shared shingles that have the same order in both texts, and each of them takes at
    least one token more out of what lies between. Here nearly as many are found.

    Args:
        a: the tokens of one text in UTF-8, a line feed between them; at least one.
        b: those of the other.

    Returns:
        None where tokens of other bytes have the same hash.
    """
    both = np.frombuffer(b"".join((a, b"\n", b, _SLACK)), np.uint8)
    found: tuple[float, float, float, float, float, bool, bool] = _bounds(both, len(a), len(a) + 1 + len(b), KEY)
    return None if found[0] < 0 else found


def shared_tokens(text: bytes, other: bytes) -> bytes | None:
    """Return a byte for each token of a text: 1 where it is in a shingle that the other text has, else 0.

    Args:
        text: its tokens in UTF-8, a line feed between them; at least one.
        other: those of the other text.

    Returns:
        None where tokens of other bytes have the same hash.
    """
    both = np.frombuffer(b"".join((text, b"\n", other, _SLACK)), np.uint8)
    return _shared_tokens(both, len(text), len(text) + 1 + len(other), KEY).tobytes() or None


@compiled
def _shared_tokens(both: NDArray[np.uint8], middle: int, end: int, key: np.uint64) -> NDArray[np.uint8]:
    edges = _edges(both, end)
    tokens, distinct = _numbers_of(both, edges, key)
    if not distinct:
        return np.zeros(0, np.uint8)
    count = 0
    while edges[2 * count] < middle:
        count += 1
    ours, theirs = _shingles(tokens[:count], distinct), _shingles(tokens[count:], distinct)
    slots = _empty_slots(len(theirs))
    for place in range(len(theirs)):
        slots[_slot_of(theirs[place], theirs, slots, key)] = place + 1
    is_shared = np.zeros(count, np.uint8)
    for place in range(len(ours)):
        if slots[_slot_of(ours[place], theirs, slots, key)]:
            is_shared[place : place + SHINGLE_WORDS] = 1
    return is_shared


@compiled
def _bounds(
    both: NDArray[np.uint8], middle: int, end: int, key: np.uint64
) -> tuple[float, float, float, float, float, bool, bool]:
    edges = _edges(both, end)
    tokens, distinct = _numbers_of(both, edges, key)
    if not distinct:
        return -1.0, 0.0, 0.0, 0.0, 0.0, False, False
    count = 0
    while edges[2 * count] < middle:
        count += 1
    ours, theirs = tokens[:count], tokens[count:]
    shorter, longer = min(len(ours), len(theirs)), max(len(ours), len(theirs))
    our_shingles, their_shingles = _shingles(ours, distinct), _shingles(theirs, distinct)
    jaccard, containment = _overlap(our_shingles, their_shingles, key)
    shared = _shared_in_order(our_shingles, their_shingles, key)
    # How much more often each is in the first text.
    excess = np.zeros(distinct, np.int64)
    for token in ours:
        excess[token] += 1
    for token in theirs:
        excess[token] -= 1
    gone = _net_words(both, edges[: 2 * count], ours, excess)
    come = _net_words(both, edges[2 * count :], theirs, -excess)
    return (
        jaccard,
        containment,
        (shorter - shared) / shorter,
        (longer - shared) / shorter,
        100 / shorter,
        gone[0] and come[0],
        gone[1] and come[1],
    )


@inner
def _edges(data: NDArray[np.uint8], end: int) -> NDArray[np.int32]:
    """Return start and end of each token, one after the other."""
    edges = np.empty(end + 2, np.int32)
    count = start = 0
    for place in range(end + 1):
        if data[place] == _LINE_FEED:
            edges[count], edges[count + 1] = start, place
            count += 2
            start = place + 1
    return edges[:count]


@inner
def _numbers_of(data: NDArray[np.uint8], edges: NDArray[np.int32], key: np.uint64) -> tuple[NDArray[np.int64], int]:
    """Return a number for each token, from 0 and the same for the same bytes, and how many numbers there are.

    There are 0 where tokens of other bytes have the same hash: so many can be made that a table is of no use.
    """
    hashes = murmur3_of_tokens(data, edges)
    slots = _empty_slots(len(hashes))
    mask = np.uint64(len(slots) - 1)
    numbers, count = np.empty(len(hashes), np.int64), 0
    for token in range(len(hashes)):
        slot = slot_of(hashes[token], key, mask)
        while slots[slot] and hashes[slots[slot] - 1] != hashes[token]:
            slot = (slot + np.uint64(1)) & mask
        if not slots[slot]:
            slots[slot] = token + 1
            numbers[token] = count
            count += 1
        elif _is_same(data, edges, token, slots[slot] - 1):
            numbers[token] = numbers[slots[slot] - 1]
        else:
            return numbers, 0
    return numbers, count


@inner
def _is_same(data: NDArray[np.uint8], edges: NDArray[np.int32], a: int, b: int) -> bool:
    start, other = edges[2 * a], edges[2 * b]
    length = edges[2 * a + 1] - start
    if edges[2 * b + 1] - other != length:
        return False
    for place in range(length):  # noqa: SIM110 -- compiled
        if data[start + place] != data[other + place]:
            return False
    return True


@inner
def _net_words(
    data: NDArray[np.uint8], edges: NDArray[np.int32], tokens: NDArray[np.int64], excess: NDArray[np.int64]
) -> tuple[bool, bool]:
    """Return of what a text has more often than another one whether a number may be in it, and a word twice."""
    may_have_number = is_repeated = False
    for token in range(len(tokens)):
        more = excess[tokens[token]]
        if more <= 0:
            continue
        has_digit, is_ascii = False, True
        for place in range(edges[2 * token], edges[2 * token + 1]):
            has_digit |= _ZERO <= data[place] <= _NINE
            is_ascii &= data[place] < _NOT_ASCII
        # Other scripts have digits of their own.
        may_have_number |= has_digit or not is_ascii
        is_repeated |= more > 1 and not has_digit
    return may_have_number, is_repeated


@inner
def _empty_slots(count: int) -> NDArray[np.int64]:
    """Return a hash table by open addressing for so many numbers; it will hold their places plus one."""
    room = 1
    while room < 2 * count + 1:
        room *= 2
    return np.zeros(room, np.int64)


@inner
def _slot_of(number: np.uint64, numbers: NDArray[np.uint64], slots: NDArray[np.int64], key: np.uint64) -> int:
    """Return the slot of a number in a hash table, or the one where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = slot_of(number, key, mask)
    while slots[slot] and numbers[slots[slot] - 1] != number:
        slot = (slot + np.uint64(1)) & mask
    return signed(slot)


@inner
def _shingles(tokens: NDArray[np.int64], distinct: int) -> NDArray[np.uint64]:
    """Return a number for each shingle, the same for the same tokens alone while there are fewer than 2.6 million."""
    shingles = np.empty(max(0, len(tokens) - SHINGLE_WORDS + 1), np.uint64)
    for place in range(len(shingles)):
        number = np.uint64(0)
        for token in range(SHINGLE_WORDS):
            number = number * np.uint64(distinct) + np.uint64(tokens[place + token])
        shingles[place] = number
    return shingles


@inner
def _overlap(ours: NDArray[np.uint64], theirs: NDArray[np.uint64], key: np.uint64) -> tuple[float, float]:
    """Return Jaccard similarity and containment of two sets of shingles, each given with repetitions."""
    shingles = np.concatenate((ours, theirs))
    slots = _empty_slots(len(shingles))
    is_shared = np.zeros(len(slots), np.bool_)
    our_count = their_count = shared = 0
    for place in range(len(shingles)):
        slot = _slot_of(shingles[place], shingles, slots, key)
        if not slots[slot]:
            slots[slot] = place + 1
            our_count += place < len(ours)
            their_count += place >= len(ours)
        elif place >= len(ours) and slots[slot] <= len(ours) and not is_shared[slot]:
            is_shared[slot] = True
            shared += 1
            their_count += 1
    together, smaller = our_count + their_count - shared, min(our_count, their_count)
    return (shared / together if together else 0.0), (shared / smaller if smaller else 0.0)


@inner
def _shared_in_order(ours: NDArray[np.uint64], theirs: NDArray[np.uint64], key: np.uint64) -> int:
    """Return how many shingles have the same order in both texts, each taken to be only where it comes first."""
    slots = _empty_slots(len(ours))
    for place in range(len(ours)):
        slot = _slot_of(ours[place], ours, slots, key)
        if not slots[slot]:
            slots[slot] = place + 1
    # The longest rising row of places: of each length the one that ends first. C. Schensted, "Longest increasing
    # and decreasing subsequences", 1961.
    last, length = np.empty(min(len(ours), len(theirs)), np.int64), 0
    for shingle in theirs:
        place = slots[_slot_of(shingle, ours, slots, key)]
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
