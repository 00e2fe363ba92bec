"""The item pipeline that drops near-duplicates."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import Counter
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.http import Response

from dedup.console import counted, logged
from dedup.errors import DatabaseError, DedupError, IncompatibleDatabaseError
from dedup.rules.decisions import Decision
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.stage.crawl_run import CrawlRun, is_tried_out, write_report_of_run
from dedup.stage.examiner import Examiner
from dedup.stage.item_settings import OnError
from dedup.stage.monitoring import ItemMonitor
from dedup.stage.outages import CrawlStopper, call_when_forced, mark_failed
from dedup.stage.pending import Origins, PendingItem, Unchanged, Undecided, document_dropped, document_kept, dropped_by
from dedup.stage.project import names_around, neighbours, read_item_settings, read_settings, require_asyncio
from dedup.stage.running import is_command, refuse_to_start
from dedup.stage.scrapy_private import items_under_way, let_scraper_close
from dedup.stage.summary import MARKED, UNCHANGED_DROPPED, summary_of_stage
from dedup.store.notes import Skipped
from dedup.workers.pool import WorkerPool

logger = logging.getLogger(__name__)

MARK = "dedup"
"""The key of a response's meta with the marks, by the items' keys."""

_MOMENT = 0.05

_RETRY_AFTER = 60.0
"""Seconds for which items pass at once when the database has failed: each would wait for it all over again."""

_PASSING = "items pass undecided, and every minute one tries again; DEDUP_ON_ERROR = 'stop' would end the crawl"

_SAME_OBJECT = (
    "an item was yielded again while it was under way: if it was changed, what it held before is lost; make a new one "
    "each time, or yield item.copy()"
)

RUN_GOES_ON = "dedup/run_goes_on"
"""The stat by which an application says that other processes go on with the run, so that it stays open."""


class NearDuplicatePipeline:
    """Item pipeline: gives every item with a text a verdict and drops the duplicates.

    - Items of every kind that itemadapter knows; `dedup.stage.item_settings.ItemSettings` says where their text and
      their key are looked for. An item without text, HTML or files passes as it is, and the log says so.
    - Where there is only HTML, the main text is extracted in a worker process; it is not added to
      the item.
    - Verdicts and index entries are written before the item goes on, so that of any number of
      copies under way at the same time exactly one is kept.
    - Where the database fails for good, the crawl stops, or items pass undecided (DEDUP_ON_ERROR).
    - Signals: `document_kept`, `document_dropped` of `dedup.stage.pending`.
    - Stats: `dedup/new`, `dedup/similar`, `dedup/exact_duplicate` and so on, `dedup/text_bytes`,
      `dedup/text_bytes_dropped`, `dedup/not_examined`. A duplicate that is passed on (DEDUP_MARK_ONLY) counts as
      `dedup/marked`; what is lost with those that are dropped as `dedup/lost_bytes`. `dedup/clusters_over_limit`,
      `dedup/hosts_over_limit`; `dedup/not_decided`.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self._crawler = crawler
        self._items = read_item_settings(crawler)
        self._stopper = CrawlStopper.of(crawler)
        self._origins = Origins.of(crawler)
        self._run = CrawlRun(crawler, settings)
        self._workers = WorkerPool(self._items.workers)
        call_when_forced(self._workers.close)
        self._is_open = False
        self._opening = asyncio.Lock()
        # How often each item is here, by id.
        self._inside: Counter[int] = Counter()
        self._is_watching = False
        self._retry_at: float | None = None
        self._reported: set[str] = set()
        self._has_told_of_same = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = read_settings(crawler)
        if not settings.enabled:
            raise NotConfigured("DEDUP_ENABLED is off")
        require_asyncio()
        pipeline = cls(crawler, settings)
        crawler.signals.connect(pipeline.spider_idle, signals.spider_idle)
        crawler.signals.connect(pipeline.spider_closed, signals.spider_closed)
        crawler.signals.connect(pipeline.item_scraped, signals.item_scraped)
        crawler.signals.connect(pipeline.item_refused, signals.item_dropped)
        crawler.signals.connect(pipeline.item_refused, signals.item_error)
        return pipeline

    async def open_spider(self) -> None:
        if not is_tried_out(self._crawler):
            await self._open()

    async def _is_ready(self) -> bool:
        """Open the database where it is not open; return whether it can be used, or has failed a short time ago."""
        if self._is_paused():
            return False
        if not self._is_open:
            await self._open()
        return self._is_open

    def _is_paused(self) -> bool:
        """Whether the database has failed a short time ago; then one item tries it again, and others still pass."""
        now = asyncio.get_running_loop().time()
        if self._retry_at is None or now < self._retry_at:
            return self._retry_at is not None
        self._retry_at = now + _RETRY_AFTER
        return False

    async def _open(self) -> None:
        rest = self._retry_at
        async with self._opening:
            # Who has waited while another one failed does not try again.
            if self._is_open or self._retry_at != rest:
                return
            crawler = self._crawler
            logger.info("%s", neighbours(crawler.settings, type(self)))
            try:
                _, behind = names_around(crawler.settings, type(self))
                self._monitor = ItemMonitor(crawler, self.settings, self._items, behind)
                self._examiner = Examiner(
                    crawler, self.settings, self._items, self._run, workers=self._workers, monitor=self._monitor
                )
                await self._run.open()
                self._is_open = True
                if is_command():
                    # What is there by now stays as long as the process: no collection of garbage has to look at it.
                    gc.freeze()
            except DedupError as error:
                self._pause()
                self._refuse_or_report(error)

    async def open_run(self) -> None:
        """Begin the run now, and not with the first item; its name is the stat `dedup/run`."""
        try:
            await self._open()
            await self._run.begin()
        except DedupError as error:
            self._refuse_or_report(error)

    def spider_idle(self) -> None:
        """Handle the signal: nothing is under way, but items of `scrapy parse`, for which it does not wait."""
        if self._inside:
            raise DontCloseSpider

    async def close_spider(self) -> None:
        # Where a crawl is stopped, items of `scrapy parse` may still be here. None waits longer for its database.
        loop, most = asyncio.get_running_loop(), max(self.settings.lock_timeout, self.settings.outage_timeout)
        deadline = loop.time() + most
        while self._inside and loop.time() < deadline:
            await asyncio.sleep(_MOMENT)
        if self._inside:
            logger.warning(
                "closed without %s, still here after %g seconds", counted(self._inside.total(), "item"), most
            )
        self._workers.close()
        if self._is_open:
            await self._run.stop_deciding()

    async def spider_closed(self, reason: str) -> None:
        if not self._is_open:
            return
        self._monitor.warn_at_the_end()
        try:
            goes_on = bool(self._crawler.stats.get_value(RUN_GOES_ON))
            await self._run.end(reason, goes_on=goes_on)
            if not goes_on:
                await self._write_report()
                self._tell_summary()
        except DatabaseError as error:
            self._fail(error, "the end of the run is not written")
        finally:
            await self._run.close()

    def _tell_summary(self) -> None:
        """Log what was kept and dropped, if anything was decided."""
        stats = self._crawler.stats
        if stats.get_value("dedup/run"):
            logger.info("duplicates:\n%s", summary_of_stage(stats, self.settings.database_url))

    async def _write_report(self) -> None:
        """Write the report that the project wants, of a run in which anything was seen."""
        run = self._crawler.stats.get_value("dedup/run")
        if not self.settings.report or not run:
            return
        try:
            await asyncio.to_thread(write_report_of_run, self.settings, run)
        except DedupError as error:
            later = f"write it later: dedup duplicates -o {self.settings.report}"
            logger.error("no report: %s; %s", error, later)  # noqa: TRY400 -- in one line
            mark_failed(self._crawler, "no_report")

    async def process_item(self, item: Any) -> Any:
        pending = self._origins.pending(item)
        pending.queue(self._run.reserve())
        self._enter(item)
        try:
            if await self._is_ready():
                await self._decide(pending)
            else:
                self._crawler.stats.inc_value("dedup/not_decided")
        except DatabaseError as error:
            self._crawler.stats.inc_value("dedup/not_decided")
            self._fail(error)
            if self._items.on_error is OnError.STOP:
                raise Undecided("not decided: the database failed", "") from error
        finally:
            self._leave(item)
            if is_tried_out(self._crawler):
                self._wake_engine(None)
            pending.let_pass()
            await pending.wait_in_order()
            self._origins.settle(pending)
            pending.release()
        if pending.dropped is not None:
            raise pending.dropped
        return item

    def _enter(self, item: Any) -> None:
        """Note an item, and tell once of an object that comes again while it is here: it may hold something else."""
        self._inside[id(item)] += 1
        if self._inside[id(item)] > 1 and not self._has_told_of_same:
            self._has_told_of_same = True
            logger.warning("%s", _SAME_OBJECT)

    def _leave(self, item: Any) -> None:
        self._inside[id(item)] -= 1
        if not self._inside[id(item)]:
            del self._inside[id(item)]

    async def _decide(self, pending: PendingItem) -> None:
        """Have an item decided; count, mark and announce the decision.

        Raises:
            DatabaseError: the database failed.
        """
        if is_trial := self._retry_at is not None:
            # Those behind it need not wait as long as it may have to.
            await pending.wait_in_order()
        await self._examiner.examine(pending)
        decision = pending.decision
        if decision is None:
            return
        if is_trial:
            self._retry_at = None
            logger.warning("the database works again: items are decided")
        self._count(decision)
        self._mark(pending, decision)
        drop_unchanged, mark_only = self._items.drop_unchanged, self.settings.mark_only
        pending.dropped = dropped_by(decision, drop_unchanged=drop_unchanged, mark_only=mark_only)
        if isinstance(pending.dropped, Unchanged):
            self._crawler.stats.inc_value(UNCHANGED_DROPPED)
        self._crawler.signals.send_catch_log(
            document_kept if pending.dropped is None else document_dropped,
            item=pending.item,
            decision=decision,
            response=pending.response,
            title=pending.reading.title,
            spider=self._crawler.spider,
        )
        # Of items that are tried out nobody says what becomes of them.
        if pending.dropped is None and not is_tried_out(self._crawler):
            self._run.unstored.note(pending, decision)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Handle the signal: an item is through all pipelines."""
        self._origins.end(item, response, is_stored=True)
        self._run.unstored.store()
        self._wake_engine(response)

    def _wake_engine(self, response: Response | None) -> None:
        """Let a crawl end behind the last item of `start()`: Scrapy looks by itself only when a response is done."""
        if response is None and not self._is_watching:
            self._is_watching = True
            asyncio.get_running_loop().call_later(_MOMENT, self._watch_items)

    def _watch_items(self) -> None:
        """Have the engine look whether the crawl can end or close, once no item is under way; until then look again."""
        self._is_watching = False
        if items_under_way(self._crawler):
            self._wake_engine(None)
        else:
            let_scraper_close(self._crawler)

    async def item_refused(self, item: Any, response: Response | None, exception: BaseException | None = None) -> None:
        """Handle the signals: an item was dropped by whatever pipeline, or one failed on it."""
        self._origins.end(item, response, exception)
        self._wake_engine(response)
        try:
            await self._run.unstored.refuse()
        except DatabaseError as error:
            self._fail(error, "what a later pipeline has refused stays known, and its copies are dropped")

    async def has_seen_bytes(self, body_digest: bytes, key: str) -> bool:
        """Whether a page of these bytes was analysed before, in this run or an earlier one.

        A spider that asks this first can pass an item with neither text nor signature, only with
        the digest in the field `body_digest`, and save the extraction.

        Args:
            body_digest: `dedup.signature.signature.digest` of the page's bytes.
            key: its URL.
        """
        try:
            return await self._is_ready() and await self._run.has_seen_bytes(body_digest, key)
        except DatabaseError as error:
            self._fail(error)
            return False

    async def was_dropped(self, key: str) -> bool:
        """Whether the last page that came under a URL was dropped as a copy."""
        try:
            return await self._is_ready() and await self._run.was_dropped(key)
        except DatabaseError as error:
            self._fail(error)
            return False

    async def forget(self, keys: list[str]) -> None:
        """Forget pages that are gone, by their URLs; their duplicates are undecided then."""
        if self._is_open:
            await self._run.forget(keys)

    def find_undecided(self, after: int, most: int, *, of_this_run: bool) -> list[tuple[int, str]]:
        """Return ids and URLs of pages whose content has to be seen again: what they were copies of is gone.

        At most so many, behind an id; where asked for, those of this run alone.
        """
        return self._run.find_undecided(after, most, of_this_run=of_this_run) if self._is_open else []

    async def note_skipped(self, skipped: Skipped) -> None:
        """Note a page without an item, for the report; return once that is written."""
        if self._is_open:
            try:
                await self._run.note_skipped(skipped)
            except DatabaseError as error:
                self._fail(error, "what is skipped is not in the report")

    def _fail(self, error: DatabaseError, what_then: str = _PASSING) -> None:
        """Stop the crawl, or report once what becomes of its items, as the project wants."""
        if self._items.on_error is OnError.STOP:
            self._stopper.stop(error, "database_error")
        else:
            self._pause()
            self._report_failure(error, what_then)

    def _refuse_or_report(self, error: DedupError) -> None:
        """Refuse to start, or log that items pass though the stage could not be opened, as the project wants.

        A database that was made with other settings is a wrong setting.
        """
        is_wrong = not isinstance(error, DatabaseError) or isinstance(error, IncompatibleDatabaseError)
        if is_wrong or self._items.on_error is OnError.STOP:
            refuse_to_start(error)
        self._report_failure(error, _PASSING)

    def _report_failure(self, error: DedupError, what_then: str) -> None:
        if what_then not in self._reported:
            # One line is an error: what follows from it is no other one.
            level = logging.WARNING if self._reported else logging.ERROR
            self._reported.add(what_then)
            mark_failed(self._crawler, "database_error")
            logger.log(level, "%s; %s", error, what_then)

    def _pause(self) -> None:
        self._retry_at = asyncio.get_running_loop().time() + _RETRY_AFTER

    def _count(self, decision: Decision) -> None:
        stats = self._crawler.stats
        if decision.rule is Rule.ERASED:
            stats.inc_value("dedup/erased")
            return
        is_dropped = self.settings.drops(decision.verdict)
        is_marked = decision.verdict.is_duplicate and not is_dropped
        name = decision.verdict.value.replace(" ", "_")
        stats.inc_value(MARKED if is_marked else f"dedup/{name}")
        stats.inc_value("dedup/text_bytes", decision.details.text_bytes)
        if is_dropped:
            stats.inc_value("dedup/text_bytes_dropped", decision.details.text_bytes)
            stats.inc_value("dedup/lost_bytes", decision.details.lost.bytes)
        if decision.details.is_separate:
            if not stats.get_value("dedup/separate_keys"):
                logger.warning(
                    "several texts under one key: %s is another item than those before it, and so are others from "
                    "now on; name a field that is different in each: DEDUP_KEY_FIELD = 'NAME'",
                    logged(decision.key),
                )
            stats.inc_value("dedup/separate_keys")

    def _mark(self, pending: PendingItem, decision: Decision) -> None:
        """Write verdict, original, similarity and rule on an item.

        - `DEDUP_MARK_FIELD` receives those of each item.
        - With DEDUP_MARK_ONLY `response.meta["dedup"]` has, by the items' keys, those of the duplicates that are kept,
          and of what is similar.
        """
        mark = {
            "verdict": decision.verdict.value,
            "original": decision.original,
            "similarity": decision.similarity,
            "rule": decision.rule and decision.rule.short,
            "reason": decision.rule and decision.rule.says,
        }
        response, field = pending.response, self._items.mark_field
        is_related = self.settings.mark_only and decision.original is not None
        if is_related and response is not None and response.request is not None:
            marks = response.meta.setdefault(MARK, {})
            if isinstance(marks, dict):  # what a project has put there itself stays
                marks[decision.key] = mark
        if not field:
            return
        try:
            ItemAdapter(pending.item)[field] = mark
        except Exception as error:  # of frozen items, items without such a field, validators of a project
            if not self._crawler.stats.get_value("dedup/not_annotated"):
                logger.warning("DEDUP_MARK_FIELD = %r cannot be set on the items: %s", field, error)
            self._crawler.stats.inc_value("dedup/not_annotated")
