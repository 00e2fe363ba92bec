"""The report as a table, as JSON or as CSV, written while it is read."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dedup.errors import SettingsError
from dedup.progress import track
from dedup.report.contents import RelatedRow, Report, Selection
from dedup.report.output import csv_cell, write_json
from dedup.report.table import table_lines
from dedup.terminal import width_of, write_lines

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
