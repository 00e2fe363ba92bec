"""Make sketches and bands: minhash of a document's shingles; see `dedup.signature.sketch`.

A band is several minima as one number, which two texts of Jaccard similarity J share with probability J^4: of 24 bands
at least one with 1 - (1 - J^4)^24. J. Leskovec, A. Rajaraman, J. Ullman, "Mining of Massive Datasets", section 3.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import signed
from dedup.signature.sketch import (
    BANDS,
    BITS_OF_A_MINIMUM,
    MINIMA,
    MINIMA_OF_A_BAND,
    MINIMUM,
    MULTIPLIERS,
    NUMBER,
    OFFSETS,
    SHINGLE_WORDS,
)

_MINIMA_A_WORD = 64 // BITS_OF_A_MINIMUM


@inner
def shingle_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the hash of each shingle.

    Args:
        hashes: the hashes of the tokens in the order of the text, shape (n,).
    """
    shingles = np.empty(max(0, len(hashes) - SHINGLE_WORDS + 1), np.uint32)
    for first in range(len(shingles)):
        mixed = hashes[first] * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) + hashes[first + 1]
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(31))) + hashes[first + 2]
        mixed *= np.uint64(0x94D049BB133111EB)
        shingles[first] = np.uint32(mixed >> np.uint64(32))
    return shingles


@inner
def write_minima(shingles: NDArray[np.uint32], words: NDArray[np.int64], bands: NDArray[np.int64]) -> None:
    """Write what is kept of the minima over some shingles.

    Args:
        shingles: their hashes.
        words: takes four bits of each minimum, 16 of them to a word of 64 bits, the first the lowest, shape (8,).
        bands: takes the bands, shape (24,); zeros where there are no shingles.
    """
    minima = np.empty(MINIMA, np.uint32)
    for each in range(MINIMA):
        minima[each] = 2**32 - 1
    # Four at a time: a minimum is fetched and put back for all of them once.
    rest = len(shingles) // 4 * 4
    for at in range(0, rest, 4):
        a, b, c, d = shingles[at], shingles[at + 1], shingles[at + 2], shingles[at + 3]
        for each in range(MINIMA):
            by, plus = MULTIPLIERS[each], OFFSETS[each]
            first = min(np.uint32(a * by + plus), np.uint32(b * by + plus))
            second = min(np.uint32(c * by + plus), np.uint32(d * by + plus))
            minima[each] = min(minima[each], first, second)
    for at in range(rest, len(shingles)):
        for each in range(MINIMA):
            minima[each] = min(minima[each], np.uint32(shingles[at] * MULTIPLIERS[each] + OFFSETS[each]))
    for each in range(MINIMA):
        # The high bits of a minimum are almost always 0; mixed, its low four bits are uniform.
        mixed = np.uint32((minima[each] ^ (minima[each] >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        word, place = each // _MINIMA_A_WORD, each % _MINIMA_A_WORD
        above = np.int64(0) if place == 0 else words[word]
        words[word] = above | np.int64(mixed >> np.uint32(28)) << (place * BITS_OF_A_MINIMUM)
    for band in range(BANDS):
        value = np.uint64(band + 1) * np.uint64(NUMBER)
        for each in range(band * MINIMA_OF_A_BAND, (band + 1) * MINIMA_OF_A_BAND):
            value = (value ^ np.uint64(minima[each])) * np.uint64(MINIMUM)
            value ^= value >> np.uint64(29)
        bands[band] = signed(value) if len(shingles) else 0


@compiled
def count_distinct(values: NDArray[np.uint32]) -> int:
    """Count distinct values: each is written where its topmost bits say, and counted where it is the last one.

    Few share their place with another value, and only these need a table that is looked through.
    """
    count = len(values)
    bits = 2
    while (1 << bits) < 4 * count and bits < 32:
        bits += 1
    shift = np.uint32(32 - bits)
    # Nothing is read that was not written before.
    last = np.empty(1 << bits, np.uint32)
    for place in range(count):
        last[values[place] >> shift] = np.uint32(place)
    displaced, others, distinct = np.empty(count, np.uint32), np.uint64(0), 0
    for place in range(count):
        value = values[place]
        winner = last[value >> shift]
        distinct += winner == np.uint32(place)
        # Written in any case and kept if it is another value: no branch to guess.
        displaced[others] = value
        others += np.uint64(values[winner] != value)
    return distinct + _count_probing(displaced[: np.int64(others)])


@inner
def _count_probing(values: NDArray[np.uint32]) -> int:
    """Count distinct values, by a hash table with open addressing."""
    bits = 1
    while (1 << bits) < 2 * len(values):
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    table = np.empty(1 << bits, np.uint64)
    for place in range(1 << bits):
        table[place] = 0
    distinct = 0
    for value in values:
        entry = np.uint64(value) + np.uint64(1)  # 0 is an empty place
        at = np.uint64(value) & mask
        while table[at] != 0 and table[at] != entry:
            at = (at + np.uint64(1)) & mask
        if table[at] == 0:
            table[at] = entry
            distinct += 1
    return distinct
