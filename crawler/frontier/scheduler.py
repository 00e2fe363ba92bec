"""The scheduler of the crawl: what Scrapy is to fetch next comes from the frontier."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Self, TypeVar, cast

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from crawler.frontier.fair_queue import FairQueue
from crawler.frontier.in_flight import InFlight
from crawler.frontier.known_runs import find_unfinished
from crawler.frontier.requests import FrontierSpider, carried, priority_of, rank_of, to_entry, to_request
from crawler.frontier.schema import Changes, LeaveResult, OpenResult, WorkerState
from crawler.frontier.store import (
    MAX_ATTEMPTS,
    SEEN_SECONDS,
    FrontierSettings,
    FrontierStore,
)
from crawler.limits import PageLimitPipeline
from crawler.politeness.hosts import Hosts
from crawler.request_meta import KIND
from crawler.runs import Asked, CrawlRun, command_to_continue, name_of_run, name_unfinished
from crawler.skipping import skip
from dedup.console import plain
from dedup.errors import DedupError
from dedup.stage.outages import CrawlStopper, mark_failed, outages_of
from dedup.stage.pipelines import RUN_GOES_ON
from dedup.stage.running import refuse_to_start
from dedup.stage.scrapy_private import wake_engine
from dedup.store.database import Database
from dedup.store.processes import worker_name

logger = logging.getLogger(__name__)

PATIENCE = 0.1
"""Seconds that changes wait for others, so that they share the cost of a transaction."""

_BREATH = 0.01  # for the links of one page, which come one by one

T = TypeVar("T")

BATCH = 256
"""How many URLs are held ready in memory, of all hosts; a few more where there are many."""

MOST_OF_HOST = 32
"""How many of these may be of one host."""

MOST_ADDED = 1_000
"""How many URLs one transaction adds: what is ready for other hosts does not wait for all of a long list."""

IN_FLIGHT_EACH = 4
"""How many pages are fetched, analysed or decided at once for each of `CONCURRENT_REQUESTS`: what is fetched far ahead
is fetched before it is known which address of copies is the better one."""

MOST_IN_VAIN = 8
"""By how many the requests under way may be more than the pages that `max_pages` still allows."""

POLL_SECONDS = 1.0
"""How often the frontier is asked again where it had little to give."""

# Any number serves, but for that of the verdicts: neither waits for the other.
_FRONTIER_WRITERS = 0x66726F6E
_COUNTED = ("crawler/", "dedup/")
_SECONDS = "frontier/seconds"


class Pacer:
    """Calls a coroutine function again and again, never twice at once.

    Args:
        exchange: what is called. It returns for how many seconds it need not be called again
            unless it is asked for; None ends it all.
    """

    def __init__(self, exchange: Callable[[], Awaitable[float | None]]) -> None:
        self._exchange = exchange
        self._asked = asyncio.Event()
        self._urgent = asyncio.Event()
        self._is_closing = False
        self._task = asyncio.create_task(self._run())

    def ask(self, *, urgent: bool) -> None:
        """Let the function be called soon.

        Args:
            urgent: whether it shall not wait for more to come.
        """
        self._asked.set()
        if urgent:
            self._urgent.set()

    async def close(self) -> None:
        """Wait for the call that is under way; no other follows."""
        self._is_closing = True
        self.ask(urgent=True)
        await self._task

    async def _run(self) -> None:
        seconds: float | None = 0.0
        while seconds is not None:
            await _wait(self._asked, seconds)
            if not self._urgent.is_set():
                await _wait(self._urgent, PATIENCE)
            if not self._is_closing:
                await asyncio.sleep(_BREATH)
            if self._is_closing:
                return
            self._asked.clear()
            self._urgent.clear()
            seconds = await self._exchange()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class FrontierScheduler(BaseScheduler):
    """Scrapy scheduler, and duplicate filter, on a table of the pages' database.

    - A URL is queued, taken, and done once all that its page leads to is written: verdict, stored
      page, links. So a process that ends at any moment loses nothing: a crawl of the same name
      (`DEDUP_RUN`) goes on with what is not done.
    - Memory holds what is under way and some `BATCH` URLs more, however many are queued. All
      database work is done in a thread, many changes in one transaction.
    - Hosts share the requests that may be under way, see `FairQueue`: none waits for slow ones.
    - Order of the URLs of a host: the highest priority first, then the nearest to the start, then the likely better
      address of copies, see `rank_of`, then the earliest found.
    - A URL that `MAX_ATTEMPTS` processes died with is given up.
    - A run is forgotten when it finishes, which it has once its feeds are written: a crawl of that name starts again
      from nothing.
    - With `CRAWLER_PART` other processes crawl the other parts of the run, see `FrontierStore`. Who ends it gets the
      stats of all as its own, and so does who goes on with a run.
    - Of a host that is left alone nothing is handed out, see `Hosts`; what is ready of it goes back.
    - While a database server is away the crawl waits, for `DEDUP_OUTAGE_TIMEOUT` at the most.
    - Stats: `scheduler/enqueued`, `scheduler/dequeued`, `frontier/done_before`,
      `frontier/kept_before` (both of a run that is continued; the latter of other parts too),
      `frontier/left`, `frontier/parked` (how many of these, by host), `frontier/passed_over`, `frontier/is_shared`,
      `frontier/parts` (of a run of several parts) and `frontier/seconds` (of a run that other
      processes were at, too).
    """

    def __init__(self, crawler: Crawler, settings: FrontierSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._stopper = CrawlStopper.of(crawler)
        self._outages = outages_of(crawler)
        self._hosts = Hosts.of(crawler)
        self._in_flight = InFlight(crawler)
        self._ready = FairQueue(self._hosts)
        self._alarm: asyncio.TimerHandle | None = None
        self._changes = Changes()
        self._is_left = True
        self._me = worker_name()
        self._store: FrontierStore | None = None
        self._unfinished: list[CrawlRun] = []
        self._pacer: Pacer | None = None
        self._has_failed = False
        self._is_ending = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        scheduler = cls(crawler, FrontierSettings.read(crawler))
        crawler.signals.connect(scheduler.spider_opened, signals.spider_opened)
        return scheduler

    def open(self, spider: Spider) -> None:
        self._started = time.monotonic()
        self._spider = cast("FrontierSpider", spider)
        self._thread = ThreadPoolExecutor(1)
        settings = self._settings
        try:
            self._database = Database(settings.database_url, settings.lock_timeout, writers=_FRONTIER_WRITERS)
            if settings.is_shared:
                self._store = self._make_store(settings.run)
                self._end_if_over(self._store)
        except DedupError as error:
            refuse_to_start(error)

    async def spider_opened(self) -> None:
        stats = self._crawler.stats
        run = name_of_run(self._crawler)
        try:
            opened = await self._in_thread(partial(self._outages.survive, partial(self._open_store, run)))
        except Exception as error:  # whatever it is, without its frontier the crawl would wait for ever
            self._fail(error)
            return
        stats.set_value("frontier/is_shared", self._settings.is_shared)
        stats.inc_value("scheduler/enqueued", opened.queued)
        stats.set_value("frontier/done_before", opened.done)
        stats.set_value("frontier/kept_before", opened.kept)
        await self._name_given_up(opened.given_up)
        if self._limits is not None and (opened.queued or opened.done):
            await self._limits.recall()
        self._is_left = not opened.is_over
        if opened.queued or opened.done:
            logger.info("run %s goes on: %d done, %d queued", run, opened.done, opened.queued)
        else:
            logger.info("run %s begins; should it be interrupted, the same command goes on with it", run)
        name_unfinished(self._crawler, self._unfinished)
        try:
            await self._spider.log_in()
        except Exception as error:  # whatever a stranger's login raises
            self._fail(DedupError(f"the login failed: {type(error).__name__}: {error}"))
            return
        self._pacer = Pacer(self._exchange)

    def close(self, reason: str) -> Deferred[None] | None:
        return deferred_from_coro(self._close(reason))

    async def engine_stopped(self) -> None:
        """Handle the signal: the feeds are written, and whatever else is written of a run that ends."""
        try:
            await self._in_thread(partial(self._outages.survive, self._opened_store.end))
        except DedupError as error:
            command = command_to_continue(self._crawler)
            logger.error("%s; the end of the run is not written: %s", error, command)  # noqa: TRY400 -- in one line
            mark_failed(self._crawler, "database_error")
        finally:
            self._crawler.signals.disconnect(self.engine_stopped, signals.engine_stopped)
            self._let_go_of_database()
            self._thread.shutdown()

    def has_pending_requests(self) -> bool:
        return not self._has_failed and (self._is_left or len(self._ready) > 0)

    def enqueue_request(self, request: Request) -> bool:
        if self._has_failed:
            return True
        row = self._in_flight.row_to_retry(request)
        if KIND not in request.meta:
            message = (
                f"{request.method} {plain(request.url)} was not made by make_request, and the frontier keeps no other"
            )
            self._fail(DedupError(f"{message} requests; a login belongs into log_in"))
        elif row is None:
            digest = self._crawler.request_fingerprinter.fingerprint(request)
            self._changes.found.append(to_entry(request, digest))
        else:
            self._changes.again.append((row, priority_of(request), rank_of(request), carried(request)))
        self._is_left = True
        self._ask()
        return True

    def next_request(self) -> Request | None:
        has_finished = self._in_flight.take_finished(self._changes)
        if self._spider.take_fallen():
            self._changes.has_fallen = self._is_left = True
        if resting := self._hosts.resting:
            self._changes.back += self._ready.remove(resting)
        request = self._take() if self._may_take() else None
        if has_finished or self._changes.has_fallen or self._is_hungry():
            self._ask()
        return request

    def _may_take(self) -> bool:
        concurrency = self._crawler.engine.downloader.total_concurrency
        if concurrency and len(self._in_flight) >= IN_FLIGHT_EACH * concurrency:
            return False
        return self._limits is None or len(self._in_flight) < self._limits.remaining + MOST_IN_VAIN

    @property
    def _limits(self) -> PageLimitPipeline | None:
        return self._crawler.get_item_pipeline(PageLimitPipeline)

    def _take(self) -> Request | None:
        filled = set() if self._limits is None else self._limits.filled(self._in_flight.hosts())
        taken, seconds = self._ready.next(self._crawler.engine.downloader, filled)
        if taken is None:
            self._wake_in(seconds)
            return None
        request = to_request(taken, self._spider)
        self._in_flight.add(taken, request)
        self._crawler.stats.inc_value("scheduler/dequeued")
        return request

    def _is_hungry(self) -> bool:
        return self._is_left and self._ready.is_low(self._most_of_host)

    @property
    def _most_of_host(self) -> int:
        return max(2, min(MOST_OF_HOST, BATCH // (self._ready.hosts or 1)))

    def _ask(self) -> None:
        if self._pacer is not None and not self._has_failed:
            self._pacer.ask(urgent=self._is_hungry())

    async def _exchange(self) -> float | None:
        self._changes.named += map(self._crawler.request_fingerprinter.fingerprint, self._spider.take_named())
        changes, self._changes = self._changes.split(MOST_ADDED)
        worker = self._worker_state()
        limit = self._most_of_host if len(self._ready) < BATCH else 0
        try:
            result = await self._survive(partial(self._opened_store.exchange, changes, limit), worker)
        except Exception as error:  # as above
            self._fail(error)
            return None
        self._ready.add(result.taken, limit)
        if self._settings.is_shared:
            self._crawler.stats.set_value("frontier/kept_before", result.kept_elsewhere)
        waiting = self._changes
        self._is_left = result.is_left or bool(waiting.found or waiting.again or waiting.back or waiting.has_fallen)
        self._crawler.stats.inc_value("scheduler/enqueued", result.added + len(changes.again))
        if result.taken or not self._is_left:
            wake_engine(self._crawler)
        if self._changes.found:
            self._ask()
        seconds = POLL_SECONDS if self._is_left and len(self._ready) < BATCH else SEEN_SECONDS
        return min([seconds, *worker.pauses.values()])

    async def _close(self, reason: str) -> None:
        self._wake_in(math.inf)
        try:
            if self._pacer is not None:
                await self._pacer.close()
            if self._pacer is not None and not self._has_failed:
                self._in_flight.take_finished(self._changes)
                is_finished = reason == "finished"
                leave = partial(self._opened_store.leave, self._changes, is_finished=is_finished)
                self._note_end(await self._survive(leave, self._worker_state()))
        except Exception as error:  # as above; the crawl ends all the same, with status 1
            self._fail(error)
        self._let_go_of_database()
        if not self._is_ending:
            self._thread.shutdown()
            return
        # Not weakly: by then the engine has let go of its scheduler.
        self._crawler.signals.connect(self.engine_stopped, signals.engine_stopped, weak=False)

    def _let_go_of_database(self) -> None:
        # Until it is asked again; meanwhile SQLite's file is as large as the summary says.
        if self._store is not None:
            self._store.close()

    def _open_store(self, run: str) -> OpenResult:
        if self._store is None:
            self._store = self._make_store(run)
        opened = self._store.open()
        if not opened.is_over:
            self._store.save_asked(Asked.of(self._crawler))
        if not self._settings.is_shared and not opened.done:
            self._unfinished = [each for each in find_unfinished(self._database, self._me) if each.name != run]
        return opened

    def _make_store(self, run: str) -> FrontierStore:
        return FrontierStore(self._database, run, self._me, part=self._settings.part)

    def _end_if_over(self, store: FrontierStore) -> None:
        """End the process if others have finished the run."""
        if store.is_over():
            store.close()
            logger.info("run %s has finished already: nothing is left to do", self._settings.run)
            raise SystemExit(0)

    def _worker_state(self) -> WorkerState:
        held = frozenset(self._in_flight.rows | self._ready.rows)
        has_suspect = self._in_flight.has_suspect or self._ready.has_suspect
        stats = self._crawler.stats.get_stats().items()
        counts: dict[str, float] = {
            name: value for name, value in stats if name.startswith(_COUNTED) and isinstance(value, int)
        }
        counts[_SECONDS] = time.monotonic() - self._started
        hosts = self._hosts
        filled = self._ready.filled(self._most_of_host)
        parked = frozenset(hosts.parked)
        return WorkerState(held, has_suspect, counts=counts, pauses=hosts.pauses, filled=filled, parked=parked)

    def _note_end(self, result: LeaveResult) -> None:
        stats = self._crawler.stats
        stats.set_value("frontier/left", result.left)
        stats.set_value("frontier/parked", result.parked)
        stats.set_value("frontier/passed_over", result.passed)
        if result.goes_on:
            stats.set_value(RUN_GOES_ON, True)
            return
        self._is_ending = True
        for name, count in result.counts.items():
            stats.set_value(name, count)
        if self._settings.is_shared:
            stats.set_value("frontier/parts", result.parts)
            stats.set_value(_SECONDS, result.seconds)

    @property
    def _opened_store(self) -> FrontierStore:
        if self._store is None:
            raise RuntimeError("the frontier is not open")
        return self._store

    async def _name_given_up(self, urls: list[str]) -> None:
        for url in urls:
            await skip(self._crawler, url, "gave_up", f"{MAX_ATTEMPTS} processes ended while it was under way")

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        self._ready = FairQueue(self._hosts)
        if not isinstance(error, DedupError):
            error = DedupError(f"the frontier failed: {type(error).__name__}: {error}")
        self._stopper.stop(error, "database_error")

    def _wake_in(self, seconds: float) -> None:
        """Have the engine ask again then, at the latest; what ends before wakes it, too."""
        if self._alarm is not None:
            self._alarm.cancel()
        is_known = seconds < math.inf
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(seconds, wake_engine, self._crawler) if is_known else None

    async def _survive(self, work: Callable[[WorkerState], T], worker: WorkerState) -> T:
        """Return what the work returns, in a thread, however long the database is away."""
        again = replace(worker, is_after_outage=True)
        return await self._in_thread(partial(self._outages.survive, partial(work, worker), partial(work, again)))

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)
