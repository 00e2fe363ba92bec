"""The report as a table, as JSON or as CSV, written while it is read."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dedup.errors import SettingsError
from dedup.report.contents import RelatedRow, Report, Selection
from dedup.report.table import table_lines
from dedup.signature.normalise import clean

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


def _write_table(report: Report, stream: TextIO) -> None:
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    for line in table_lines(report, width):
        stream.write(f"{line.rstrip()}\n")


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
    stream.write(json.dumps(head, indent=1).removesuffix("\n}"))
    _write_list(stream, "duplicates", (row._asdict() for row in report.duplicates))
    _write_list(stream, "similar", map(_similar_object, report.similar))
    _write_list(stream, "skipped", (row._asdict() for row in report.skipped))
    stream.write("\n}\n")


def _write_list(stream: TextIO, name: str, objects: Iterable[dict[str, Any]]) -> None:
    """Write one more member of the object: a list, element by element."""
    stream.write(f',\n "{name}": [')
    separator = "\n  "
    for each in objects:
        stream.write(separator + json.dumps(each))
        separator = ",\n  "
    stream.write("\n ]")


def _similar_object(row: RelatedRow) -> dict[str, Any]:
    # It was not dropped, and must not be taken for something that was.
    return {"document" if name == "dropped" else name: value for name, value in row._asdict().items()}


def _write_csv(report: Report, stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(RelatedRow._fields)
    # JSON escapes what would upset a terminal; CSV knows no escapes.
    for row in chain(report.duplicates, report.similar):
        rows.writerow([clean(value) if isinstance(value, str) else value for value in row])


_WRITERS = {
    Format.TABLE: _write_table,
    Format.JSON: _write_json,
    Format.CSV: _write_csv,
}
