"""The report as a table, as JSON or as CSV, written while it is read."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dedup.console import track, write_lines
from dedup.errors import SettingsError
from dedup.report.contents import Report, Row, Rows, Selection
from dedup.report.examining import Shortlist, examined
from dedup.report.table import table_lines
from dedup.report.words import WordDiff
from dedup.signature.normalise import clean

# What Excel, LibreOffice and Google Sheets take for the beginning of a formula, wide letters too.
_LONE_RETURN = re.compile("\r(?!\n)")
_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")

_MOST_OF_PAGE = 1_000


def csv_cell(value: object) -> object:
    """Return a value as it may stand in a cell of a CSV file.

    CSV knows no escapes: what would upset a terminal is left out, and a text that a spreadsheet would take for a
    formula has an apostrophe before it.
    """
    if not isinstance(value, str):
        return value
    # Python quotes no carriage return that stands alone, and readers take it for the end of the row.
    text = _LONE_RETURN.sub("\n", clean(value))
    return f"'{text}" if _FORMULA.match(text) else text


def write_json(head: Mapping[str, Any], lists: Mapping[str, Iterable[Mapping[str, Any]]], stream: TextIO) -> None:
    """Write one object: some members, then lists of objects, written while they are read."""
    stream.write(json.dumps(head, indent=1).removesuffix("\n}"))
    for name, objects in lists.items():
        stream.write(f',\n "{name}": [')
        separator = "\n  "
        for each in objects:
            stream.write(separator + json.dumps(each))
            separator = ",\n  "
        stream.write("\n ]")
    stream.write("\n}\n")


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    HTML = "html"


def format_of(path: str) -> Format:
    """Return the format that the name of a file asks for; a table where it has no suffix, or .txt.

    Raises:
        SettingsError: there is no such format.
    """
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix in ("", "txt"):
        return Format.TABLE
    if suffix in set(Format):
        return Format(suffix)
    raise SettingsError(f"{path}: there is no format {suffix!r} of a report: name it .html, .json, .csv or .txt")


def encoding_for(output_format: Format) -> str:
    """Return the encoding of a file of a report: of CSV Excel knows by a byte order mark alone that it is UTF-8."""
    return "utf-8-sig" if output_format is Format.CSV else "utf-8"


def selection_for(output_format: Format) -> Selection:
    """Return how much of a report is named where nobody says it: a page can be searched, and has room for more."""
    return Selection(most_named=_MOST_OF_PAGE) if output_format is Format.HTML else Selection()


def write_report(report: Report, output_format: Format, stream: TextIO, *, is_whole: bool = False) -> None:
    """Write an open report; pages are written by `dedup.report.html`.

    Args:
        report: what was decided.
        output_format: how it is written.
        stream: where it is written.
        is_whole: whether a table holds all pairs.
    """
    if output_format is Format.JSON:
        _write_json(report, stream)
    elif output_format is Format.CSV:
        _write_csv(report, stream)
    else:
        write_lines(table_lines(report, is_whole=is_whole), stream)


def followed(report: Report) -> Report:
    """Return a report that shows on standard error how far it is written and compared."""
    total = sum(each.documents for verdict, each in report.totals.items() if verdict.is_duplicate)

    def compare(rows: Sequence[Row]) -> Iterator[WordDiff | None]:
        return track(report.compare(rows), "comparing", len(rows))

    return replace(report, duplicates=Rows(lambda: track(report.duplicates, "writing", total)), compare=compare)


def _write_json(report: Report, stream: TextIO) -> None:
    head = {
        "runs": report.runs,
        "host": report.host or None,
        "totals": {verdict.value: asdict(total) for verdict, total in report.totals.items()},
        "host_count": report.host_count,
        "hosts": [asdict(host) | {"share_dropped": host.share_dropped} for host in report.hosts],
        "cluster_count": report.cluster_count,
        "clusters": [asdict(cluster) for cluster in report.clusters],
        "over_limit": [asdict(each) for each in report.over_limit],
        "not_examined": [asdict(each) for each in report.not_examined],
        "skip_counts": report.skip_counts,
        "not_fetched": report.not_fetched,
        "sums": report.sums._asdict(),
    }
    near = Shortlist(report.most_compared)

    def flagged() -> Iterator[dict[str, Any]]:
        rows = (row for row in examined(near.rows(), report) if row.is_flagged)
        yield from (row.as_object() | {"difference": row.difference and asdict(row.difference)} for row in rows)

    lists = {
        "duplicates": (row.as_object() for row in near.passing(report.duplicates)),
        "flagged": flagged(),
        "similar": map(_similar_object, report.similar),
        "skipped": (row._asdict() for row in report.skipped),
    }
    write_json(head, lists, stream)


def _similar_object(row: Row) -> dict[str, Any]:
    # It was not dropped, and must not be taken for something that was.
    return {"document" if name == "dropped" else name: value for name, value in row.as_object().items()}


def _write_csv(report: Report, stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow([*Row._fields[:-1], "reason"])
    for row in chain(report.duplicates, report.similar):
        rows.writerow(map(csv_cell, row.as_object().values()))
