"""Both texts of a pair in full, cut into rows that stand beside each other, with the words that differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import regex

from dedup.report.stored_texts import Origin, find_texts
from dedup.report.words import are_too_long, merge_neighbours
from dedup.rules.word_comparison import TokenChange, find_changes
from dedup.signature.normalise import normalise
from dedup.store.database import Database

MOST_CHARACTERS = 5_000_000
"""Of a text, that are shown."""

# What the page calls them.
_KINDS = {Origin.PAGE: "text", Origin.WORDS: "words", Origin.LATER: "later"}

# Characters. Shorter lines share a row, so that no text has more rows than a browser makes.
_SHORT_ROW = 120
_ROW = 600
_LONGEST_ROW = 2_000
_ANCHOR = 8
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*|(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])+")
_CHUNK = regex.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Side:
    """A text, its words as they are compared, and where in the text each of them stands."""

    text: str
    words: list[bytes]
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> _Side:
        words: list[bytes] = []
        spans: list[tuple[int, int]] = []
        for chunk in _CHUNK.finditer(text):
            start, end = chunk.span()
            written = text[start:end]
            if written.isascii() and written.isalnum():
                words.append(written.lower().encode())
                spans.append((start, end))
                continue
            own, places = _words_of(written)
            words += own
            spans += [(start + first, start + last) for first, last in places]
        return cls(text, words, spans)

    def gap(self, word: int) -> tuple[int, str]:
        """Return what stands before a word, behind the one before, and where."""
        start = self.spans[word - 1][1]
        return start, self.text[start : self.spans[word][0]]

    def marked(self, changes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return where in the text the words from one number to another stand."""
        return [(self.spans[start][0], self.spans[end - 1][1]) for start, end in changes if end > start]


def _words_of(chunk: str) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return the words of a text without white space, normalised, and where they stand in it."""
    words = [word.encode() for word in _WORD.findall(normalise(chunk))]
    spans = [found.span() for found in _WORD.finditer(chunk)]
    # A sign can become a word, a word two, and two one, where what is between them is not seen.
    return words, spans if len(spans) == len(words) else [(0, len(chunk))] * len(words)


def texts_of(database: Database, keys: Sequence[str], run: str = "") -> dict[str, Any]:
    """Return what the page shows of the texts of two documents, all of which can be JSON.

    Args:
        database: where they are.
        keys: those of original and document.
        run: the run of whose time they are; empty: the latest.

    Returns:
        `sides`, whether each is a stored "text", "words", "later", where only a later text is stored, which is not
        shown, or "nothing", and how many of its characters are left out;
        `is_compared`, whether differences are marked; `rows`, each with the parts of both texts that stand in it:
        every second part differs, the first one does not.

    Raises:
        DatabaseError: the database cannot be read.
    """
    texts = find_texts(database, keys, run)
    found = [(_KINDS[texts[key][0]], texts[key][1]) if key in texts else ("nothing", "") for key in keys]
    shown = [text[:MOST_CHARACTERS] for _, text in found]
    rows, is_compared = side_by_side(shown[0], shown[1])
    sides = [(kind, len(text) - len(own)) for (kind, text), own in zip(found, shown, strict=True)]
    return {"sides": sides, "is_compared": is_compared, "rows": list(rows)}


def side_by_side(a: str, b: str) -> tuple[Iterator[tuple[list[str], list[str]]], bool]:
    """Cut two texts into rows, so that what both have stands in the same row; also say whether they were compared.

    Nothing is marked where one is empty, or where comparing them would take too long.
    """
    ours, theirs = _Side.of(a), _Side.of(b)
    changes = _changes(ours.words, theirs.words) if ours.words and theirs.words else None
    if changes is None:
        return _rows((ours, theirs), [], [(0, 0), (len(a), len(b))]), False
    return _rows((ours, theirs), changes, [(0, 0), *_breaks(ours, theirs, changes), (len(a), len(b))]), True


def _changes(a: list[bytes], b: list[bytes]) -> list[TokenChange] | None:
    changes: list[TokenChange] = []
    for a_start, a_end, b_start, b_end in _unlike(a, b):
        if are_too_long(a_end - a_start, b_end - b_start):
            return None
        found = find_changes(a[a_start:a_end], b[b_start:b_end])
        changes += [
            TokenChange(a_start + each.a_start, a_start + each.a_end, b_start + each.b_start, b_start + each.b_end)
            for each in found
        ]
    return merge_neighbours(changes)


def _unlike(a: list[bytes], b: list[bytes]) -> Iterator[TokenChange]:
    """Yield what lies between passages that two texts share: their ends, and in long texts what stands once in each."""
    first = _count_alike(a, b)
    last = _count_alike(a[first:][::-1], b[first:][::-1])
    a_end, b_end = len(a) - last, len(b) - last
    a_from = b_from = first
    if are_too_long(a_end - first, b_end - first):
        places = _once(b[first:b_end])
        common = [(at, places[passage]) for passage, at in _once(a[first:a_end]).items() if passage in places]
        for at, other in ((first + at, first + other) for at, other in _longest_rising(common)):
            if at < a_from or other < b_from:
                continue
            if at > a_from or other > b_from:
                yield TokenChange(a_from, at, b_from, other)
            a_from, b_from = at + _ANCHOR, other + _ANCHOR
    yield TokenChange(a_from, a_end, b_from, b_end)


def _count_alike(a: list[bytes], b: list[bytes]) -> int:
    return next(
        (at for at, (ours, theirs) in enumerate(zip(a, b, strict=False)) if ours != theirs), min(len(a), len(b))
    )


def _once(words: list[bytes]) -> dict[int, int]:
    """Return the passages of some words that stand once in a text, in their order, and where."""
    places: dict[int, int] = {}
    for at, passage in enumerate(zip(*(words[first:] for first in range(_ANCHOR)), strict=False)):
        hashed = hash(passage)
        places[hashed] = -1 if hashed in places else at
    return {passage: at for passage, at in places.items() if at >= 0}


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many of some pairs, whose first numbers rise, as have second numbers that rise too."""
    lowest: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, other) in enumerate(pairs):
        at = bisect_right(lowest, other)
        lowest[at : at + 1] = [other]
        ends[at : at + 1] = [number]
        before.append(ends[at - 1] if at else -1)
    chosen = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _breaks(ours: _Side, theirs: _Side, changes: Sequence[TokenChange]) -> Iterator[tuple[int, int]]:
    """Yield where in both texts a row ends: between words of a passage that both have."""
    last = (0, 0)
    whole = TokenChange(len(ours.words), len(ours.words), len(theirs.words), len(theirs.words))
    starts = [(0, 0), *((change.a_end, change.b_end) for change in changes)]
    for (a_from, b_from), change in zip(starts, [*changes, whole], strict=True):
        # Before the first word of a passage stands one that differs.
        for a_word, b_word in zip(range(a_from + 1, change.a_start), range(b_from + 1, change.b_start), strict=True):
            gaps = ours.gap(a_word), theirs.gap(b_word)
            length = max(start - before for (start, _), before in zip(gaps, last, strict=True))
            if length >= _ROW or (length >= _SHORT_ROW and any("\n" in gap for _, gap in gaps)):
                last = _behind(*gaps[0]), _behind(*gaps[1])
                yield last


