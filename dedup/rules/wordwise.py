"""Comparing two texts word by word, where their sketches leave a doubt.

Two kinds of documents share most of their shingles and are no copies. A form that is filled in
anew, such as the yearly story of a ceremony: names, dates and phrases here and there have given way
to unlike ones, where an edit adds, removes or respells. And two stories in the same long frame, if
extraction has left it in: one long passage has given way to another one.

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
# Characters; a site that writes words of a million letters must not hold up a crawl.
_LONGEST_COMPARED = 200
_NUMBER = re.compile(r"^.*\d.*$", re.MULTILINE)


class WordDifference(NamedTuple):
    """How two texts differ.

    Attributes:
        replaced: how many stretches of at most 24 tokens on both sides, that have less than half of
            their characters in common, in their order, there are for 100 tokens of the shorter text.
        rewritten: what share of the shorter text's tokens is in longer stretches that have given
            way to others with no shingle in common, 0 to 1.
    """

    replaced: float
    rewritten: float


def compare_words(a: bytes, b: bytes) -> WordDifference:
    """Say how two texts differ.

    Args:
        a: the tokens of one text.
        b: those of the other; the order of the two makes no difference.
    """
    ours, theirs = sorted((a.split(b"\n"), b.split(b"\n")))
    gaps = find_rewritten(ours, theirs)
    replaced = sum(_is_replaced(ours, theirs, change) for change in refine(ours, theirs, gaps))
    rewritten = sum(size for size in map(_size, gaps) if size > LONGEST_REPLACED)
    shorter = min(len(ours), len(theirs))
    return WordDifference(100 * replaced / shorter, rewritten / shorter)


def short_similarity(a: bytes, b: bytes) -> float:
    """Return the Jaccard similarity of the sets of tokens and pairs of tokens of two short texts.

    Shingles of three tokens are too few there: each changed word takes three of them.

    Returns:
        0 to 1; 0 if their numbers are not the same.
    """
    if _numbers(a) != _numbers(b):
        return 0.0
    ours, theirs = a.split(b"\n"), b.split(b"\n")
    shingles, others = ({(token,) for token in tokens} | set(pairwise(tokens)) for tokens in (ours, theirs))
    return jaccard(shingles, others)


def _size(change: TokenChange) -> int:
    """Return how many tokens have given way to others."""
    return min(change.a_end - change.a_start, change.b_end - change.b_start)


def _is_replaced(ours: list[bytes], theirs: list[bytes], change: TokenChange) -> bool:
    a_start, a_end, b_start, b_end = change
    if not _size(change) or max(a_end - a_start, b_end - b_start) > LONGEST_REPLACED:
        return False
    # The share of the characters of both that is in their longest common subsequence.
    likeness = Indel.normalized_similarity(_string(ours[a_start:a_end]), _string(theirs[b_start:b_end]))
    return likeness < _LIKE


def _string(tokens: list[bytes]) -> str:
    return b"".join(tokens).decode()[:_LONGEST_COMPARED]


def _numbers(tokens: bytes) -> Counter[str]:
    # One search for all of them takes a fifth of the time.
    return Counter(_NUMBER.findall(tokens.decode()))
