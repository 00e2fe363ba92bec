"""The rows of a table of the report: what was dropped and why, and what is similar and was kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from dedup.display import columns_of, pad, plain, readable, similarity
from dedup.report.columns import GAP, NARROWEST_COLUMN, fit
from dedup.report.contents import RelatedRow
from dedup.rules.decision import Verdict
from dedup.terminal import EXACT, HEADING, NEAR, QUIET, SIMILAR, joined, link_to, padded, styled

KEPT = "*"
"""Marks a duplicate that was passed on all the same."""

STYLES = {Verdict.EXACT_DUPLICATE: EXACT, Verdict.NEAR_DUPLICATE: NEAR, Verdict.SIMILAR: SIMILAR}
"""How a terminal shows what was decided."""

_SCHEME = re.compile("[a-z]+://")
# The columns get the width that the first rows need: nobody waits for the last of a million.
_ROWS_MEASURED = 1000
_WIDEST_COLUMN = 120
# In a narrower terminal the addresses need the room more.
_ROOM_FOR_RULE = 120
_NO_RULE = "-"
# Words: a sentence.
_FEWEST_LOST = 20


def _rule_of(row: RelatedRow) -> str:
    rule = row.rule or _NO_RULE
    return f"{rule} +{row.lost:,} words" if row.lost and row.lost >= _FEWEST_LOST else rule


class _Column(NamedTuple):
    """A column before the addresses: what a row has in it, and how a terminal shows that."""

    heading: str
    cell: Callable[[RelatedRow], str]
    style: Callable[[RelatedRow], str] = lambda _: ""
    is_number: bool = False


_VERDICT = _Column(
    "verdict", lambda row: row.verdict.split()[0] + KEPT * bool(row.kept), lambda row: STYLES[row.verdict]
)
_DISTANCE = _Column("distance", lambda row: str(row.distance), is_number=True)
_SIMILARITY = _Column("similarity", lambda row: similarity(row.similarity), is_number=True)
_RULE = _Column("rule", _rule_of, lambda _: QUIET)


def dropped_lines(duplicates: Iterator[RelatedRow], width: int | None, *, is_redrawn: bool = False) -> Iterator[str]:
    """Write the duplicates, of which there are some.

    A column that says the same of all of them is left out, but not where the lines are redrawn: there all stand still.
    """
    first = list(islice(duplicates, _ROWS_MEASURED))
    columns = [_VERDICT, _DISTANCE, _SIMILARITY, *([_RULE] if width is None or width >= _ROOM_FOR_RULE else [])]
    # Of more rows nobody knows yet what they say.
    if 1 < len(first) < _ROWS_MEASURED and not is_redrawn:
        columns = [each for each in columns if len(set(map(each.cell, first))) > 1]
    return _lines(first, duplicates, columns, ("dropped", "original"), width)


def similar_lines(similar: Iterator[RelatedRow], width: int | None) -> Iterator[str]:
    """Write what was kept and resembles another document, an empty line last, if there is any."""
    first = list(islice(similar, _ROWS_MEASURED))
    if not first:
        return
    yield styled("similar, kept: look at these", SIMILAR)
    yield from _lines(first, similar, [_DISTANCE, _SIMILARITY, _RULE], ("document", "resembles"), width)
    yield ""


def _lines(
    first: Sequence[RelatedRow],
    others: Iterator[RelatedRow],
    columns: Sequence[_Column],
    names: tuple[str, str],
    width: int | None,
) -> Iterator[str]:
    """Write a heading, and a line a row: some columns, and two addresses, the other one where it is a new one."""
    sizes = [max(map(len, (each.heading, *map(each.cell, first)))) for each in columns]
    heading = GAP.join([*(pad(each.heading, size) for each, size in zip(columns, sizes, strict=True)), ""])
    urls = _UrlColumns(first, None if width is None else width - len(heading))
    yield styled(heading + GAP.join([pad(names[0], urls.dropped), names[1]]), HEADING)
    above = None
    for row in chain(first, others):
        cells = [
            padded(styled(each.cell(row), each.style(row)), size, right=each.is_number)
            for each, size in zip(columns, sizes, strict=True)
        ]
        yield joined(GAP, [*cells, *_keys(row, urls, above)])
        above = row.original


def _keys(row: RelatedRow, columns: _UrlColumns, above: str | None) -> tuple[str, str]:
    dropped, original = columns.show(row)
    is_above = row.original == above
    return (
        padded(styled(dropped, link=link_to(row.dropped)), columns.dropped),
        styled(".", QUIET) if is_above else styled(original, link=link_to(row.original)),
    )


class _UrlColumns:
    """The columns of a document and its original, as wide as the first rows need and the terminal allows."""

    def __init__(self, first: Sequence[RelatedRow], space: int | None) -> None:
        self._hidden_scheme = ""
        self.dropped, self.original = self._widest(first)
        self._is_cut = space is not None
        if space is None:
            self.dropped = min(self.dropped, _WIDEST_COLUMN)
            return
        space -= len(GAP)
        if self.dropped + self.original > space:
            schemes = Counter(match[0] for row in first if (match := _SCHEME.match(row.dropped)))
            self._hidden_scheme = "".join(scheme for scheme, _ in schemes.most_common(1))
            self.dropped, self.original = self._widest(first)
        self.dropped = min(self.dropped, max(NARROWEST_COLUMN, space // 2, space - self.original))
        self.original = space - self.dropped

    def show(self, row: RelatedRow) -> tuple[str, str]:
        dropped, original = self._keys(row)
        if not self._is_cut:
            return dropped, original
        return fit(dropped, self.dropped, original), fit(original, self.original, dropped)

    def _widest(self, rows: Sequence[RelatedRow]) -> list[int]:
        # Wide enough for its heading, too.
        return [max(NARROWEST_COLUMN, *map(columns_of, column)) for column in zip(*map(self._keys, rows), strict=True)]

    def _keys(self, row: RelatedRow) -> tuple[str, str]:
        keys = row.dropped, row.original
        dropped, original = (readable(key.removeprefix(self._hidden_scheme)) for key in keys)
        if dropped == original:
            # They differ in nothing but how letters are escaped.
            return plain(row.dropped), plain(row.original)
        return dropped, original
