"""How a crawl ends that does not end well: one line, a status that is not 0, no process left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.reactor import is_reactor_installed

from dedup.errors import DedupError, SettingsError
from dedup.outages import Outages
from dedup.settings import DedupSettings
from dedup.workers import WorkerPool

logger = logging.getLogger(__name__)

USAGE_ERROR = 2
FAILURE = 1


def refuse_to_start(error: DedupError) -> NoReturn:
    """End the process before a crawl has begun, with one line in the log.

    Raises:
        SystemExit: always; status 2 for a wrong setting, 1 for anything else.
    """
    logger.error("%s", error)
    raise SystemExit(USAGE_ERROR if isinstance(error, SettingsError) else FAILURE)


def read_settings(crawler: Crawler) -> DedupSettings:
    """Read the settings of a crawl.

    Raises:
        SystemExit: one of them cannot be used; see `refuse_to_start`.
    """
    try:
        return DedupSettings.read(crawler.settings.get)
    except SettingsError as error:
        refuse_to_start(error)


def fail_at_the_end(crawler: Crawler) -> None:
    """Let the `scrapy` command end with status 1 once the crawl is over, however it ends.

    Scrapy itself ends with 0 whatever components have logged, but with 1 after a crawl that has no
    spider. (SystemExit in the event loop would leave threads behind that the process waits for.)
    """

    def forget_spider() -> None:
        crawler.spider = None

    crawler.signals.connect(forget_spider, signals.engine_stopped, weak=False)


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
    """Stops a running crawl once something has failed for good.

    The crawl is closed in order, so that all that is done is kept, and the process ends with
    status 1: a crawl that could not write what it found has not succeeded.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlStopper:
        """Return the one stopper of a crawl: several components fail when their database does."""
        return _stoppers.setdefault(crawler, cls(crawler))

    def stop(self, error: DedupError, reason: str) -> None:
        """Log the error and close the crawl; only the first call does anything.

        Args:
            error: what failed.
            reason: the crawl's finish reason, as in the stats.
        """
        if self._closing is not None:
            return
        logger.error("%s; the crawl stops, what is stored so far is kept", error)
        fail_at_the_end(self._crawler)
        self._closing = asyncio.create_task(self._crawler.engine.close_spider_async(reason=reason))


_stoppers: WeakKeyDictionary[Crawler, CrawlStopper] = WeakKeyDictionary()
_outages: WeakKeyDictionary[Crawler, Outages] = WeakKeyDictionary()
