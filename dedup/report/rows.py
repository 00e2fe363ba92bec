"""The rows of a table of the report: what was dropped and why, and what is similar and was kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

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
_RULE = "rule"
_NO_RULE = "-"
# Words: a sentence.
_FEWEST_LOST = 20


def dropped_lines(duplicates: Iterator[RelatedRow], width: int | None) -> Iterator[str]:
    """Write the duplicates, of which there are some."""
    first = list(islice(duplicates, _ROWS_MEASURED))
    rules = _rule_width(first) if width is None or width >= _ROOM_FOR_RULE else 0
    heading = GAP.join(["verdict", "distance", "similarity", *([pad(_RULE, rules)] if rules else []), ""])
    columns = _UrlColumns(first, None if width is None else width - len(heading))
    yield styled(heading + GAP.join([pad("dropped", columns.dropped), "original"]), HEADING)
    above = None
    for row in chain(first, duplicates):
        verdict = styled(f"{row.verdict.split()[0] + KEPT * bool(row.kept):<7}", STYLES[row.verdict])
        yield joined(GAP, [verdict, *_figures(row, rules), *_keys(row, columns, above)])
        above = row.original


def similar_lines(similar: Iterator[RelatedRow], width: int | None) -> Iterator[str]:
    """Write what was kept and resembles another document, an empty line last, if there is any."""
    first = list(islice(similar, _ROWS_MEASURED))
    if not first:
        return
    rules = _rule_width(first)
    heading = GAP.join(["distance", "similarity", pad(_RULE, rules), ""])
    columns = _UrlColumns(first, None if width is None else width - len(heading))
    yield styled("similar, kept: look at these", SIMILAR)
    yield styled(heading + GAP.join([pad("document", columns.dropped), "resembles"]), HEADING)
    above = None
    for row in chain(first, similar):
        yield joined(GAP, [*_figures(row, rules), *_keys(row, columns, above)])
        above = row.original
    yield ""


def _figures(row: RelatedRow, rules: int) -> Iterator[str]:
    yield f"{row.distance:>8}"
    yield f"{similarity(row.similarity):>10}"
    if rules:
        yield styled(pad(_rule_of(row), rules), QUIET)


def _keys(row: RelatedRow, columns: _UrlColumns, above: str | None) -> tuple[str, str]:
    dropped, original = columns.show(row)
    is_above = row.original == above
    return (
        padded(styled(dropped, link=link_to(row.dropped)), columns.dropped),
        styled(".", QUIET) if is_above else styled(original, link=link_to(row.original)),
    )


def _rule_width(rows: Sequence[RelatedRow]) -> int:
    return max(map(len, (_RULE, *map(_rule_of, rows))))


def _rule_of(row: RelatedRow) -> str:
    rule = row.rule or _NO_RULE
    return f"{rule} +{row.lost:,} words" if row.lost and row.lost >= _FEWEST_LOST else rule


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
