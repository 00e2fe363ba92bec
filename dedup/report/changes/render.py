"""Changes between two runs as a table, as JSON or as CSV, written while they are read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, TextIO

from dedup.console import (
    ADDED,
    HEADING,
    NEAR,
    QUIET,
    REMOVED,
    SIMILAR,
    Styled,
    counted,
    cut,
    padded,
    plain,
    readable,
    styled,
    track,
    width_of,
    write_lines,
)
from dedup.report.changes.queries import Change, ChangeRow, Changes
from dedup.report.explanation.render import place_line
from dedup.report.explanation.words import WordDiff
from dedup.report.render import Format, csv_cell, write_json
from dedup.report.table import GAP, address, aligned

_STYLES = {
    Change.ADDED: ADDED,
    Change.CHANGED: NEAR,
    Change.MOVED: SIMILAR,
    Change.REMOVED: REMOVED,
    Change.DROPPED: NEAR,
    Change.KEPT: ADDED,
    Change.NOT_SEEN: QUIET,
}
_NOW = "exact duplicate"
_CHANGE = max(map(len, Change))
_LONGEST_PLACE = 120
_PLACES_SHOWN = 3
# A cell of a spreadsheet has room for 32,767 letters.
_LONGEST_PASSAGE = 200
_COLUMNS = (*ChangeRow._fields[:-1], "tokens_removed", "tokens_added", "difference")


def write_changes(changes: Changes, output_format: Format, stream: TextIO) -> None:
    """Write what changed, whose rows are used up; a table is cut to the width of the terminal, if it is one."""
    _WRITERS[output_format](changes, stream)


def followed(changes: Changes) -> Changes:
    """Return changes that show on standard error how far they are written."""
    return replace(changes, rows=track(changes.rows, "writing", sum(changes.counts.values())))


def _write_table(changes: Changes, stream: TextIO) -> None:
    write_lines(_lines(changes, width_of(stream)), stream)


def _lines(changes: Changes, width: int | None) -> Iterator[str]:
    first, second = map(plain, changes.runs)
    yield f"from run {first} to run {second}" + (f", host {plain(changes.host)}" if changes.host else "")
    yield ""
    rows = [(change.value, f"{count:,}") for change, count in changes.counts.items()]
    yield from aligned(("change", "documents"), [*rows, ("unchanged", f"{changes.unchanged:,}")], width)
    if not any(changes.counts.values()):
        return
    yield ""
    head = _CHANGE + len(_NOW) + 2 * len(GAP)
    yield styled(f"{'change':<{_CHANGE}}{GAP}{'now':<{len(_NOW)}}{GAP}document", HEADING)
    for row in changes.rows:
        yield from _row_lines(row, None if width is None else width - head, head, width or _LONGEST_PLACE)


def _row_lines(row: ChangeRow, space: int | None, head: int, width: int) -> Iterator[str]:
    change = padded(styled(row.change.value, _STYLES[row.change]), _CHANGE)
    now = padded("-" if row.now is None else row.now.value, len(_NOW))
    yield Styled.of(change, GAP, now, GAP, address(row.key, space))
    indent = " " * head
    if row.moved_from is not None:
        yield Styled.of(indent, styled("from ", QUIET), address(row.moved_from, space and space - 5, row.key))
    if row.change in (Change.DROPPED, Change.KEPT) and row.before is not None:
        yield Styled.of(indent, styled(f"was {row.before.value}", QUIET))
    if row.change is Change.DROPPED and row.original is not None:
        yield Styled.of(indent, styled("like ", QUIET), address(row.original, space and space - 5, row.key))
    if row.why:
        yield Styled.of(indent, styled(readable(row.why), QUIET))
    yield from _difference_lines(row, width)


def _difference_lines(row: ChangeRow, width: int) -> Iterator[str]:
    difference = row.difference
    if difference is None:
        if row.change is Change.CHANGED:
            yield styled("  the text before is not stored", QUIET)
        return
    if not difference.place_count:
        if row.change is Change.CHANGED:
            yield styled("  no word, only what stands between them", QUIET)
        return
    for place in difference.places[:_PLACES_SHOWN]:
        yield place_line(place, width)
    if difference.place_count > _PLACES_SHOWN:
        yield styled(f"  and {counted(difference.place_count - _PLACES_SHOWN, 'place')} more", QUIET)


def _write_json(changes: Changes, stream: TextIO) -> None:
    head = {
        "runs": changes.runs,
        "host": changes.host or None,
        "counts": {change.value: count for change, count in changes.counts.items()},
        "unchanged": changes.unchanged,
    }
    write_json(head, {"changes": map(row_object, changes.rows)}, stream)


def row_object(row: ChangeRow) -> dict[str, Any]:
    """Return a row as an object for a program; texts are as they are, and may hold anything."""
    return row._asdict() | {"difference": None if row.difference is None else asdict(row.difference)}


def _write_csv(changes: Changes, stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for row in changes.rows:
        known = row.difference
        figures = (None, None, None) if known is None else (known.tokens_removed, known.tokens_added, _in_a_cell(known))
        rows.writerow(map(csv_cell, (*row[:-1], *figures)))


def _in_a_cell(difference: WordDiff) -> str:
    """Write the first places of a difference in one line, as `[-removed-] {+added+}`, each cut to fit a cell."""
    places = [
        " ".join(
            filter(None, (plain(place.before), _marked("[-", place.removed, "-]"), _marked("{+", place.added, "+}")))
        )
        for place in difference.places
    ]
    more = difference.place_count - len(places)
    return "; ".join([*places, *([f"and {more:,} more"] if more else [])])


def _marked(start: str, text: str, end: str) -> str:
    return f"{start}{cut(plain(text), _LONGEST_PASSAGE)}{end}" if text else ""


_WRITERS = {Format.TABLE: _write_table, Format.JSON: _write_json, Format.CSV: _write_csv}
