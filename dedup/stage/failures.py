"""The signals and the report of a crawl, and how one ends that fails: one line, in order, no process left behind."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary, ref

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from dedup.errors import DedupError, SettingsError, exit_status
from dedup.files import open_output
from dedup.report.html.writing import write_in_any_format
from dedup.report.queries import open_report
from dedup.report.render import format_of, selection_for
from dedup.rules.settings import DedupSettings
from dedup.sql.database import Outages, open_existing_database
from dedup.stage.item_settings import ItemSettings
from dedup.stage.project import read_project_settings
from dedup.stage.running import is_command
from dedup.workers.pool import WorkerPool

logger = logging.getLogger(__name__)


document_kept = object()
"""An item was examined and is passed on."""

document_dropped = object()
"""An item was examined and is dropped."""


FAILED = "dedup/failed"
"""The stat of a crawl that has not succeeded: why, in one word."""


_stoppers: WeakKeyDictionary[Crawler, CrawlStopper] = WeakKeyDictionary()
_outages: WeakKeyDictionary[Crawler, Outages] = WeakKeyDictionary()


def refuse_to_start(error: DedupError) -> NoReturn:
    """Let a crawl fail before it has begun, with one line in the log, or in its place where there is none yet.

    The `scrapy` command ends. In any other program the crawl fails, which Scrapy reports to whoever has started it.

    Raises:
        SystemExit: the command ends; with status 2 for a wrong setting, 1 for anything else.
        DedupError: the error itself, where it is no command.
    """
    if not is_command() or logger.hasHandlers():
        logger.error("%s", error)
    else:
        sys.stderr.write(f"ERROR: {error}\n")
    if is_command():
        raise SystemExit(exit_status(error))
    raise error.with_traceback(None) from None


def check_early(settings: BaseSettings) -> None:
    """Refuse settings that no crawl can do with before there is any.

    Once there is one, Scrapy reports what it fails of in its own way, which for a `CrawlerProcess` is a traceback, and
    status 0. See `refuse_to_start`.
    """
    try:
        dedup_settings = DedupSettings.read(settings.get)
        ItemSettings.read(settings.get)
        if dedup_settings.enabled:
            reactor = settings.get("TWISTED_REACTOR")
            has_reactor = bool(reactor) and settings.getbool("TWISTED_REACTOR_ENABLED", True)
            if has_reactor and not issubclass(load_object(reactor), AsyncioSelectorReactor):
                raise _needs_asyncio()
            require_report(dedup_settings)
    except DedupError as error:
        refuse_to_start(error)


def require_asyncio() -> None:
    """Refuse to start on a reactor of Twisted that is not asyncio's; see `refuse_to_start`."""
    if not is_asyncio_available():
        refuse_to_start(_needs_asyncio())


def _needs_asyncio() -> DedupError:
    return DedupError(
        "the dedup stage needs asyncio: take TWISTED_REACTOR out of the settings, or set it to"
        " 'twisted.internet.asyncioreactor.AsyncioSelectorReactor', and let nothing install another reactor"
    )


def read_settings(crawler: Crawler) -> DedupSettings:
    """Read the settings of a crawl; see `refuse_to_start`."""
    try:
        return read_project_settings(crawler.settings)
    except SettingsError as error:
        refuse_to_start(error)


def read_item_settings(crawler: Crawler) -> ItemSettings:
    """Read the settings of a crawl's items; see `refuse_to_start`."""
    try:
        return ItemSettings.read(crawler.settings.get)
    except SettingsError as error:
        refuse_to_start(error)


def mark_failed(crawler: Crawler, reason: str) -> None:
    """Note in the stats that a crawl has not succeeded, from which commands of the crawler take their exit status.

    Scrapy itself ends with 0 whatever components have logged.
    """
    crawler.stats.set_value(FAILED, reason)


def close_when_forced(pool: WorkerPool) -> None:
    """Close a pool when its crawl is stopped by force, by Ctrl-C twice: else the process waits for it."""
    _call_when_forced(pool.close)


def outages_of(crawler: Crawler) -> Outages:
    """Return what the components of a crawl survive outages of their database with, one for all of them.

    It waits for `DEDUP_OUTAGE_TIMEOUT` seconds, and no longer once the crawl is stopped by force.
    """
    if crawler not in _outages:
        _outages[crawler] = Outages(read_settings(crawler).outage_timeout)
        _call_when_forced(_outages[crawler].abandon)
    return _outages[crawler]


def _call_when_forced(function: Callable[[], None]) -> None:
    if is_reactor_installed():
        from twisted.internet import reactor  # noqa: PLC0415 -- importing it installs one

        cast("Any", reactor).addSystemEventTrigger("before", "shutdown", function)


class CrawlStopper:
    """Stops a running crawl once something has failed for good: it is closed in order, and all that is done is kept."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = ref(crawler)
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlStopper:
        """Return the one stopper of a crawl: several components fail when their database does."""
        if crawler not in _stoppers:
            _stoppers[crawler] = cls(crawler)
        return _stoppers[crawler]

    def stop(self, error: DedupError, reason: str) -> None:
        """Log the error and close the crawl, for a reason as in the stats; only the first call does anything."""
        crawler = self._crawler()
        if self._closing is not None or crawler is None:
            return
        logger.error("%s; the crawl stops, what is stored so far is kept", error)
        mark_failed(crawler, reason)
        self._closing = asyncio.create_task(crawler.engine.close_spider_async(reason=reason))


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


def write_report_of_run(settings: DedupSettings, run: str) -> None:
    """Write the report on a run that has ended.

    Raises:
        DedupError: it cannot be written.
    """
    output_format = format_of(settings.report)
    with (
        closing(open_existing_database(settings.database_url)) as database,
        open_report(database, replace(selection_for(output_format), run=run)) as report,
        open_output(settings.report) as stream,
    ):
        write_in_any_format(report, database, output_format, stream)
    logger.info("report written: %s", settings.report)
