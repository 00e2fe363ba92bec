"""The report that a crawl writes at its end, where DEDUP_REPORT names a file."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dedup.errors import DedupError, SettingsError
from dedup.report.html.writing import write_in_any_format
from dedup.report.output import open_output
from dedup.report.queries import open_report
from dedup.report.render import format_of, selection_for
from dedup.rules.settings import DedupSettings
from dedup.sql.database import open_existing_database

logger = logging.getLogger(__name__)


def require_report(settings: DedupSettings) -> None:
    """Refuse a report that could not be written, before anything is crawled for it.

    Raises:
        SettingsError: the name of the file says no known format, or its folder is not there.
    """
    if not settings.report:
        return
    try:
        format_of(settings.report)
    except SettingsError as error:
        raise SettingsError(f"DEDUP_REPORT = {error}") from None
    if not Path(settings.report).absolute().parent.is_dir():
        raise SettingsError(f"DEDUP_REPORT = {settings.report!r}: its folder is not there; make it first")


def write_report_of_run(settings: DedupSettings, run: str) -> DedupError | None:
    """Write the report on a run that has ended; return what went wrong, if anything did."""
    output_format = format_of(settings.report)
    selection = replace(selection_for(output_format), run=run)
    try:
        with (
            closing(open_existing_database(settings.database_url)) as database,
            open_report(database, selection) as report,
            open_output(settings.report) as stream,
        ):
            write_in_any_format(report, database, output_format, stream)
    except DedupError as error:
        return error
    logger.info("report written: %s", settings.report)
    return None
