"""How a crawl survives outages of its database (`dedup.store.outages.Outages`), and ends where it has failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

from scrapy.crawler import Crawler
from scrapy.utils.reactor import is_reactor_installed

from dedup.errors import DedupError
from dedup.stage.project import read_settings
from dedup.store.outages import Outages

logger = logging.getLogger(__name__)

FAILED = "dedup/failed"
"""The stat of a crawl that has not succeeded: why, in one word."""

_stoppers: WeakKeyDictionary[Crawler, CrawlStopper] = WeakKeyDictionary()
_outages: WeakKeyDictionary[Crawler, Outages] = WeakKeyDictionary()


def mark_failed(crawler: Crawler, reason: str) -> None:
    """Note in the stats that a crawl has not succeeded, from which commands of the crawler take their exit status.

    Scrapy itself ends with 0 whatever components have logged.
    """
    crawler.stats.set_value(FAILED, reason)


def outages_of(crawler: Crawler) -> Outages:
    """Return the `Outages` of a crawl, by which all its components survive outages of their database.

    It waits for `DEDUP_OUTAGE_TIMEOUT` seconds, and no longer once the crawl is stopped by force.
    """
    if crawler not in _outages:
        _outages[crawler] = Outages(read_settings(crawler).outage_timeout)
        call_when_forced(_outages[crawler].abandon)
    return _outages[crawler]


def call_when_forced(function: Callable[[], None]) -> None:
    """Call a function when the crawl is stopped by force, by Ctrl-C twice: else the process waits for what is open."""
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
