"""What has to be changed in one text to get another, token by token.

difflib takes a time that grows with the square of a text's frequent words, and with their cube where
somebody wants it to. Here the nth "sea wall was" of one text belongs to the nth of the other, and of
these pairs the longest row that rises in both texts is kept: n log n, whatever the texts are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dedup.fingerprint.sketch import SHINGLE_WORDS

# Without a shingle in common, longer passages share only words that all texts have.
_LONGEST_REFINED = 200


class Change(NamedTuple):
    """Tokens `start` to `end`, the latter not included, of text A that became those of text B."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int


class _Block(NamedTuple):
    a: int
    b: int
    size: int


def find_changes(a: Sequence[bytes], b: Sequence[bytes]) -> list[Change]:
    """Find what has to be changed in one sequence of tokens to get another.

    Returns:
        The changes in the order of the texts; outside of them both have the same tokens.
    """
    return refine(a, b, find_rewritten(a, b))


def find_rewritten(a: Sequence[bytes], b: Sequence[bytes]) -> list[Change]:
    """Find what lies between the shingles of three tokens that two sequences share.

    Returns:
        The changes in the order of the texts, with the single words in them that both texts have.
    """
    everything = Change(0, len(a), 0, len(b))
    return _between(_equal_blocks(a, b, everything, SHINGLE_WORDS), everything)


def refine(a: Sequence[bytes], b: Sequence[bytes], rewritten: Iterable[Change]) -> list[Change]:
    """Take single words that both texts have out of the changes that `find_rewritten` found."""
    changes: list[Change] = []
    for change in rewritten:
        if max(change.a_end - change.a_start, change.b_end - change.b_start) > _LONGEST_REFINED:
            changes.append(change)
        else:
            changes += _between(_equal_blocks(a, b, change, 1), change)
    return changes


def _equal_blocks(a: Sequence[bytes], b: Sequence[bytes], inside: Change, size: int) -> Iterator[_Block]:
    """Yield runs of equal tokens that start from shingles of so many tokens, in order."""
    theirs = _numbered(b, inside.b_start, inside.b_end, size)
    places = dict(zip(theirs, range(inside.b_start, inside.b_end), strict=False))
    ours = _numbered(a, inside.a_start, inside.a_end, size)
    pairs = [(place, places[shingle]) for place, shingle in enumerate(ours, inside.a_start) if shingle in places]
    a_from, _, b_from, _ = inside
    for a_start, b_start in _longest_rising(pairs):
        if a_start < a_from or b_start < b_from:
            continue
        a_end, b_end = a_start, b_start
        while a_end < inside.a_end and b_end < inside.b_end and a[a_end] == b[b_end]:
            a_end, b_end = a_end + 1, b_end + 1
        size_before = 0
        while (
            a_start - size_before > a_from
            and b_start - size_before > b_from
            and a[a_start - size_before - 1] == b[b_start - size_before - 1]
        ):
            size_before += 1
        yield _Block(a_start - size_before, b_start - size_before, a_end - a_start + size_before)
        a_from, b_from = a_end, b_end


def _numbered(tokens: Sequence[bytes], start: int, end: int, size: int) -> list[Hashable]:
    """Return the shingles in their order; those that stood before with the number of those like it."""
    shingles: list[Hashable] = list(zip(*(tokens[start + at : end] for at in range(size)), strict=False))
    seen: dict[Hashable, int] = {}
    # Most texts say nothing twice in the same three words.
    if len(set(shingles)) < len(shingles):
        for place, shingle in enumerate(shingles):
            if shingle in seen:
                seen[shingle] += 1
                shingles[place] = seen[shingle], shingle
            else:
                seen[shingle] = 0
    return shingles


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest row of pairs in which both numbers rise; the first does already, the second never repeats."""
    lasts: list[int] = []  # by the length of a row: the smallest number that ends one
    ends: list[int] = []  # and which pair that is
    befores: list[int] = []
    for number, (_, b) in enumerate(pairs):
        length = bisect_left(lasts, b)
        befores.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [b]
        ends[length : length + 1] = [number]
    row = []
    at = ends[-1] if ends else -1
    while at >= 0:
        row.append(pairs[at])
        at = befores[at]
    return row[::-1]


def _between(blocks: Iterable[_Block], inside: Change) -> list[Change]:
    """Return what lies between blocks of equal tokens."""
    changes: list[Change] = []
    a_from, a_end, b_from, b_end = inside
    for block in (*blocks, _Block(a_end, b_end, 0)):
        if block.a > a_from or block.b > b_from:
            changes.append(Change(a_from, block.a, b_from, block.b))
        a_from, b_from = block.a + block.size, block.b + block.size
    return changes
