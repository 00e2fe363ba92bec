"""The origins of items: the response of each that is under way, and the outcome of the items of a page."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response

from dedup.console import counted, logged
from dedup.rules.documents import Decision, Kept, Verdict
from dedup.rules.scope import owner_of
from dedup.signature.normalise import clean

logger = logging.getLogger(__name__)

_WHY_KEPT = {
    Kept.NEW_TEXT: "it has new text",
    Kept.MOVED: "it has moved",
    Kept.MARKED: "nothing is dropped (DEDUP_MARK_ONLY)",
}


_origins: WeakKeyDictionary[Crawler, Origins] = WeakKeyDictionary()


class DroppedByDedup(DropItem):
    """Base of the exceptions that drop an item here; what is worth a line of the log has it already.

    Attributes:
        key: the key of the dropped item; empty where it is not decided.
        decision: the verdict and its reason; None where there is none.
    """

    def __init__(self, message: str, key: str, decision: Decision | None = None) -> None:
        super().__init__(message, log_level="DEBUG")
        self.key = key
        self.decision = decision

    @property
    def speaks_for_links(self) -> bool:
        """Whether the links of the dropped page are those of its original: of another host they may lead elsewhere."""
        original = self.decision.original if self.decision is not None else None
        return original is None or owner_of(original) == owner_of(self.key)


class ExactDuplicate(DroppedByDedup):
    """The item's text is equal to that of an original."""


class NearDuplicate(DroppedByDedup):
    """The item's text is nearly that of an original."""


class Unchanged(DroppedByDedup):
    """The item's URL had the same text before (only with DEDUP_DROP_UNCHANGED)."""


class Undecided(DroppedByDedup):
    """No verdict was written: the database failed; the next crawl sees the item again."""


def dropped_by(decision: Decision, *, drop_unchanged: bool) -> DroppedByDedup | None:
    """Return the exception that drops an item, if it is to be dropped.

    Duplicates, and what resembles another item and is kept, have a line in the log.
    """
    key, kept = decision.key, decision.kept
    shown = logged(key)
    if decision.verdict is Verdict.UNCHANGED:
        is_dropped = drop_unchanged and not decision.may_be_unstored
        return Unchanged("unchanged since it was last seen", key, decision) if is_dropped else None
    if decision.is_similar:
        original = logged(str(decision.original))
        logger.debug("kept %s: similar to %s%s: %s", shown, original, _how_close(decision), decision.rule)
    if not decision.verdict.is_duplicate:
        return None
    original = "an earlier item of this key" if decision.original == key else logged(str(decision.original))
    reason = f"{decision.verdict} of {original}"
    if decision.verdict is Verdict.NEAR_DUPLICATE:
        reason += _how_close(decision)
    if kept:
        more = f" (+{counted(decision.lost.words, 'word')})" if kept is Kept.NEW_TEXT else ""
        # Of a site that has moved that is every item.
        level = logging.DEBUG if kept is Kept.MOVED else logging.INFO
        logger.log(level, "kept %s: %s, but %s%s", shown, reason, _WHY_KEPT[kept], more)
        return None
    logger.info("dropped %s: %s", shown, reason)
    kind = ExactDuplicate if decision.verdict is Verdict.EXACT_DUPLICATE else NearDuplicate
    return kind(reason, key, decision)


def _how_close(decision: Decision) -> str:
    return f" (distance {decision.distance}, similarity {decision.similarity:.2f})"


class ItemPage:
    """A response some of whose items are under way.

    Args:
        response: the response; it is not kept alive.

    Attributes:
        undecided: the items without a verdict so far, by id, which is unique as long as they are here.
        is_kept: whether one of its items was kept, so that the page is no duplicate.
        has_copy: whether an item that represents the page was dropped as a duplicate.
        last_news: when something was last decided on it, by `time.monotonic`.
    """

    def __init__(self, response: Response) -> None:
        self.undecided: dict[int, Any] = {}
        self.is_kept = False
        self.has_copy = False
        self.last_news = time.monotonic()
        self._under_way = 0
        self._last_turn: Turn | None = None
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


