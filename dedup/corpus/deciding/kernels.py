"""Compiled loops over the known documents of a corpus: finding a content, comparing many sketches at once."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.corpus.deciding.briefs import BRIEF_WORDS, write_brief
from dedup.index.memory.addresses import prefetch
from dedup.rules.thresholds import (
    BY_CONTAINMENT,
    BY_JACCARD,
    NOT_ALIKE,
    SIMILAR,
    Thresholds,
    alike_by,
    is_near_leader,
    may_be_form,
    may_be_frame,
)
from dedup.signature.sketch import BITS_OF_A_MINIMUM, MINIMA, containment_of, jaccard_of

_CACHE_LINE = 64
_LOWEST_BITS = 0x1111111111111111
_WORDS = MINIMA * BITS_OF_A_MINIMUM // 64
# Of each minimum one bit is left, so that those of four words fit in one.
_COUNTED_TOGETHER = 4
_LOWER_OF_PAIRS = np.uint64(0x5555555555555555)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_SIMILAR_JACCARD, _SIMILAR_CONTAINMENT, _SIMILAR_LENGTH_RATIO = SIMILAR[:3]
# Below this share of what is asked for no rounding makes up for it.
_SURELY_LESS = 0.999


# The rule stands in plain Python, for those who do without the compiler.
_jaccard_of = inner(jaccard_of)
_containment_of = inner(containment_of)
_alike_by = inner(alike_by)
_may_be_form = inner(may_be_form)
_may_be_frame = inner(may_be_frame)
_is_near_leader = inner(is_near_leader)


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


@inner
def prefetch_slot(slots: NDArray[np.uint32], low: np.uint64) -> None:
    """Start reading where `find_digest` will look first for a digest with this first half."""
    prefetch(slots.ctypes.data + signed(low & np.uint64(len(slots) - 1)) * slots.itemsize)


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
        briefs: what `write_brief` made of each, shape (n, 4); none at all where there is no room for them.
    """

    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    briefs: NDArray[np.uint64]


@inner
def compare_sketches(known: Sketches, number: int, minima: NDArray[np.uint64], shingles: int) -> tuple[float, float]:
    """Return Jaccard similarity and containment as `dedup.signature.sketch.compare` does.

    Args:
        known: the sketches of all documents.
        number: the document that another one is compared with.
        minima: the minima of that one, shape (8,).
        shingles: how many shingles it has.
    """
    theirs = signed(known.shingles[number])
    if shingles == 0 or theirs == 0:
        return 0.0, 0.0
    differing = 0
    for half in range(0, _WORDS, _COUNTED_TOGETHER):
        together = np.uint64(0)
        for word in range(_COUNTED_TOGETHER):
            bits = known.minima[number, half + word] ^ minima[half + word]
            bits |= bits >> np.uint64(2)
            bits |= bits >> np.uint64(1)
            together |= (bits & np.uint64(_LOWEST_BITS)) << np.uint64(word)
        differing += signed(ones(together))
    jaccard = _jaccard_of(differing)
    return jaccard, _containment_of(jaccard, shingles, theirs)


@inner
def is_sure(
    known: Sketches, number: int, minima: NDArray[np.uint64], shingles: int, tokens: int, needed: Thresholds
) -> bool:
    """Say whether the check confirms a candidate by the sketches alone; see `worth_checking`."""
    theirs = signed(known.tokens[number])
    jaccard, containment = compare_sketches(known, number, minima, shingles)
    rule = _alike_by(jaccard, containment, _length_ratio(tokens, theirs), needed)
    return bool(
        min(tokens, theirs) >= needed.short_tokens
        and rule in (BY_JACCARD, BY_CONTAINMENT)
        and not _may_be_form(jaccard, needed)
        and not _may_be_frame(containment, needed)
    )


@inner
def belongs_to_leader(
    known: Sketches, leader: int, minima: NDArray[np.uint64], shingles: int, needed: Thresholds
) -> bool:
    """Say whether a document is close enough to the leader of a cluster; see `worth_checking`."""
    jaccard, containment = compare_sketches(known, leader, minima, shingles)
    return bool(_is_near_leader(jaccard, containment, needed))


@inner
def _length_ratio(a: int, b: int) -> float:
    return min(a, b) / max(a, b)


