"""The extension that writes feeds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FeedStorageProtocol

from crawler.failures import stopping
from crawler.feeds.files import (
    choose_start,
    fields_of,
    is_appended,
    leave_out_header,
    never_append,
    path_of,
    require_appendable_elsewhere,
    require_stored_fields,
    require_writable,
    size_of,
)
from crawler.feeds.guarding import FeedError, GuardedStorage, explain, fail, guard, has_failed
from crawler.feeds.run import FeedRun
from crawler.page import Page
from crawler.spider.site import SiteSpider
from crawler.warc.recording import find_target, is_warc, note_going_on
from dedup.errors import DedupError, SettingsError
from dedup.stage.failures import CrawlStopper, refuse_to_start


class Feeds(FeedExporter):
    """Extension in the place of Scrapy's `FeedExporter`: the same feeds, by the same settings and options.

    - A feed is added to a file that is there (`-o`) only if the file is valid afterwards: lines of JSON, CSV with the
      same columns, pickle and marshal, compressed or not. Anything else is refused before the crawl, with status 2;
      so is a file that another run was writing when it was killed. `-O` writes a file anew.
    - The feeds of a run that goes on (`DEDUP_RUN`), and of one that workers share, are written when it ends, from the
      database: every page that the run has kept and that is still stored, each once. They take the place of what the
      run has written to the same file before, also if that was torn by a crash or by a full disk; what
      stood there before the run stays. The worker that is the last to leave a shared run writes them.
      A name that changes, as with `%(time)s`, is a new file that holds the whole run, and so does standard output.
    - A feed that cannot be written stops the crawl in order, with one line and status 1.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Web archives are written as pages are fetched, see crawler.warc.
        self.feeds = {uri: options for uri, options in self.feeds.items() if not is_warc(options)}
        self._stopper = CrawlStopper.of(crawler)
        self._starts: dict[Path, int] = {}
        self._slots_of_files: dict[FeedSlot, Path] = {}
        self._run: FeedRun | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        try:
            if find_target(crawler) is not None and not isinstance(crawler.spider, SiteSpider):
                raise SettingsError("WARC files are written by the spider `site` alone")  # noqa: TRY301
        except SettingsError as error:
            refuse_to_start(error)
        try:
            feeds = super().from_crawler(crawler)
        except NotConfigured:
            if crawler.settings["FEEDS"]:
                refuse_to_start(SettingsError("no feed can be made of FEEDS, the line above says why"))
            raise
        crawler.signals.connect(feeds.spider_opened, signals.spider_opened)
        try:
            feeds.choose_files()
        except DedupError as error:
            refuse_to_start(error)
        return feeds

    def choose_files(self) -> None:
        """Decide where each feed begins, before anything is fetched or written.

        Raises:
            SettingsError: a file would be spoilt.
            DatabaseError: the database cannot be read.
        """
        super().open_spider(self._spider)
        if isinstance(self._spider, SiteSpider):
            self._run = FeedRun(self.crawler)
            if self._run.continued is not None:
                note_going_on(self.crawler)
        # Of a run that others have finished the scheduler says so, and ends.
        if self._run is None or not self._run.is_over:
            for slot in self.slots:
                self._choose_file(slot)
        self._guard_slots()

    def open_spider(self, spider: Spider) -> None:
        """Do nothing: `choose_files` was earlier."""

    async def spider_opened(self) -> None:
        """Note in the database which parts of which files are the run's."""
        with stopping(self._stopper):
            if self._run is not None and self._starts:
                await self._run.begin(self._starts)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Write an item to the feeds; a page that the database brings at the end waits for that."""
        if not (self._is_late and isinstance(item, Page)):
            self._export(item)

    async def close_spider(self, spider: Spider, reason: str = "") -> None:
        """Write what is left, and note in the database where it ends."""
        goes_on = self._run is not None and self._run.goes_on
        if self._is_late:
            is_read = not goes_on and await self._export_kept_pages()
            # Where nothing is to be written or could be read, the file stays as it is.
            self.slots = [slot for slot in self.slots if slot.itemcount or is_read]
        await super().close_spider(spider)
        if self._run is None or not self._starts or goes_on:
            return
        sizes = {path: size_of(path) for slot, path in self._slots_of_files.items() if not has_failed(slot)}
        with stopping(self._stopper):
            await self._run.end(sizes, reason)

    @property
    def _spider(self) -> Spider:
        if self.crawler.spider is None:
            raise RuntimeError("feeds belong to a crawl")
        return self.crawler.spider

    @property
    def _is_late(self) -> bool:
        return self._run is not None and self._run.is_late

    def _choose_file(self, slot: FeedSlot) -> None:
        if self._is_late:
            require_stored_fields(slot)
        path = path_of(slot)
        if path is None:
            require_appendable_elsewhere(slot, is_late=self._is_late)
            return
        require_writable(path)
        parts = [] if self._run is None else self._run.find_parts(path)
        continued = None if self._run is None else self._run.continued
        self._starts[path] = choose_start(slot, path, parts, continued, self.crawler)
        self._slots_of_files[slot] = path

    def _guard_slots(self) -> None:
        for slot in self.slots:
            if isinstance(slot.storage, GuardedStorage):
                continue
            path = self._slots_of_files.get(slot)
            start = self._starts[path] if path is not None and is_appended(slot) else None
            if start:
                leave_out_header(slot)
            if slot.batch_id > 1:
                never_append(slot)
            cut = start if self._is_late else None
            slot.storage = cast("FeedStorageProtocol", guard(slot.storage, cut, partial(self._tell, slot.uri)))

    def _tell(self, uri: str, error: BaseException) -> None:
        self._stopper.stop(FeedError(f"feed {uri} cannot be written: {explain(error)}"), "feed_failed")

    def _export(self, item: Any) -> None:
        # One after the other, so that what fails in one does not keep the item from the others.
        slots, self.slots = self.slots, []
        done: list[FeedSlot] = []
        for slot in slots:
            self.slots = [slot]
            if not has_failed(slot):
                try:
                    super().item_scraped(item, self._spider)
                except Exception as error:  # whatever an exporter makes of an item
                    fail(slot, error)
            done += self.slots
        self.slots = done
        self._guard_slots()

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        try:
            await super()._close_slot(slot, spider)
        except Exception as error:  # as above, now that it writes what it had held back
            fail(slot, error)

    async def _export_kept_pages(self) -> bool:
        """Write what the database holds of the run; say whether it could be read."""
        if self._run is None:
            return False
        with_html = any("html" in fields_of(slot) for slot in self.slots)
        with stopping(self._stopper):
            async for pages in self._run.read_pages(with_html=with_html):
                for page in pages:
                    self._export(page)
            return True
        return False
