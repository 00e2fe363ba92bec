"""A report of a database in any format: as a page, or as `dedup.report.render` writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from dedup.report.contents import Report
from dedup.report.render import Format, write_report
from dedup.store.database import Database


def write_in_any_format(report: Report, database: Database, output_format: Format, stream: TextIO) -> None:
    """Write an open report, whose rows are used up.

    Args:
        report: what was decided.
        database: where that stands.
        output_format: how it is written.
        stream: where it is written.

    Raises:
        DatabaseError: the database cannot be read.
    """
    if output_format is Format.HTML:
        write_page_of(report, database, stream)
    else:
        write_report(report, output_format, stream)


def write_page_of(report: Report, database: Database, stream: TextIO, *, is_served: bool = False) -> None:
    """Write an open report as a page, see `write_in_any_format`; is_served: that of `dedup.report.html.serving`."""
    # Templates, for which other formats need not wait.
    from dedup.report.addresses import read_learnt_rules  # noqa: PLC0415
    from dedup.report.html.page import write_page  # noqa: PLC0415

    write_page(replace(report, address_rules=read_learnt_rules(database, report.host)), stream, is_served=is_served)