@compiled
def worth_checking(
    candidates: NDArray[np.int64],
    known: Sketches,
    minima: NDArray[np.uint64],
    shingles: int,
    tokens: int,
    needed: Thresholds,
) -> NDArray[np.int64]:
    """Return the candidates that the check may confirm, the most similar first, of equal ones the first.

    Left out is only what `dedup.rules.verification.check` would refuse by the sketches alone.

    Args:
        candidates: numbers of documents.
        known: the sketches of all documents.
        minima: those of the document that is to be decided, shape (8,).
        shingles: how many shingles it has.
        tokens: how many tokens it has.
        needed: what is to be reached.
    """
    if len(known.briefs):
        candidates = _left_by_briefs(candidates, known.briefs, minima, shingles, tokens, needed)
    # They stand anywhere in memory, and fetching one after the other takes longer than all the rest.
    for number in candidates:
        address = known.minima.ctypes.data + number * known.minima.strides[0]
        prefetch(address)
        prefetch(address + _CACHE_LINE)
    found = np.empty(len(candidates), np.int64)
    similarities = np.empty(len(candidates), np.float64)
    count = 0
    for number in candidates:
        jaccard, containment = compare_sketches(known, number, minima, shingles)
        theirs = signed(known.tokens[number])
        # Without shingles nothing is alike, not even the lengths.
        has_shingles = min(shingles, signed(known.shingles[number])) > 0
        length_ratio = _length_ratio(tokens, theirs) if has_shingles else 0.0
        is_short = min(tokens, theirs) < needed.short_tokens
        if not is_short and _alike_by(jaccard, containment, length_ratio, needed) == NOT_ALIKE:
            continue
        place = count
        while place > 0 and similarities[place - 1] < jaccard:
            similarities[place] = similarities[place - 1]
            found[place] = found[place - 1]
            place -= 1
        similarities[place] = jaccard
        found[place] = number
        count += 1
    return found[:count]


@inner
def _left_by_briefs(
    candidates: NDArray[np.int64],
    briefs: NDArray[np.uint64],
    minima: NDArray[np.uint64],
    shingles: int,
    tokens: int,
    needed: Thresholds,
) -> NDArray[np.int64]:
    """Return the candidates of which sketches in brief do not say that they are not worth the check."""
    for number in candidates:
        prefetch(briefs.ctypes.data + number * briefs.strides[0])
    brief = np.empty(BRIEF_WORDS, np.uint64)
    write_brief(minima, shingles, tokens, brief)
    min_jaccard = min(needed.min_jaccard, _SIMILAR_JACCARD)
    min_containment = min(needed.min_containment, _SIMILAR_CONTAINMENT)
    min_length_ratio = min(needed.min_length_ratio, _SIMILAR_LENGTH_RATIO)
    left, count = np.empty(len(candidates), np.int64), 0
    for number in candidates:
        first, second = _differing_pairs(briefs[number, 0] ^ brief[0]), _differing_pairs(briefs[number, 1] ^ brief[1])
        differing = ones(first | second << np.uint64(1)) + ones(_differing_pairs(briefs[number, 2] ^ brief[2]))
        # At most so much: minima of which two bits are the same may differ, and those that are left out too.
        jaccard = _jaccard_of(signed(differing))
        theirs, their_tokens = signed(briefs[number, 3] & _LOW_HALF), signed(briefs[number, 3] >> np.uint64(32))
        # Multiplied, since dividing takes longer than all the rest, and with some room for what is rounded.
        contained = _SURELY_LESS * min_containment * (1 + jaccard) * min(shingles, theirs)
        long_enough = _SURELY_LESS * min_length_ratio * max(tokens, their_tokens)
        if (
            min(tokens, their_tokens) >= needed.short_tokens
            and jaccard < min_jaccard
            and (jaccard * (shingles + theirs) < contained or min(tokens, their_tokens) < long_enough)
        ):
            continue
        left[count] = number
        count += 1
    return left[:count]


@inner
def _differing_pairs(bits: np.uint64) -> np.uint64:
    """Return the lower bit of each pair of which one is 1."""
    return (bits | bits >> np.uint64(1)) & _LOWER_OF_PAIRS
