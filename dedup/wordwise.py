"""Comparing two texts word by word, where their sketches leave a doubt.

A form that is filled in anew, such as the yearly story of a ceremony, shares most of its shingles
with the one before. What tells it from an edited copy is where it differs: names, dates and phrases
here and there have given way to unlike ones, where an edit adds, removes or respells.

Texts are their tokens in UTF-8, a line feed between them, as `dedup.fingerprint.signature` has them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

from dedup.changes import find_changes

LONGEST_REPLACED = 24
"""Tokens: what is longer was rewritten, which filling in a form is not."""

_LIKE = 0.5
# Characters; a site that writes words of a million letters must not hold up a crawl.
_LONGEST_COMPARED = 200
_NUMBER = re.compile(r"\d")


def replaced_per_hundred(a: bytes, b: bytes) -> float:
    """Count the short stretches of one text that unlike ones have replaced in the other.

    Args:
        a: the tokens of one text.
        b: those of the other; the order of the two makes no difference.

    Returns:
        How many stretches of at most 24 tokens on both sides, that have less than half of their
        characters in common, in their order, there are for 100 tokens of the shorter text.
    """
    ours, theirs = sorted((a.split(b"\n"), b.split(b"\n")))
    stretches = [
        (_string(ours[a_start:a_end]), _string(theirs[b_start:b_end]))
        for a_start, a_end, b_start, b_end in find_changes(ours, theirs)
        if 0 < a_end - a_start <= LONGEST_REPLACED and 0 < b_end - b_start <= LONGEST_REPLACED
    ]
    return 100 * sum(likeness(*stretch) < _LIKE for stretch in stretches) / min(len(ours), len(theirs))


def short_similarity(a: bytes, b: bytes) -> float:
    """Return the Jaccard similarity of the sets of tokens and pairs of tokens of two short texts.

    Shingles of three tokens are too few there: each changed word takes three of them.

    Returns:
        0 to 1; 0 if their numbers are not the same.
    """
    ours, theirs = a.split(b"\n"), b.split(b"\n")
    if _numbers(ours) != _numbers(theirs):
        return 0.0
    shingles, others = ({(token,) for token in tokens} | set(pairwise(tokens)) for tokens in (ours, theirs))
    return len(shingles & others) / len(shingles | others)


def likeness(a: str, b: str) -> float:
    """Return what share of the characters of two strings is in their longest common subsequence.

    H. Hyyrö, "Bit-parallel LCS-length computation revisited", AWOCA 2004, section 3: row by row,
    in the bits of one number.
    """
    places: dict[str, int] = defaultdict(int)
    for place, character in enumerate(a):
        places[character] |= 1 << place
    every = (1 << len(a)) - 1
    row = every
    for character in b:
        matches = row & places.get(character, 0)
        row = (row + matches | row - matches) & every
    return 2 * (len(a) - row.bit_count()) / (len(a) + len(b))


def _string(tokens: list[bytes]) -> str:
    return b"".join(tokens).decode()[:_LONGEST_COMPARED]


def _numbers(tokens: list[bytes]) -> Counter[bytes]:
    return Counter(token for token in tokens if _NUMBER.search(token.decode()))
