"""The spider middleware that notes where items come from, and can keep a crawl from following a duplicate's links."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any, Self
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from dedup.signature.normalise import clean
from dedup.stage.pending import ExactDuplicate, NearDuplicate, PendingItem
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


_origins: WeakKeyDictionary[Crawler, Origins] = WeakKeyDictionary()


class ItemPage:
    """A response some of whose items are under way.

    Args:
        response: the response; it is not kept alive.

    Attributes:
        undecided: the items without a verdict so far, by id, which is unique as long as they are here.
        is_kept: whether one of its items was kept, so that the page is no duplicate.
        has_copy: whether an item that represents the page was dropped as a duplicate.
        last_news: when something was last decided on it, by `time.monotonic`.
        last_left: set once the last item that has come to the stage leaves it; None: none has come.
    """

    def __init__(self, response: Response) -> None:
        self.undecided: dict[int, Any] = {}
        self.is_kept = False
        self.has_copy = False
        self.last_news = time.monotonic()
        self._under_way = 0
        self.last_left: asyncio.Event | None = None
        self._response = ref(response)
        self._settled = asyncio.Event()

    @property
    def response(self) -> Response | None:
        """The response, as long as Scrapy works on it."""
        return self._response()

    @property
    def is_duplicate(self) -> bool:
        """Whether all that is known of its items says that the page is a duplicate."""
        return self.has_copy and not self.is_kept

    @property
    def is_settled(self) -> bool:
        """Whether no verdict that may still come changes anything."""
        return self.is_kept or not self.undecided

    def note(self, item: Any) -> None:
        """Note an item that begins its way."""
        self.undecided[id(item)] = item
        self._under_way += 1

    def settle(self, item: Any) -> None:
        """Note that the verdict on an item is there."""
        self.undecided.pop(id(item), None)
        self._hear()

    def end(self, item: Any) -> None:
        """Note that an item is through all pipelines; it may be another object than the one that was noted."""
        self.undecided.pop(id(item), None)
        self._under_way -= 1
        if self._under_way <= 0:
            # What is left was replaced on its way.
            self.undecided.clear()
        self._hear()

    async def wait(self, seconds: float) -> None:
        """Wait until it is settled, but not longer than so many seconds."""
        self._settled.clear()
        if not self.is_settled:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._settled.wait()

    def _hear(self) -> None:
        self.last_news = time.monotonic()
        if self.is_settled:
            self._settled.set()


class Origins:
    """The responses of the items of a crawl that are under way.

    The spider middleware notes what passes it; the pipeline looks it up, and notes verdicts, and what Scrapy's signals
    tell of other components. An item is forgotten with its verdict, and at the latest when Scrapy lets go of the
    response.
    """

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Response, ItemPage] = WeakKeyDictionary()
        # Of items of `start()`, and of those whose page was not noted.
        self.last_left: asyncio.Event | None = None
        # A page that is in `_pages` no more is in neither.
        self._page_of: WeakValueDictionary[int, ItemPage] = WeakValueDictionary()

    @classmethod
    def of(cls, crawler: Crawler) -> Origins:
        """Return those of a crawl: middleware and pipeline have to have the same."""
        if crawler not in _origins:
            _origins[crawler] = cls()
        return _origins[crawler]

    def note(self, item: Any, response: Response) -> None:
        """Note an item of a response that is about to leave the spider middlewares."""
        page = self._pages.get(response)
        if page is None:
            page = self._pages[response] = ItemPage(response)
        page.note(item)
        self._page_of[id(item)] = page

    def page_of(self, response: Response) -> ItemPage | None:
        """Return the page of a response; None if it had no items so far."""
        return self._pages.get(response)

    def page_of_item(self, item: Any) -> ItemPage | None:
        """Return the page of an item.

        None where it is not known: an item of `start()`, one that another component has put in the place of another, or
        has had its verdict.
        """
        page = self._page_of.get(id(item))
        # An object that is gone may have left its id to another one.
        return page if page is not None and page.undecided.get(id(item)) is item else None

    def pending(self, item: Any) -> PendingItem:
        """Return an item that comes to the stage now, with its response and its order among those of its page."""
        page = self.page_of_item(item)
        group = page or self
        pending = PendingItem(item, None if page is None else page.response, group.last_left)
        group.last_left = pending.has_left
        return pending

    def settle(self, pending: PendingItem) -> None:
        """Take note of an item's verdict, or that it gets none; an item that was not noted is no error.

        What is dropped and is no copy of its page, says nothing of the page.
        """
        page = self.page_of_item(pending.item)
        if page is not None:
            page.has_copy |= pending.is_page_copy
            page.is_kept |= pending.dropped is None
            page.settle(pending.item)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Note that an item is through all pipelines, perhaps as another object."""
        if page := self._page(response):
            page.is_kept = True
            page.end(item)

    def item_dropped(self, item: Any, response: Response | None, exception: BaseException) -> None:
        """Note that an item was dropped, by whatever pipeline."""
        page = self._page(response)
        if page is None or response is None:
            return
        if id(item) in page.undecided and isinstance(exception, (ExactDuplicate, NearDuplicate)):
            # Its verdict was on another object, which a pipeline has put in its place.
            page.has_copy |= exception.key == clean(response.url) and exception.speaks_for_links
        page.end(item)

    def item_error(self, item: Any, response: Response | None) -> None:
        """Note that a pipeline failed on an item."""
        if page := self._page(response):
            page.end(item)

    def _page(self, response: Response | None) -> ItemPage | None:
        # Of an errback's items it is a failure.
        return self._pages.get(response) if isinstance(response, Response) else None


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
        if requests and page is not None and await self._is_duplicate(page):
            self._crawler.stats.inc_value("dedup/links_not_followed", len(requests))
            requests.clear()
        for request in requests:
            yield request
        if failure is not None:
            raise failure

    async def _is_duplicate(self, page: ItemPage) -> bool:
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
