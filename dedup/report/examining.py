"""The rows of a report compared word by word: which are flagged for review, the most decisive first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import regex

from dedup.console import counted
from dedup.report.contents import Report, Row
from dedup.report.triage import Kind
from dedup.report.words import Place
from dedup.rules.documents import Verdict
from dedup.rules.scope import host_of
from dedup.rules.word_comparison import shingles_of

# Pages of a host, with other originals each, from which on what differs is a part of all its pages.
_FEWEST_OF_FRAME = 3
# Words.
_CONTEXT, _LONGEST_REPLACED = 2, 8
_WORD = regex.compile(r"\p{Han}|(?:(?!\p{Han})[\p{L}\p{M}\p{N}])+")
_DIGITS = regex.compile(r"\p{N}+")

Trait = tuple[str, ...]


class Shortlist:
    """Those rows of many that come first in the order of review, taken while they pass.

    Args:
        most: how many are held.

    Attributes:
        passed: how many rows have passed.
        similar: how many of them were no duplicates.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[Row] = []
        self.passed = self.similar = 0

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Pass rows on."""
        for row in rows:
            self.passed += 1
            self.similar += not row.verdict.is_duplicate
            self._rows.append(row)
            if len(self._rows) > 2 * self._most:
                self._cut()
            yield row

    def rows(self) -> list[Row]:
        """Return the rows that are held, in the order of review."""
        self._cut()
        return self._rows

    def _cut(self) -> None:
        self._rows.sort(key=lambda row: row.review_order)
        del self._rows[self._most :]


def examined(rows: Sequence[Row], report: Report) -> list[Row]:
    """Return rows with the words that differ, in the order of review.

    Args:
        rows: in the order of review before they are compared.
        report: an open report, which compares them.
    """
    numbers = [number for number, row in enumerate(rows) if row.verdict is not Verdict.EXACT_DUPLICATE]
    del numbers[report.most_compared :]
    # Rows of one original share its text.
    numbers.sort(key=lambda number: rows[number].original)
    found = list(rows)
    for number, difference in zip(numbers, report.compare([rows[each] for each in numbers]), strict=True):
        found[number] = rows[number]._replace(difference=difference)
    frames = _frames(found)
    for number in numbers:
        found[number] = _without_frames(found[number], frames)
    return sorted(found, key=lambda row: row.review_order)


def why_not_flagged(report: Report, rows: Iterable[Row]) -> str:
    """Return what keeps near-duplicates that were dropped from being flagged; empty: nothing does.

    Args:
        report: the report.
        rows: its rows, as they were examined.
    """
    dropped = [row for row in rows if row.verdict is Verdict.NEAR_DUPLICATE and not row.is_kept]
    compared = [row.difference for row in dropped if row.difference is not None]
    near = report.totals[Verdict.NEAR_DUPLICATE]
    changed = sum(row.has_changed for row in dropped)
    others = near.documents - near.kept - len(compared) - changed
    nameless = sum(not each.are_names_known for each in compared)
    reasons = (
        (changed, f"{counted(changed, 'pair')} not compared, as a text has changed since"),
        (others, f"{counted(others, 'pair')} not compared"),
        (nameless, f"{counted(nameless, 'pair')}: names not checked (original text not stored)"),
    )
    return "; ".join(reason for count, reason in reasons if count)


def _frames(rows: Iterable[Row]) -> set[tuple[str, Trait]]:
    """Return what differs between pages of a host and three originals or more, by hosts."""
    seen: dict[tuple[str, Trait], set[str]] = defaultdict(set)
    for row in rows:
        for place in row.difference.places if row.difference else ():
            for trait in _traits(place):
                originals = seen[host_of(row.dropped), trait]
                if len(originals) < _FEWEST_OF_FRAME:
                    originals.add(row.original)
    return {trait for trait, originals in seen.items() if len(originals) >= _FEWEST_OF_FRAME}


def _without_frames(row: Row, frames: set[tuple[str, Trait]]) -> Row:
    if row.difference is None:
        return row
    host = host_of(row.dropped)

    def kind_of(place: Place) -> Kind:
        traits = _traits(place)
        is_frame = traits and 2 * sum((host, trait) in frames for trait in traits) >= len(traits)
        return Kind.FRAME if is_frame else place.kind

    places = [replace(place, kind=kind_of(place)) for place in row.difference.places]
    return row._replace(difference=replace(row.difference, places=places))


def _traits(place: Place) -> set[Trait]:
    """Return by what a difference is known again: a short one as it is, a long one by its words, without digits."""
    before, removed, added, after = (
        _WORD.findall(text) for text in (place.before, place.removed, place.added, place.after)
    )
    context = *before[-_CONTEXT:], "", *after[:_CONTEXT]
    if removed and added and max(len(removed), len(added)) <= _LONGEST_REPLACED:
        return {(*context, "", *removed, "", *added)}
    traits: set[Trait] = set()
    for words in (removed, added):
        masked = [_DIGITS.sub("0", word) for word in words]
        traits |= shingles_of(masked) or ({(*context, *masked)} if masked else set())
    return traits
