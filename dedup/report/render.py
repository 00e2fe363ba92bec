"""The report as a table, as JSON or as CSV, written while it is read."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict
from enum import StrEnum
from typing import TextIO

from dedup.report.contents import DuplicateRow, Report
from dedup.report.table import table_lines
from dedup.signature.normalise import clean


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write_report(report: Report, output_format: Format, stream: TextIO) -> None:
    """Write an open report, whose duplicates are used up; a table is cut to the width of the terminal, if it is one."""
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
    for name, rows in (("duplicates", report.duplicates), ("skipped", report.skipped)):
        stream.write(f',\n "{name}": [')
        separator = "\n  "
        for row in rows:
            stream.write(separator + json.dumps(row._asdict()))
            separator = ",\n  "
        stream.write("\n ]")
    stream.write("\n}\n")


def _write_csv(report: Report, stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(DuplicateRow._fields)
    # JSON escapes what would upset a terminal; CSV knows no escapes.
    for duplicate in report.duplicates:
        rows.writerow([clean(value) if isinstance(value, str) else value for value in duplicate])


_WRITERS = {Format.TABLE: _write_table, Format.JSON: _write_json, Format.CSV: _write_csv}
