"""The report as a table, as JSON or as CSV, written while it is read."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dedup.console import track, width_of, write_lines
from dedup.errors import DedupError, SettingsError
from dedup.files import replace_file
from dedup.report.contents import RelatedRow, Report, Selection
from dedup.report.table import table_lines
from dedup.signature.normalise import clean

# What Excel, LibreOffice and Google Sheets take for the beginning of a formula, wide letters too.
_LONE_RETURN = re.compile("\r(?!\n)")
_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a file, or standard output if it has no name, to write a report to.

    A file appears or changes only when everything is written. When nobody reads standard output any more, as with `|
    head`, the block ends quietly.
    """
    if not path:
        with _standard_output() as stream:
            yield stream
        return
    try:
        with _file(Path(path)) as stream:
            yield stream
    except OSError as error:
        raise DedupError(f"cannot write {path}: {error.strerror or error}") from error


def print_result(lines: Iterable[str], found: object, *, as_json: bool) -> None:
    """Print what a command has found: lines for people, or an object for a program."""
    with open_output("") as stream:
        write_lines([json.dumps(found, indent=2)] if as_json else lines, stream)


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


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that does not know a letter is no reason to stop.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes what is left when it ends, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise DedupError(f"cannot write to standard output: {error.strerror or error}") from error


@contextmanager
def _file(path: Path) -> Iterator[TextIO]:
    if path.exists() and not path.is_file():
        # A device or a pipe must not be replaced by a file.
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        replace_file(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


_HOSTS_OF_PAGE = 1_000


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


def selection_for(output_format: Format) -> Selection:
    """Return how much of a report is named where nobody says it: a page can be searched, and has room for more."""
    return Selection(max_hosts=_HOSTS_OF_PAGE) if output_format is Format.HTML else Selection()


def write_report(report: Report, output_format: Format, stream: TextIO) -> None:
    """Write an open report, whose rows are used up; a table is cut to the width of the terminal, if it is one.

    Pages are written by `dedup.report.html`.
    """
    _WRITERS[output_format](report, stream)


def followed(report: Report) -> Report:
    """Return a report that shows on standard error how far it is written."""
    total = sum(each.documents for verdict, each in report.totals.items() if verdict.is_duplicate)
    return replace(report, duplicates=track(report.duplicates, "writing", total))


def _write_table(report: Report, stream: TextIO) -> None:
    write_lines(table_lines(report, width_of(stream)), stream)


def _write_json(report: Report, stream: TextIO) -> None:
    head = {
        "runs": report.runs,
        "host": report.host or None,
        "totals": {verdict.value: asdict(total) for verdict, total in report.totals.items()},
        "host_count": report.host_count,
        "hosts": [asdict(host) | {"share_dropped": host.share_dropped} for host in report.hosts],
        "cluster_count": report.cluster_count,
        "clusters": [asdict(cluster) for cluster in report.clusters],
        "keeper_count": report.keeper_count,
        "keepers": [{"keeper": keeper, "leader": leader} for keeper, leader in report.keepers],
        "over_limit": [asdict(each) for each in report.over_limit],
        "kept": {why.value: count for why, count in report.kept.items()},
        "not_examined": [asdict(each) for each in report.not_examined],
        "skip_counts": report.skip_counts,
    }
    lists = {
        "duplicates": (row._asdict() for row in report.duplicates),
        "similar": map(_similar_object, report.similar),
        "skipped": (row._asdict() for row in report.skipped),
    }
    write_json(head, lists, stream)


def _similar_object(row: RelatedRow) -> dict[str, Any]:
    # It was not dropped, and must not be taken for something that was.
    return {"document" if name == "dropped" else name: value for name, value in row._asdict().items()}


def _write_csv(report: Report, stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(RelatedRow._fields)
    for row in chain(report.duplicates, report.similar):
        rows.writerow(map(csv_cell, row))


_WRITERS = {
    Format.TABLE: _write_table,
    Format.JSON: _write_json,
    Format.CSV: _write_csv,
}
