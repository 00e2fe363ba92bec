"""The spider middleware that keeps a crawl from following the links of duplicates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from dedup.dropping import ExactDuplicate, NearDuplicate
from dedup.failures import read_settings
from dedup.fingerprint.normalise import clean


class _Page:
    """A response whose items are under way."""

    def __init__(self) -> None:
        self.items_waiting = 0
        self.items_kept = 0
        self.is_duplicate = False
        self.settled = asyncio.Event()
        self.settled.set()

    def item_leaves(self) -> None:
        self.items_waiting += 1
        self.settled.clear()

    def item_arrived(self) -> None:
        self.items_waiting -= 1
        if self.items_waiting == 0:
            self.settled.set()


class DuplicateLinksMiddleware:
    """Spider middleware: holds a page's requests until its verdict, and drops a duplicate's.

    That is what the paper's crawler does (Manku, Jain, Das Sarma, WWW 2007, section 1): it saves
    bandwidth, spares the site, and ends crawler traps, whose pages are all alike.

    - A page is a duplicate if an item with the page's own URL was dropped as one and no other item
      of the page was kept. A list of items that were all dropped is no duplicate.
    - The pages that a crawl starts with were asked for by name: their links are always followed.
    - It has to be the middleware closest to the engine, so that every item that it waits for
      reaches the pipelines.
    - Stats: `dedup/links_not_followed`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._pages: dict[int, _Page] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = read_settings(crawler)
        if settings.follow_duplicates or not settings.enabled:
            raise NotConfigured("DEDUP_FOLLOW_DUPLICATES is on")
        middleware = cls(crawler)
        crawler.signals.connect(middleware.item_scraped, signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, signals.item_dropped)
        crawler.signals.connect(middleware.item_error, signals.item_error)
        return middleware

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        if response.meta.get("depth", 0) == 0:
            async for output in result:
                yield output
            return
        page = self._pages[id(response)] = _Page()
        requests = []
        failure: Exception | None = None
        try:
            try:
                async for output in result:
                    if isinstance(output, Request):
                        requests.append(output)
                    elif output is not None:
                        page.item_leaves()
                        yield output
            except Exception as error:  # raised again once what came before it has been passed on
                failure = error
            await page.settled.wait()
            if page.is_duplicate and not page.items_kept:
                self._crawler.stats.inc_value("dedup/links_not_followed", len(requests))
                requests.clear()
            for request in requests:
                yield request
            if failure is not None:
                raise failure
        finally:
            del self._pages[id(response)]

    def item_scraped(self, response: Response | None) -> None:
        if page := self._pages.get(id(response)):
            page.items_kept += 1
            page.item_arrived()

    def item_dropped(self, response: Response | None, exception: BaseException) -> None:
        if page := self._pages.get(id(response)):
            if isinstance(exception, (ExactDuplicate, NearDuplicate)) and response is not None:
                page.is_duplicate |= exception.key == clean(response.url)
            page.item_arrived()

    def item_error(self, response: Response | None) -> None:
        if page := self._pages.get(id(response)):
            page.item_arrived()
