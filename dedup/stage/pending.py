"""Items on their way through the stage, and behind it: what is found of each, what drops it, what becomes of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.statscollectors import StatsCollector

from dedup.console import counted, logged
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.other_fields import NO_FIELDS, ItemFields
from dedup.rules.scope import owner_of
from dedup.rules.table import Rule
from dedup.signature.normalise import clean
from dedup.signature.signature import digest
from dedup.stage.batching import Place
from dedup.stage.item_settings import ItemView

logger = logging.getLogger(__name__)

document_kept = object()
"""A signal, sent before later pipelines see an item, with item, decision, response, title and spider: it was kept."""

document_dropped = object()
"""A signal, sent with the same: an item was dropped."""

_NAMED_BYTES = 6


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


def dropped_by(decision: Decision, *, drop_unchanged: bool, mark_only: bool = False) -> DroppedByDedup | None:
    """Return the exception that drops an item, if it is to be dropped.

    Duplicates, and what resembles another item and is kept, have a line in the log.
    """
    key = decision.key
    if decision.verdict is Verdict.UNCHANGED:
        is_dropped = drop_unchanged and not decision.details.is_unstored
        return Unchanged("unchanged since it was last seen", key, decision) if is_dropped else None
    if decision.is_similar:
        _tell_kept(decision)
    if not decision.verdict.is_duplicate:
        return None
    reason = logged(decision.why)
    if mark_only:
        logger.info("kept %s: %s, but nothing is dropped (DEDUP_MARK_ONLY)", logged(key), reason)
        return None
    logger.info("dropped %s: %s", logged(key), reason)
    kind = ExactDuplicate if decision.verdict is Verdict.EXACT_DUPLICATE else NearDuplicate
    return kind(reason, key, decision)


def _tell_kept(decision: Decision) -> None:
    """Log what an item resembles; one with new text is worth a line as a dropped one is."""
    says_more = decision.rule is Rule.NEW_TEXT
    more = f" (+{counted(decision.lost, 'word')})" if says_more else ""
    logger.log(logging.INFO if says_more else logging.DEBUG, "kept %s%s", logged(str(decision)), more)


@dataclass(slots=True)
class Reading:
    """The fields of an item as they were read.

    Attributes:
        item_class: the name of its class; empty for a dict.
        text: its text, the title above it; empty where there is none.
        html: what its text is to be taken from, where it has none, or a short one while this brings a longer one.
        checksums: those of its files, where it has neither.
        source: the fields that text, HTML or checksums are from, such as `title + content`; empty: none.
        title: what it is called, for people; empty where it has none.
        key: what identifies it.
        key_field: the field of the key; empty where it was made of the response's URL and what the item holds.
        is_page: whether the item represents the page that it was found on: its key is the page's URL.
        fields: what else tells it from items of the same text.
        unclear: the fields of which any may be its text, where it has none for that.
    """

    item_class: str = ""
    text: str = ""
    html: bytes | str = ""
    checksums: tuple[str, ...] = ()
    source: str = ""
    title: str = ""
    key: str = ""
    key_field: str = ""
    is_page: bool = False
    fields: ItemFields = NO_FIELDS
    unclear: tuple[str, ...] = ()

    @property
    def content_name(self) -> str:
        """A few characters that tell its content from other."""
        html = self.html.encode("utf-8", "replace") if isinstance(self.html, str) else self.html
        content = self.text.encode("utf-8", "replace") or html or "\n".join(self.checksums).encode("utf-8", "replace")
        return f"(text {digest(content)[:_NAMED_BYTES].hex()})"


class PendingItem(ItemView):
    """An item from `process_item` on, until later pipelines have stored or refused it.

    Items of a page leave the stage in the order in which they came.

    Args:
        item: the item.
        response: the response that it was made from; None where that is not known.
        before: set once the item before it has left the stage; None: it is the first.

    Attributes:
        has_left: set once it leaves the stage itself.
        reading: its text, key and fields; empty until they are read, and where they cannot be.
        document: what is compared; None until it is made, and where there is nothing.
        decision: the decision on it; None until there is one.
        dropped: what drops it here; None where it is kept.
        is_reported: whether Scrapy has reported what later pipelines made of it.
        is_through: set once they are done with it.
        let_go: the numbers of the documents that are undecided since it was refused.
    """

    def __init__(self, item: Any, response: Response | None = None, before: asyncio.Event | None = None) -> None:
        super().__init__(item)
        self.response = response
        self._before = before
        self.has_left = asyncio.Event()
        self.reading = Reading()
        self.document: Document | None = None
        self.decision: Decision | None = None
        self.dropped: DroppedByDedup | None = None
        self.is_reported = False
        self.is_through = asyncio.Event()
        self.let_go: frozenset[int] = frozenset()
        self._place: Place[PendingItem, Decision | None] | None = None

    def queue(self, place: Place[PendingItem, Decision | None]) -> None:
        """Hold a place among the items that are to be decided, from the moment in which it reached the stage."""
        self._place = place

    def take_place(self) -> Place[PendingItem, Decision | None] | None:
        """Return its place, once; None: it has none any more."""
        place, self._place = self._place, None
        return place

    def let_pass(self) -> None:
        """Give up its place, where there is nothing to decide."""
        if place := self.take_place():
            place.give_up()

    @property
    def is_page_copy(self) -> bool:
        """Whether it represents its page and is dropped as a duplicate, so that the page is one."""
        is_copy = isinstance(self.dropped, (ExactDuplicate, NearDuplicate)) and self.dropped.speaks_for_links
        return is_copy and self.reading.is_page

    async def wait_in_order(self) -> None:
        """Wait until the item before it has left; those behind it may leave once it goes on."""
        try:
            if self._before is not None:
                await self._before.wait()
        finally:
            self._before = None
            self.has_left.set()

    def release(self) -> None:
        """Let go of what is large, once it has left the stage: later pipelines may take long."""
        self.response, self.document, self.reading = None, None, Reading()


class ItemPage:
    """A response some of whose items are under way.

    Args:
        response: the response; it is not kept alive.

    Attributes:
        undecided: the items without a verdict so far, by id, which is unique as long as they are here.
        is_kept: whether one of its items was kept, so that the page is no duplicate.
        has_copy: whether an item that represents the page was dropped as a duplicate.
        original: the key of what that is a duplicate of.
        last_news: when something was last decided on it, by `time.monotonic`.
        last_left: set once the last item that has come to the stage leaves it; None: none has come.
    """

    def __init__(self, response: Response) -> None:
        self.undecided: dict[int, Any] = {}
        self.is_kept = False
        self.has_copy = False
        self.original = ""
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

    def note_copy(self, dropped: DroppedByDedup) -> None:
        """Note that an item that represents the page was dropped as a duplicate."""
        self.has_copy = True
        if dropped.decision is not None:
            self.original = dropped.decision.original or ""

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


_origins: WeakKeyDictionary[Crawler, Origins] = WeakKeyDictionary()


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
            if pending.is_page_copy and pending.dropped is not None:
                page.note_copy(pending.dropped)
            page.is_kept |= pending.dropped is None
            page.settle(pending.item)

    def end(
        self, item: Any, response: Response | None, exception: BaseException | None = None, *, is_stored: bool = False
    ) -> None:
        """Note that an item is through all pipelines, perhaps as another object, or was refused by one.

        Args:
            item: the object that it is now.
            response: that of the signal; of an errback's items it is a failure.
            exception: what has dropped it, if anything has.
            is_stored: whether no pipeline has refused it.
        """
        page = self._pages.get(response) if isinstance(response, Response) else None
        if page is None or response is None:
            return
        page.is_kept |= is_stored
        if (
            id(item) in page.undecided
            and isinstance(exception, (ExactDuplicate, NearDuplicate))
            and exception.key == clean(response.url)
            and exception.speaks_for_links
        ):
            # Its verdict was on another object, which a pipeline has put in its place.
            page.note_copy(exception)
        page.end(item)


# Scrapy has an item processed, and sends its signals, in one context, whatever objects pipelines put in its place.
_current: ContextVar[PendingItem | None] = ContextVar("_current", default=None)


class UnstoredItems:
    """The items of a crawl that were kept, until it is reported what became of them.

    Args:
        refuse: forgets a document, and returns the numbers of all that are undecided since.
        note_stored: takes the number of a document that is stored.
        stats: those of the crawl.

    - An item that is through all pipelines is stored: until then it is under way, and where the process ends, what it
      had under way is given up.
    - An item that a later pipeline drops or fails on is forgotten, unless it is unchanged and stored already: a
      pipeline that drops what it has stored may have dropped it.
    - A copy waits for a while until its original is through, and is decided again if that is forgotten. What was
      dropped all the same is named at the end, and passes in the next crawl.
    - Stats: `dedup/refused`.

    Attributes:
        let_go: the numbers of what was let go with what was refused, and not decided since.
    """

    def __init__(
        self,
        refuse: Callable[[int], Awaitable[frozenset[int]]],
        note_stored: Callable[[int], None],
        stats: StatsCollector,
    ) -> None:
        self._refuse = refuse
        self._note_stored = note_stored
        self._stats = stats
        # Two classes, or two spiders, may have documents of one key.
        self._by_document: dict[int, PendingItem] = {}
        self.let_go: set[int] = set()

    def note(self, pending: PendingItem, decision: Decision) -> None:
        """Note, where an item is processed, that it is kept."""
        _current.set(pending)
        if decision.details.is_unstored:
            self._by_document[decision.details.document_id] = pending
        self.let_go.discard(decision.details.document_id)

    @property
    def unreported(self) -> list[int]:
        """The numbers of the documents of which nobody has reported what became of their items."""
        return list(self._by_document)

    def store(self) -> None:
        """Note that the item of this context is through all pipelines."""
        if pending := _take_current():
            self._end(pending, is_stored=True)

    async def refuse(self) -> None:
        """Forget the item of this context, if it was kept: a later pipeline has dropped it, or failed on it.

        Raises:
            DatabaseError: the database failed, and it is not forgotten.
        """
        pending = _take_current()
        if pending is None:
            return
        try:
            if pending.decision is not None and pending.decision.details.is_unstored:
                pending.let_go = await self._refuse(pending.decision.details.document_id)
                self.let_go.update(pending.let_go)
                if pending.decision.details.document_id in pending.let_go:
                    self._stats.inc_value("dedup/refused")
        finally:
            self._end(pending)

    async def loses_original(self, decision: Decision, deadline: float) -> bool:
        """Wait for the original of a document that is to be dropped, if it is unstored; return whether it is forgotten.

        Then the document is undecided.

        Args:
            decision: the decision on it.
            deadline: by the clock of the event loop, when it waits no longer.
        """
        number, is_let_go = decision.details.document_id, False
        if original := self._by_document.get(decision.details.original_id):
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await original.is_through.wait()
            is_let_go = number in original.let_go
        # The original may also have been forgotten while the decision was on its way here.
        is_let_go |= number in self.let_go
        self.let_go.discard(number)
        return is_let_go

    def _end(self, pending: PendingItem, *, is_stored: bool = False) -> None:
        pending.is_through.set()
        number = 0 if pending.decision is None else pending.decision.details.document_id
        # Of several items of a document the last one is what is known.
        if self._by_document.get(number) is pending:
            del self._by_document[number]
            if is_stored:
                self._note_stored(number)


def _take_current() -> PendingItem | None:
    pending = _current.get()
    if pending is None or pending.is_reported:
        return None
    pending.is_reported = True
    return pending
