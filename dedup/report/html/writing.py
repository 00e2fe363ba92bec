"""A report of a database in any format: as a page, or as `dedup.report.render` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from dedup.console import track
from dedup.report.contents import RelatedRow, Report
from dedup.report.render import Format, write_report
from dedup.store.database import Database

if TYPE_CHECKING:
    # What compares words takes time to load.
    from dedup.report.words import WordDiff


def write_in_any_format(
    report: Report, database: Database, output_format: Format, stream: TextIO, *, is_followed: bool = False
) -> None:
    """Write an open report, whose rows are used up.

    Args:
        report: what was decided.
        database: where that stands; a page asks it for the words that differ.
        output_format: how it is written.
        stream: where it is written.
        is_followed: whether standard error shows how far the words of a page are compared.

    Raises:
        DatabaseError: the database cannot be read.
    """
    if output_format is not Format.HTML:
        write_report(report, output_format, stream)
        return
    write_page_of(report, database, stream, is_followed=is_followed)


def write_page_of(
    report: Report, database: Database, stream: TextIO, *, is_followed: bool, is_served: bool = False
) -> None:
    """Write an open report as a page, see `write_in_any_format`; is_served: that of `dedup.report.html.serving`."""
    # Templates, and all that a comparison of words takes, for which other formats need not wait.
    from dedup.report.addresses import read_learnt_rules  # noqa: PLC0415
    from dedup.report.html.page import write_page  # noqa: PLC0415
    from dedup.report.texts import stored_differences  # noqa: PLC0415

    report = replace(report, address_rules=read_learnt_rules(database, report.host))
    with database.read() as connection:

        def compare(rows: Sequence[RelatedRow]) -> Iterator[WordDiff | None]:
            found = stored_differences(connection, rows)
            return track(found, "comparing", len(rows)) if is_followed else found

        write_page(report, compare, stream, is_served=is_served)
