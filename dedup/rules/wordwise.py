"""Comparing two texts word by word, where their sketches leave a doubt.

Two kinds of documents share most of their shingles and are no copies. Another thing in the same frame, such as
a leaflet of another drug, the results of another county, or the yearly story of a ceremony: names, numbers and phrases
here and there have given way to unlike ones, the same name to the same other one throughout, where an edit adds,
removes or respells. And two stories in the same long frame, if extraction has left it in: one long passage has given
way to another one.

Texts are their tokens in UTF-8, a line feed between them, as `dedup.signature.signature` has them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import Indel

from dedup.rules.changes import TokenChange, find_rewritten, refine
from dedup.rules.overlap import jaccard

LONGEST_REPLACED = 24
"""Tokens of a stretch that may have been filled in; what is longer was rewritten."""

_LIKE = 0.5
_LONGEST_SWAPPED = 6
# Characters; a site that writes words of a million letters must not hold up a crawl.
_LONGEST_COMPARED = 200
# Of any script.
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"^.*\d.*$", re.MULTILINE)


class WordDifference(NamedTuple):
    """How two texts differ.

    Attributes:
        replaced: how many stretches of at most 24 tokens on both sides, that have less than half of
            their characters in common, in their order, there are for 100 tokens of the shorter text.
        rewritten: what share of the shorter text's tokens is in longer stretches that have given
            way to others with no shingle in common, 0 to 1.
        swapped: how many stretches of at most 6 tokens, numbers left out, gave way to the same other one at least
            twice, for 100 tokens: the name of another thing.
        numbers_gone: how many numbers, for 100 tokens, gave way to others.
        numbers_shared: which share of the numbers of both texts is in both, each as often as it is in either, 0 to 1;
            1 where one of them has none.
        has_own_words: whether each of the texts repeats a word, numbers left out, that the other never has.
    """

    replaced: float
    rewritten: float
    swapped: float
    numbers_gone: float
    numbers_shared: float
    has_own_words: bool

    @property
    def is_noise(self) -> bool:
        """Whether what was replaced is an edition's noise: no number gave way, and neither has a subject of its own."""
        return not (self.numbers_gone or self.has_own_words)


def compare_words(a: bytes, b: bytes) -> WordDifference:
    """Say how two texts differ.

    Args:
        a: the tokens of one text.
        b: those of the other; the order of the two makes no difference.
    """
    ours, theirs = sorted((a.split(b"\n"), b.split(b"\n")))
    gaps = find_rewritten(ours, theirs)
    both_sided = [change for change in refine(ours, theirs, gaps) if _size(change)]
    replaced = sum(_is_replaced(ours, theirs, change) for change in both_sided)
    rewritten = sum(size for size in map(_size, gaps) if size > LONGEST_REPLACED)
    per_cent = 100 / min(len(ours), len(theirs))
    gone, shared = _compare_numbers(_numbers(a), _numbers(b))
    return WordDifference(
        replaced=replaced * per_cent,
        rewritten=rewritten * per_cent / 100,
        swapped=_count_swapped(ours, theirs, both_sided) * per_cent,
        numbers_gone=gone * per_cent,
        numbers_shared=shared,
        has_own_words=_repeats_own_word(ours, theirs) and _repeats_own_word(theirs, ours),
    )


def _compare_numbers(ours: Counter[str], theirs: Counter[str]) -> tuple[int, float]:
    common, least = (ours & theirs).total(), min(ours.total(), theirs.total())
    return least - common, common / (ours | theirs).total() if least else 1.0


def _count_swapped(ours: list[bytes], theirs: list[bytes], changes: list[TokenChange]) -> int:
    pairs = Counter(
        (tuple(ours[a_start:a_end]), tuple(theirs[b_start:b_end]))
        for a_start, a_end, b_start, b_end in changes
        if max(a_end - a_start, b_end - b_start) <= _LONGEST_SWAPPED
    )
    return sum(
        count
        for pair, count in pairs.items()
        if count > 1 and not all(_is_number(word) for side in pair for word in side)
    )


def _repeats_own_word(words: list[bytes], others: list[bytes]) -> bool:
    theirs = set(others)
    own = Counter(word for word in words if word not in theirs)
    return any(count > 1 and not _is_number(word) for word, count in own.items())


def _is_number(word: bytes) -> bool:
    return _DIGIT.search(word.decode()) is not None


def short_similarity(a: bytes, b: bytes) -> float:
    """Return the Jaccard similarity of the sets of tokens and pairs of tokens of two short texts.

    Shingles of three tokens are too few there: each changed word takes three of them.

    Returns:
        0 to 1.
    """
    ours, theirs = a.split(b"\n"), b.split(b"\n")
    shingles, others = ({(token,) for token in tokens} | set(pairwise(tokens)) for tokens in (ours, theirs))
    return jaccard(shingles, others)


def has_same_numbers(a: bytes, b: bytes) -> bool:
    """Say whether two texts have the same numbers, each as often."""
    return _numbers(a) == _numbers(b)


def _size(change: TokenChange) -> int:
    """Return how many tokens have given way to others."""
    return min(change.a_end - change.a_start, change.b_end - change.b_start)


def _is_replaced(ours: list[bytes], theirs: list[bytes], change: TokenChange) -> bool:
    a_start, a_end, b_start, b_end = change
    if max(a_end - a_start, b_end - b_start) > LONGEST_REPLACED:
        return False
    # The share of the characters of both that is in their longest common subsequence.
    likeness = Indel.normalized_similarity(_string(ours[a_start:a_end]), _string(theirs[b_start:b_end]))
    return likeness < _LIKE


def _string(tokens: list[bytes]) -> str:
    return b"".join(tokens).decode()[:_LONGEST_COMPARED]


def _numbers(tokens: bytes) -> Counter[str]:
    # One search for all of them takes a fifth of the time.
    return Counter(_NUMBER.findall(tokens.decode()))
