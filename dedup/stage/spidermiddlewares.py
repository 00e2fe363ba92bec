"""The spider middleware that notes where items come from, and can keep a crawl from following a duplicate's links."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from dedup.stage.pending import ItemPage, Origins
from dedup.stage.project import read_item_settings, read_settings, require_asyncio
from dedup.stage.scrapy_private import is_closing, items_under_way

logger = logging.getLogger(__name__)

CHECK_SECONDS = 0.1
"""How often it is looked whether anything that a page waits for is still under way."""

CLOSING_SECONDS = 1.0
"""For how long links wait for news of their page while the crawl is being closed."""

LONGEST_SECONDS = 30.0
"""For how long links wait for news of their page in any case."""

_MOMENT = 0.05


class DuplicateLinksMiddleware:
    """Spider middleware: notes which response an item comes from, and can drop the links of duplicates.

    With DEDUP_FOLLOW_DUPLICATES off a page's requests wait for its verdict, and those of a duplicate
    are dropped. That is what the paper's crawler does (Manku, Jain, Das Sarma, WWW 2007, section 1):
    it saves bandwidth, spares the site, and ends crawler traps, whose pages are all alike.

    - A page is a duplicate if an item with the page's own URL was dropped as one and no other item
      of the page was kept. A list of items that were all dropped is no duplicate, nor is a page whose original is on
      another host: its links lead elsewhere.
    - The pages that a crawl starts with were asked for by name: their links are always followed.
    - Requests wait for verdicts, not for later pipelines, and go on when no item is under way any
      more: another middleware may have left it out.
    - It has to be the middleware closest to the engine, so that what it notes is what the pipelines
      get.
    - Of the items of `start()` no more are under way at once than of a response (CONCURRENT_ITEMS), and none is taken
      from it once the crawl closes: Scrapy bounds neither, and a crawl ends when all are through.
    - Stats: `dedup/links_not_followed`.
    """

    def __init__(self, crawler: Crawler, *, follows_duplicates: bool) -> None:
        self._crawler = crawler
        self._follows_duplicates = follows_duplicates
        self._origins = Origins.of(crawler)
        self._has_warned = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not read_settings(crawler).enabled:
            raise NotConfigured  # the pipeline says why
        require_asyncio()
        return cls(crawler, follows_duplicates=read_item_settings(crawler).follow_duplicates)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        most = self._crawler.settings.getint("CONCURRENT_ITEMS")
        async for output in start:
            while (
                not isinstance(output, Request)
                and items_under_way(self._crawler) >= most
                and not is_closing(self._crawler)
            ):
                await asyncio.sleep(_MOMENT)
            if is_closing(self._crawler):
                return
            yield output

    def process_start_requests(self, start_requests: Iterable[Any], spider: Any) -> Iterable[Any]:
        """Pass requests on: Scrapy before 2.16 refuses a middleware without this beside those with this alone."""
        return start_requests

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        holds = not self._follows_duplicates and response.meta.get("depth", 0) > 0
        requests: list[Request] = []
        failure: Exception | None = None
        try:
            async for output in result:
                if not isinstance(output, Request):
                    if output is not None:
                        self._origins.note(output, response)
                    yield output
                elif holds:
                    requests.append(output)
                else:
                    yield output
        except Exception as error:  # raised again once what came before it has been passed on
            failure = error
        page = self._origins.page_of(response)
        if requests and page is not None and await self.is_duplicate(page):
            self._crawler.stats.inc_value("dedup/links_not_followed", len(requests))
            requests.clear()
        for request in requests:
            yield request
        if failure is not None:
            raise failure

    async def is_duplicate(self, page: ItemPage) -> bool:
        """Return whether the links of a page are those of another that was seen, once its items are decided."""
        while not page.is_settled:
            await page.wait(CHECK_SECONDS)
            if not page.is_settled and self._is_in_vain(page):
                break
        return page.is_duplicate

    def _is_in_vain(self, page: ItemPage) -> bool:
        """Whether it is no use to wait for the verdicts on a page's items any longer."""
        if items_under_way(self._crawler) == 0:
            # What was passed on has long reached the pipelines: something has left the rest out.
            return True
        silence = time.monotonic() - page.last_news
        if silence > LONGEST_SECONDS and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "no verdict on %s for %.0f seconds: its links are followed, as are those of other pages like it",
                page.response,
                silence,
            )
        return silence > (CLOSING_SECONDS if is_closing(self._crawler) else LONGEST_SECONDS)
