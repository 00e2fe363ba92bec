"""How a crawl ends that does not end well: one line, a status that is not 0, no process left behind."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary, ref

from scrapy import signals
from scrapy.crawler import Crawler, CrawlerProcessBase
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from dedup.errors import DedupError, SettingsError, exit_status
from dedup.rules.settings import DedupSettings
from dedup.sql.outages import Outages
from dedup.stage.items.settings import ItemSettings
from dedup.stage.project import read_project_settings
from dedup.stage.reporting import require_report
from dedup.workers.pool import WorkerPool

logger = logging.getLogger(__name__)


def refuse_to_start(error: DedupError) -> NoReturn:
    """Let a crawl fail before it has begun, with one line in the log.

    A process that is there for this crawl alone ends, as the `scrapy` command does. In any other the
    crawl fails, which Scrapy reports to whoever has started it, and nothing else is touched.

    Raises:
        SystemExit: the process ends; with status 2 for a wrong setting, 1 for anything else.
        DedupError: it goes on; the error itself.
    """
    logger.error("%s", error)
    if owns_the_process():
        raise SystemExit(exit_status(error))
    raise error.with_traceback(None) from None


def refuse_to_open(crawler: Crawler, error: DedupError) -> None:
    """Let a crawl fail of which a component cannot be opened, with one line in the log.

    As `refuse_to_start`, but where Scrapy opens components: one that raises an error there makes others fail with
    tracebacks when they are closed. So where the process goes on, the error is raised when all are open, before the
    first request. The component is closed like the others.
    """
    try:
        refuse_to_start(error)
    except DedupError:
        CrawlStopper.of(crawler).fail(error)


def owns_the_process() -> bool:
    """Say whether the process is there for the crawl that calls this, and for no other.

    So it is where a `CrawlerProcess` runs a single crawl, as the `scrapy` command does. A
    `CrawlerRunner` is part of something larger.
    """
    frame = inspect.currentframe()
    while frame is not None:
        process = frame.f_locals.get("self")
        if isinstance(process, CrawlerProcessBase):
            # It has none at all as long as it is being made.
            return len(getattr(process, "crawlers", ())) <= 1
        frame = frame.f_back
    return False


def check_early(settings: BaseSettings) -> None:
    """Refuse settings that no crawl can do with before there is any.

    Once there is one, Scrapy reports what it fails of in its own way, which for a `CrawlerProcess` is a traceback, and
    status 0. See `refuse_to_start`.
    """
    try:
        dedup_settings = DedupSettings.read(settings.get)
        is_enabled = dedup_settings.enabled
        ItemSettings.read(settings.get)
        reactor = settings.get("TWISTED_REACTOR")
        has_reactor = bool(reactor) and settings.getbool("TWISTED_REACTOR_ENABLED", True)
        if is_enabled and has_reactor and not issubclass(load_object(reactor), AsyncioSelectorReactor):
            raise _needs_asyncio()
        if is_enabled:
            require_report(dedup_settings)
    except DedupError as error:
        if owns_the_process():
            configure_logging(Settings(settings))  # which its process does a moment later
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


def fail_at_the_end(crawler: Crawler) -> None:
    """Let the `scrapy` command end with status 1 once its crawl is over, however that ends; other processes go on.

    Scrapy itself ends with 0 whatever components have logged, but with 1 after a crawl that has no
    spider. (SystemExit in the event loop would leave threads behind that the process waits for.)
    """
    if not owns_the_process():
        return

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

    The crawl is closed in order, so that all that is done is kept. Then a process that is there for this crawl alone
    ends with status 1, and in any other the crawl fails with the error: a crawl that could not write what it found has
    not succeeded.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = ref(crawler)
        self._closing: asyncio.Task[None] | None = None
        self._error: DedupError | None = None
        crawler.signals.connect(self.spider_opened, signals.spider_opened)

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
        if owns_the_process():
            fail_at_the_end(crawler)
        else:
            self.fail(error)
        self._closing = asyncio.create_task(crawler.engine.close_spider_async(reason=reason))

    def fail(self, error: DedupError) -> None:
        """Let the crawl fail with the error, at once if it has not begun, else when it is closed."""
        self._error = error

    def spider_opened(self) -> None:
        """Handle the signal: see to it that the crawl can be let fail."""
        engine = cast("Crawler", self._crawler()).engine
        start = engine.start_async

        async def start_or_fail(**options: Any) -> None:
            if self._error is None:
                await start(**options)
            if self._error is not None:
                raise self._error.with_traceback(None) from None

        # Scrapy awaits it until the crawl is over, and has no other way to let a crawl fail.
        engine.start_async = start_or_fail  # type: ignore[method-assign]


_stoppers: WeakKeyDictionary[Crawler, CrawlStopper] = WeakKeyDictionary()
_outages: WeakKeyDictionary[Crawler, Outages] = WeakKeyDictionary()