def _behind(start: int, gap: str) -> int:
    """Return where the next line begins in what stands between two words, else the next word."""
    spaces = gap.rfind("\n") + 1 or next((at for at in range(len(gap), 0, -1) if gap[at - 1].isspace()), len(gap))
    return start + spaces


def _rows(
    sides: tuple[_Side, _Side], changes: Sequence[TokenChange], breaks: Sequence[tuple[int, int]]
) -> Iterator[tuple[list[str], list[str]]]:
    marks = (
        sides[0].marked([(each.a_start, each.a_end) for each in changes]),
        sides[1].marked([(each.b_start, each.b_end) for each in changes]),
    )
    for starts, ends in pairwise(breaks):
        left, right = (
            [_parts(side.text, own, start, end) for start, end in pairwise(_cuts(side.text, first, last))]
            for side, own, first, last in zip(sides, marks, starts, ends, strict=True)
        )
        yield from zip_longest(left, right, fillvalue=[""])


def _cuts(text: str, start: int, end: int) -> list[int]:
    """Return where a passage is cut so that no piece is longer than a row may be."""
    cuts = [start]
    while end - cuts[-1] > _LONGEST_ROW:
        most = cuts[-1] + _LONGEST_ROW
        cuts.append(max(text.rfind("\n", cuts[-1], most), text.rfind(" ", cuts[-1] + _ROW, most)) + 1 or most)
    return [*cuts, end]


def _parts(text: str, marks: list[tuple[int, int]], start: int, end: int) -> list[str]:
    """Return a piece of a text in parts, of which every second one is marked, and the first one is not."""
    parts = []
    at = start
    number = max(0, bisect_right(marks, (start, start)) - 1)
    while number < len(marks) and marks[number][0] < end:
        first, last = max(at, marks[number][0]), min(end, marks[number][1])
        if last > first:
            parts += [text[at:first], text[first:last]]
            at = last
        number += 1
    return [*parts, text[at:end].rstrip()]
