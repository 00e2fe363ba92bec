"""The stage after deduplication: metadata, and storage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from crawler.page import DESCRIBED, FOUND, NOT_STORED, NotStored, Page, UnexaminedPage, Unseen
from crawler.pages.extraction import Description, describe_page, mark_up_page
from crawler.pages.revisits import Revisits, stopping
from crawler.pages.store import Content, PageStore, Settled, Visit
from crawler.runs import name_of_run
from crawler.runtime import Workers
from crawler.settings import CrawlerSettings, StoredText
from dedup.errors import DatabaseError, DedupError
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.signature.deflating import deflate
from dedup.signature.extraction import MainText
from dedup.signature.normalise import clean
from dedup.stage.batching import BATCH_PATIENCE, MicroBatcher
from dedup.stage.outages import CrawlStopper, outages_of
from dedup.stage.pending import ExactDuplicate, NearDuplicate, Unchanged
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.stage.project import read_settings, settings_of
from dedup.stage.running import refuse_to_start
from dedup.store.database import Database

logger = logging.getLogger(__name__)


_SEEN = (ExactDuplicate, NearDuplicate, Unchanged)
_STORED = ("url", "canonical", *FOUND, "problem", "fetched", "depth", "referrer", "run")


class StoragePipeline:
    """Item pipeline, after deduplication: adds metadata and Markdown, and stores the page.

    - Each of these costs as much as the text, so only pages that are kept pay for them.
    - A page that is unchanged and stored already is not described again; text and metadata come
      from the database, so that feeds are complete.
    - A stored page that has become a duplicate is taken away; see `crawler.pages.store`.
    - Every page that was seen, kept or dropped, has a row of the table `visits`.
    - Stats: `crawler/stored`, `crawler/html_bytes`.

    Attributes:
        revisits: the pages that the database knows, from the opening of the spider on.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        crawler_settings = settings_of(crawler, CrawlerSettings)
        self._gone = crawler_settings.gone
        self._with_markdown = crawler_settings.text is StoredText.MARKDOWN
        self._stopper = CrawlStopper.of(crawler)
        self.revisits: Revisits | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls(crawler, read_settings(crawler))
        crawler.signals.connect(pipeline.item_dropped, signals.item_dropped)
        return pipeline

    @classmethod
    def revisits_of(cls, crawler: Crawler) -> Revisits | None:
        """Return the pages that the database of a crawl knows; None in a crawl that stores no pages."""
        storage = crawler.get_item_pipeline(cls)
        return None if storage is None else storage.revisits

    async def open_spider(self) -> None:
        try:
            database = Database(self._settings.database_url, self._settings.lock_timeout)
            intervals = self._crawler.spider.arguments.intervals  # type: ignore[union-attr]
            self._store = await asyncio.to_thread(PageStore, database, outages_of(self._crawler), intervals)
        except DedupError as error:
            refuse_to_start(error)
        stage = self._crawler.get_item_pipeline(NearDuplicatePipeline)
        if stage is not None:
            # Now, and not with the first page: URLs and feeds belong to the run from the start.
            await stage.open_run()
        self.revisits = Revisits(self._crawler, self._store, self._gone)
        self._saving = MicroBatcher(self._store.settle, self._settings.batch_size, BATCH_PATIENCE)
        self._restoring = MicroBatcher(self._restore_all, self._settings.batch_size)

    async def close_spider(self) -> None:
        await self._restoring.close()
        await self._saving.close()
        if self.revisits is not None:
            await self.revisits.close()
        self._store.close()

    async def process_item(self, item: Page) -> Page:
        if not item.html:
            # What it was a duplicate of went while its server was asked; it is fetched once more, and counted then.
            self._crawler.stats.inc_value("dedup/not_examined", -1)
            raise Unseen("its bytes are not known any more", log_level="DEBUG")
        with stopping(self._stopper):
            # The stage has not looked at it.
            if isinstance(item, UnexaminedPage) and await asyncio.to_thread(self._store.is_erased, clean(item.url)):
                self._crawler.stats.inc_value("dedup/not_examined", -1)
                self._crawler.stats.inc_value("dedup/erased")
                raise Unseen("it was erased", log_level="DEBUG")
        try:
            # What is known of a page is better than nothing of a version that could not be analysed.
            is_known = item.verdict == "unchanged" or item.problem
            if not (is_known and await self._restore(item)):
                await self._describe_and_save(item)
        except DatabaseError as error:
            self._stopper.stop(error, "database_error")
            self._crawler.stats.inc_value(NOT_STORED)
            raise NotStored("not stored: the database failed", log_level="DEBUG") from error
        return item

    async def item_dropped(self, item: Any, exception: BaseException) -> None:
        """Note that a page was seen though it is not kept; one that was stored is not any more."""
        decision = exception.decision if isinstance(exception, _SEEN) else None
        if not isinstance(item, Page) or (decision is not None and decision.rule is Rule.ERASED):
            return
        with stopping(self._stopper):
            if isinstance(exception, (ExactDuplicate, NearDuplicate)):
                await self._settle(Settled(self._visit(item), is_duplicate=True))
            elif isinstance(exception, Unchanged) and not await self._restore(item):
                await self._describe_and_save(item)

    async def _restore(self, page: Page) -> bool:
        """Complete a page by what is stored of it; say whether that is the page as it is now."""
        found = await self._restoring.submit(page.url)
        if found is None:
            return False
        stored, body_digest = found
        is_other = page.problem is None and page.body_digest != body_digest
        # A process can end between verdict and storage: then the text that is stored is an older one.
        if is_other and (page.text is None or clean(page.text) != stored["text"]):
            return False
        for name, value in stored.items():
            setattr(page, name, value)
        newer = None
        if is_other:
            newer = Content(await asyncio.to_thread(deflate, page.html), page.head, page.fetched)
        markdown = None
        if self._with_markdown and page.markdown is None and page.problem is None:
            markdown = page.markdown = await self._mark_up(page)
        await self._settle(Settled(self._visit(page), newer=newer, markdown=_storable(markdown)))
        return True

    async def _describe_and_save(self, page: Page) -> None:
        description = await self._describe(page)
        visit = self._visit(page)
        for name in DESCRIBED:
            setattr(page, name, getattr(description.metadata, name))
        page.problem = page.problem or description.problem
        if description.main is not None:
            page.take(description.main)
        page.text = page.text or ""
        if self._with_markdown:
            page.markdown = description.markdown or page.text
        page.run = name_of_run(self._crawler)
        row = {name: _storable(getattr(page, name)) for name in _STORED}
        row |= {"html": description.compressed_html, "head": page.head}
        await self._settle(Settled(visit, page=row))
        self._crawler.stats.inc_value("crawler/stored")
        self._crawler.stats.inc_value("crawler/html_bytes", len(page.html))

    async def _settle(self, settled: Settled) -> None:
        moving = await self._saving.submit(settled)
        if moving and self.revisits is not None:
            await self.revisits.finish_moving(moving)

    def _visit(self, page: Page) -> Visit:
        return Visit(
            url=clean(page.url),
            depth=page.depth,
            # A version that could not be analysed is tried again, even if it is the same.
            etag=None if page.problem else page.etag,
            last_modified=None if page.problem else page.last_modified,
            body_digest=page.body_digest,
            seen=page.fetched.timestamp(),
            run=name_of_run(self._crawler),
        )

    async def _describe(self, page: Page) -> Description:
        pool = Workers.of(self._crawler)
        if page.problem is None or page.text is not None:
            try:
                return await pool.run(
                    describe_page,
                    page.html,
                    page.url,
                    main=_main_text(page),
                    with_markdown=self._with_markdown,
                    content_type=page.content_type,
                )
            except Exception as error:  # whatever a library makes of a broken page, the page is not lost
                page.problem = f"no metadata could be extracted: {type(error).__name__}: {error}"
                logger.warning("%s is stored without metadata: %s", clean(page.url), clean(page.problem))
        return Description(deflate(page.html))

    async def _mark_up(self, page: Page) -> str:
        pool = Workers.of(self._crawler)
        try:
            return await pool.run(
                mark_up_page, page.html, page.url, _main_text(page) or MainText(), content_type=page.content_type
            )
        except Exception as error:  # as above
            logger.warning("%s is stored without Markdown: %s", clean(page.url), clean(repr(error)))
            return page.text or ""

    def _restore_all(self, urls: list[str]) -> list[tuple[Mapping[str, Any], bytes | None] | None]:
        return [self._store.restore(clean(url)) for url in urls]


def _main_text(page: Page) -> MainText | None:
    return None if page.text is None else MainText(page.text, page.extraction)


def _storable(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value