class Turn:
    """The place of an item among those of its page, which leave the stage in the order in which they came.

    Args:
        before: that of the item before it; None: it is the first.
    """

    def __init__(self, before: Turn | None) -> None:
        self._before = before
        self._is_over = asyncio.Event()

    async def come(self) -> None:
        """Wait until the item before has left; those behind this one may leave once this one goes on."""
        try:
            if self._before is not None:
                await self._before._is_over.wait()  # noqa: SLF001 -- one of the same class
        finally:
            self._before = None
            self._is_over.set()


class Origins:
    """The responses of the items of a crawl that are under way.

    The spider middleware notes what passes it, the pipeline asks, and says of each item when its
    verdict is there. What other components drop is heard of by Scrapy's signals. An item is
    forgotten with its verdict, and at the latest when Scrapy lets go of the response.
    """

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Response, ItemPage] = WeakKeyDictionary()
        # Of items of `start()`, and of those whose page is not known.
        self._last_turn: Turn | None = None
        # A page that is in `_pages` no more is in neither.
        self._page_of: WeakValueDictionary[int, ItemPage] = WeakValueDictionary()

    @classmethod
    def of(cls, crawler: Crawler) -> Origins:
        """Return those of a crawl: middleware and pipeline have to have the same."""
        if crawler not in _origins:
            origins = _origins[crawler] = cls()
            crawler.signals.connect(origins.item_scraped, signals.item_scraped)
            crawler.signals.connect(origins.item_dropped, signals.item_dropped)
            crawler.signals.connect(origins.item_error, signals.item_error)
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

    def response_of(self, item: Any) -> Response | None:
        """Return the response that an item was made from.

        None where it is not known: an item of `start()`, one that another component has put in the
        place of another, or has had its verdict.
        """
        page = self._page_of_item(item)
        return None if page is None else page.response

    def turn_of(self, item: Any) -> Turn:
        """Return the place of an item that comes to the stage now."""
        place = self._page_of_item(item) or self
        place._last_turn = turn = Turn(place._last_turn)  # noqa: SLF001 -- of both classes here
        return turn

    def decided(self, item: Any, *, is_duplicate: bool, is_dropped: bool = False) -> None:
        """Take note of an item's verdict, or that it gets none; an item that is not known is no error.

        It is a duplicate if it was dropped as one and represents its page; what else is dropped says nothing of the
        page.
        """
        page = self._page_of_item(item)
        if page is not None:
            page.has_copy |= is_duplicate
            page.is_kept |= not (is_duplicate or is_dropped)
            page.settle(item)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Handle the signal: an item is through all pipelines, perhaps as another object."""
        if page := self._page(response):
            page.is_kept = True
            page.end(item)

    def item_dropped(self, item: Any, response: Response | None, exception: BaseException) -> None:
        """Handle the signal: an item was dropped, by whatever pipeline."""
        page = self._page(response)
        if page is None or response is None:
            return
        if id(item) in page.undecided and isinstance(exception, (ExactDuplicate, NearDuplicate)):
            # Its verdict was on another object, which a pipeline has put in its place.
            page.has_copy |= exception.key == clean(response.url) and exception.speaks_for_links
        page.end(item)

    def item_error(self, item: Any, response: Response | None) -> None:
        """Handle the signal: a pipeline failed on an item."""
        if page := self._page(response):
            page.end(item)

    def _page_of_item(self, item: Any) -> ItemPage | None:
        page = self._page_of.get(id(item))
        # An object that is gone may have left its id to another one.
        return page if page is not None and page.undecided.get(id(item)) is item else None

    def _page(self, response: Response | None) -> ItemPage | None:
        # Of an errback's items it is a failure.
        return self._pages.get(response) if isinstance(response, Response) else None


def referrer_of(request: Request | None) -> str | None:
    """Return the page whose link has led to a request; None where no page has, or it is not known."""
    referrer = request.headers.get("Referer") if request is not None else None
    return referrer.decode("latin-1") if referrer else None
