"""The pipeline before deduplication: the limit of pages."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.page import OverLimit


class PageLimitPipeline:
    """Item pipeline, before deduplication: ends the crawl once `max_pages` pages are kept.

    Where workers share a run, each keeps to it by itself, and some more may be kept. Duplicates do not count, so a page
    may only be looked at while it would still fit if it and all that are being looked at were kept; the others wait.
    """

    def __init__(self, crawler: Crawler, limit: int) -> None:
        self._crawler = crawler
        self._limit = limit
        self._kept = 0
        self._under_way = 0
        self._changed = asyncio.Condition()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        arguments = getattr(crawler.spider, "arguments", None)
        if arguments is None or arguments.max_pages is None:
            raise NotConfigured
        pipeline = cls(crawler, arguments.max_pages)
        crawler.signals.connect(pipeline.item_scraped, signals.item_scraped)
        crawler.signals.connect(pipeline.item_dropped, signals.item_dropped)
        crawler.signals.connect(pipeline.item_error, signals.item_error)
        return pipeline

    async def process_item(self, item: Any) -> Any:
        async with self._changed:
            while self._kept < self._left <= self._kept + self._under_way:
                await self._changed.wait()
            if self._kept >= self._left:
                self._end()
                raise OverLimit(f"{self._limit} pages are kept", log_level="DEBUG")
            self._under_way += 1
        return item

    async def item_scraped(self) -> None:
        await self._settle(kept=1)
        if self._kept == self._left:
            self._end()

    async def item_dropped(self, exception: BaseException) -> None:
        if not isinstance(exception, OverLimit):
            await self._settle(kept=0)

    async def item_error(self) -> None:
        await self._settle(kept=0)

    @property
    def remaining(self) -> int:
        """How many more pages may be kept."""
        return max(0, self._left - self._kept)

    @property
    def _left(self) -> int:
        # What another process has kept counts, where this one goes on with its run.
        return self._limit - int(self._crawler.stats.get_value("frontier/kept_before", 0))

    def _end(self) -> None:
        if self._closing is None:
            # Closing waits for all items, this one too.
            self._closing = asyncio.create_task(self._crawler.engine.close_spider_async(reason="max_pages"))

    async def _settle(self, kept: int) -> None:
        async with self._changed:
            self._under_way -= 1
            self._kept += kept
            self._changed.notify_all()
