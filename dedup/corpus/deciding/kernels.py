"""Compiled loops over the known documents of a corpus: finding a content, comparing sketches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.rules.thresholds import Thresholds, may_be_alike
from dedup.signature.sketch import BITS_OF_A_MINIMUM, MINIMA, containment_of, jaccard_of

_LOWEST_BITS = 0x1111111111111111
_WORDS = MINIMA * BITS_OF_A_MINIMUM // 64
# Of each minimum one bit is left, so that those of four words fit in one.
_COUNTED_TOGETHER = 4

# The rule stands in plain Python, for those who do without the compiler.
_jaccard_of = inner(jaccard_of)
_containment_of = inner(containment_of)
_may_be_alike = inner(may_be_alike)


@compiled
def find_digest(slots: NDArray[np.uint32], digests: NDArray[np.uint64], low: np.uint64, high: np.uint64) -> int:
    """Return the number of the document whose digest has these two halves; -1 if none has.

    Args:
        slots: a hash table by open addressing: numbers of documents plus one, 0 where it is empty; its
            length is a power of two.
        digests: those of all documents, shape (n, 2).
        low: the first half of the digest.
        high: the second one.
    """
    mask = np.uint64(len(slots) - 1)
    place = low & mask
    while slots[place] != 0:
        number = signed(slots[place]) - 1
        if digests[number, 0] == low and digests[number, 1] == high:
            return number
        place = (place + np.uint64(1)) & mask
    return -1


@compiled
def insert_digests(slots: NDArray[np.uint32], digests: NDArray[np.uint64], start: int, end: int) -> None:
    """Enter the documents from number `start` to before `end`; see `find_digest`."""
    mask = np.uint64(len(slots) - 1)
    for number in range(start, end):
        place = digests[number, 0] & mask
        while slots[place] != 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = np.uint32(number + 1)


class Sketches(NamedTuple):
    """Those of all documents.

    Attributes:
        minima: the minima of each, shape (n, 8).
        shingles: how many shingles each has, shape (n,).
        tokens: how many tokens each has, shape (n,).
    """

    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]


@inner
def rank(candidates: NDArray[np.int64], known: Sketches, document: int, needed: Thresholds) -> NDArray[np.int64]:
    """Return the candidates that the check may confirm, the most similar first, of equal ones the first.

    As `dedup.rules.matcher.Matcher.rank` does.

    Args:
        candidates: numbers of documents, rising.
        known: the sketches of all documents.
        document: the number of the one that is to be decided.
        needed: what is to be reached.
    """
    found, similarities, count = np.empty(len(candidates), np.int64), np.empty(len(candidates), np.float64), 0
    for number in candidates:
        jaccard, containment, length_ratio = _compare(known, number, document)
        tokens = min(known.tokens[number], known.tokens[document])
        if not _may_be_alike(jaccard, containment, length_ratio, signed(tokens), needed):
            continue
        place = count
        while place > 0 and similarities[place - 1] < jaccard:
            similarities[place], found[place] = similarities[place - 1], found[place - 1]
            place -= 1
        similarities[place], found[place] = jaccard, number
        count += 1
    return found[:count]


@inner
def _compare(known: Sketches, a: int, b: int) -> tuple[float, float, float]:
    """Return Jaccard similarity, containment and length ratio as `dedup.signature.sketch.compare` does."""
    ours, theirs = signed(known.shingles[a]), signed(known.shingles[b])
    if ours == 0 or theirs == 0:
        return 0.0, 0.0, 0.0
    differing = 0
    for half in range(0, _WORDS, _COUNTED_TOGETHER):
        together = np.uint64(0)
        for word in range(_COUNTED_TOGETHER):
            bits = known.minima[a, half + word] ^ known.minima[b, half + word]
            bits |= bits >> np.uint64(2)
            bits |= bits >> np.uint64(1)
            together |= (bits & np.uint64(_LOWEST_BITS)) << np.uint64(word)
        differing += signed(ones(together))
    jaccard = _jaccard_of(differing)
    tokens, others = known.tokens[a], known.tokens[b]
    return jaccard, _containment_of(jaccard, ours, theirs), min(tokens, others) / max(tokens, others)
