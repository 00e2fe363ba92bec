"""Which addresses of a crawl are fetched last, or not at all: of copies, and of patterns that bring nothing new."""

from __future__ import annotations

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Self

from scrapy import Request
from scrapy.crawler import Crawler

from crawler.limits import PageLimitPipeline
from crawler.page import Page
from crawler.pages.pipeline import StoragePipeline
from crawler.reasons import HOST_LIMIT, NOTHING_NEW, ONLY_COPIES, Refused
from crawler.request_meta import BY_RULE, GIVEN, KIND, PAGE
from crawler.settings import CrawlerSettings
from dedup.addresses.address import pattern_of
from dedup.addresses.discarder import read_discarder
from dedup.addresses.rule import AddressRule
from dedup.console import plain
from dedup.errors import SettingsError
from dedup.rules.decisions import Decision
from dedup.rules.documents import Verdict
from dedup.rules.word_lists import DATE_WORDS
from dedup.stage.addresses import LAST, AddressMiddleware, to_last
from dedup.stage.project import settings_of
from dedup.stage.running import refuse_to_start

logger = logging.getLogger(__name__)

MOST_IN_VAIN = 50
"""After so many pages in a row that bring nothing new the addresses of a pattern are fetched last."""

MOST_OF_LAST = 150
"""After so many more no further ones are fetched."""

MOST_REPEATED = 12
"""After so many pages in a row that were kept, and say what others say but for numbers and dates, the addresses of a
pattern are fetched last; after as many more none further are."""

_MOST_COUNTED = 10_000
_MOST_LED = 10
# A calendar has one page for each month and day of the week on which it begins.
_MOST_SAID = 500
# Longer ones are no dates.
_NUMBER = re.compile("(?<![0-9])[0-9]{1,15}(?![0-9])")
_NAMES_OF_DATES = re.compile(rf"\b(?:{'|'.join(word.decode() for word in DATE_WORDS)})\b", re.IGNORECASE)
# Characters: what says more is written for its address alone.
_MOST_OF_A_DATE = 2_000
# Of a pattern that was over in an earlier crawl so many new pages are looked at where one of its pages has changed.
_LOOKED_AT_AGAIN = 3


@dataclass
class _Yield:
    """What the pages of a pattern have brought.

    Attributes:
        in_vain: how many of them in a row have brought nothing new.
        repeated: how many of them in a row were kept and say what others say.
        is_recalled: whether it was over in an earlier crawl, and nothing has changed since.
        said: hashes of what they say, but for numbers.
        referrer: a page that has led to one of them.
    """

    in_vain: int = 0
    repeated: int = 0
    is_recalled: bool = False
    said: set[int] = field(default_factory=set)
    referrer: str | None = None


class OverPattern(NamedTuple):
    """A pattern of which nothing more is fetched, why in one word, and a page that links to its pages."""

    pattern: str
    reason: str
    referrer: str | None


class AddressPatterns:
    """Puts the addresses that differ in numbers alone behind all others, once their pages bring nothing new.

    - What brings nothing new is not found, a copy, too short, or says what others of its pattern say but for the
      numbers of its address, as a calendar does. After `MOST_IN_VAIN` of them in a row the others are fetched last, in
      no order, and no more of them after `MOST_OF_LAST` further ones; sooner where they say the same, see
      `MOST_REPEATED`.
    - A pattern that is over is noted as one skipped page. One whose pages say the same is over in the next crawl, too,
      but for pages that are known; where one of these has changed, a few further ones are looked at.
    - A page that brings something lets its pattern go on as before, and those of the pages that have led to it.
    - What a user has named is fetched whatever its pattern.
    """

    def __init__(self) -> None:
        self._yields: OrderedDict[str, _Yield] = OrderedDict()
        self._without_content: Counter[bytes] = Counter()
        self._over: list[OverPattern] = []
        self._told: set[str] = set()

    def recall(self, patterns: Iterable[str]) -> None:
        """Let patterns be over that were so in an earlier crawl."""
        for pattern in patterns:
            found = self._of(pattern)
            found.repeated, found.is_recalled = 2 * MOST_REPEATED, True

    def take_over(self) -> list[OverPattern]:
        """Return the patterns that are over and were met since the last call."""
        met, self._over = self._over, []
        return met

    def is_last(self, url: str) -> bool:
        """Return whether an address is fetched when nothing else is left."""
        found = self._known(url)
        return found is not None and _state(found) is not _State.OPEN

    def is_over(self, url: str, *, is_known: bool | None = None) -> bool:
        """Return whether an address is not fetched at all.

        Args:
            url: the address.
            is_known: whether an earlier crawl has seen its page; None where that was not asked: then it may be.
        """
        pattern, found = pattern_of(url), self._known(url)
        if pattern is None or found is None or _state(found) is not _State.OVER:
            return False
        if found.is_recalled and is_known is not False:
            return False
        if pattern not in self._told:
            self._told.add(pattern)
            reason = NOTHING_NEW if found.repeated >= 2 * MOST_REPEATED else ONLY_COPIES
            self._over.append(OverPattern(pattern, reason, found.referrer))
        return True

    def is_recalled(self, url: str) -> bool:
        """Return whether an address is fetched only if an earlier crawl has seen its page."""
        found = self._known(url)
        return found is not None and found.is_recalled

    def _known(self, url: str) -> _Yield | None:
        """Return what the pages of an address's pattern have brought; None where none were noted."""
        pattern = pattern_of(url)
        return None if pattern is None else self._yields.get(pattern)

    def is_repeated(self, body_digest: bytes) -> bool:
        """Note a page without content; say whether so many others had the same bytes that their links lead nowhere."""
        if len(self._without_content) >= _MOST_COUNTED:
            self._without_content.clear()
        self._without_content[body_digest] += 1
        return self._without_content[body_digest] > MOST_IN_VAIN

    def note(self, url: str, text: str | None, referrer: str | None = None, *, is_unchanged: bool = False) -> None:
        """Note a page that is kept.

        Args:
            url: its address.
            text: its main text; None where that is not known.
            referrer: the page that links to it.
            is_unchanged: whether it is as an earlier crawl has seen it.
        """
        pattern = pattern_of(url)
        found = None if pattern is None else self._of(pattern)
        if found is not None and text is not None:
            said = hash(_besides_numbers(url, text))
            if said in found.said:
                self.note_in_vain(url, referrer, is_repeated=not is_unchanged)
                return
            if len(found.said) < _MOST_SAID:
                found.said.add(said)
        # What is known says nothing of what is not.
        if not (is_unchanged and found is not None and found.is_recalled):
            self._bring(found, referrer)

    def note_in_vain(self, url: str, referrer: str | None = None, *, is_repeated: bool = False) -> None:
        """Note a page that was not found, is a copy, or too short, or says what others say, and was kept."""
        pattern = pattern_of(url)
        if pattern is None:
            return
        found = self._of(pattern)
        before = _state(found)
        found.in_vain += 1
        found.repeated += is_repeated
        found.referrer = referrer or found.referrer
        if (state := _state(found)) is not before:
            level = logging.WARNING if state is _State.OVER else logging.INFO
            logger.log(level, "%s: %d pages in a row had nothing new; %s", plain(pattern), found.in_vain, state.value)

    def note_kept(self, item: Any, decision: Decision) -> None:
        """Handle the signal `document_kept`."""
        if isinstance(item, Page) and decision.verdict is not Verdict.UNCHANGED:
            self._note_page(item, is_unchanged=False)

    def note_unchanged(self, item: Any) -> None:
        """Handle the signal `item_scraped`: then the text of an unchanged page is known, too."""
        if isinstance(item, Page) and item.verdict == Verdict.UNCHANGED.value:
            self._note_page(item, is_unchanged=True)

    def _note_page(self, page: Page, *, is_unchanged: bool) -> None:
        text = None if page.text is None else f"{page.title}\n{page.text}"
        self.note(page.url, text, page.referrer, is_unchanged=is_unchanged)

    def note_copy(self, item: Any) -> None:
        """Handle the signal `document_dropped`."""
        if isinstance(item, Page):
            self.note_in_vain(item.url, item.referrer)

    def _bring(self, found: _Yield | None, referrer: str | None) -> None:
        """Let the pattern of a page go on, and those of what has led to it, which may be lists of lists."""
        if found is not None:
            found.in_vain = 0
            found.repeated = 2 * MOST_REPEATED - _LOOKED_AT_AGAIN if found.is_recalled else 0
            found.is_recalled = False
            found.referrer = referrer or found.referrer
        for _ in range(_MOST_LED):
            led = None if referrer is None else self._known(referrer)
            if led is None:
                return
            led.in_vain = 0
            referrer = led.referrer

    def _of(self, pattern: str) -> _Yield:
        found = self._yields.setdefault(pattern, _Yield())
        self._yields.move_to_end(pattern)
        if len(self._yields) > _MOST_COUNTED:
            self._yields.popitem(last=False)
        return found


class _State(Enum):
    """What becomes of the addresses of a pattern."""

    OPEN = "fetching all of this pattern"
    LAST = "fetching the rest of this pattern last"
    OVER = "skipping the rest of this pattern"


def _state(found: _Yield) -> _State:
    if found.in_vain >= MOST_IN_VAIN + MOST_OF_LAST or found.repeated >= 2 * MOST_REPEATED:
        return _State.OVER
    is_last = found.in_vain >= MOST_IN_VAIN or found.repeated >= MOST_REPEATED
    return _State.LAST if is_last else _State.OPEN


class SiteAddressMiddleware(AddressMiddleware):
    """The same for the requests of the spider `site`, with `AddressPatterns`.

    What is ignored as an address of copies waits in the frontier, which hands it out once more when a rule falls.
    """

    _patterns: AddressPatterns

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        middleware = cls(crawler, spider.address_rules)
        middleware._patterns = spider.patterns
        if spider.learns:
            middleware._learn()
        return middleware

    async def process_request(self, request: Request) -> Request | None:  # type: ignore[override]
        limits = self._crawler.get_item_pipeline(PageLimitPipeline)
        if limits is not None and request.meta.get(KIND) == PAGE:
            if limits.refuses(request.url):
                raise Refused(HOST_LIMIT, "as many pages of the host are kept as may be")
            if request.priority > LAST and limits.holds_back(request.url):
                return to_last(request)
        if not self._may_be_ignored(request) or not self._patterns.is_last(request.url):
            return super().process_request(request)
        is_known = await self._is_known(request)
        # What is known comes first: it may have changed, so that what is not is looked at again.
        if is_known is not None and request.priority > LAST:
            return super().process_request(request) if is_known else to_last(request)
        if self._patterns.is_over(request.url, is_known=is_known):
            raise Refused(NOTHING_NEW, "others of its pattern bring nothing new")
        return to_last(request)

    async def _is_known(self, request: Request) -> bool | None:
        revisits = StoragePipeline.revisits_of(self._crawler)
        if revisits is None or not self._patterns.is_recalled(request.url):
            return None
        return await revisits.find(request.url) is not None

    def _may_be_ignored(self, request: Request) -> bool:
        return request.meta.get(KIND) == PAGE and not request.meta.get(GIVEN)

    def _remember(self, request: Request) -> bool:
        request.meta[BY_RULE] = True
        return True


def read_address_rules(crawler: Crawler) -> dict[str, set[AddressRule]]:
    """Return the rules of `CRAWLER_ADDRESS_RULES`, by site; what is no such file ends the crawl before it begins."""
    path = settings_of(crawler, CrawlerSettings).address_rules
    try:
        return read_discarder(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError) as error:
        message = f"CRAWLER_ADDRESS_RULES = {path!r}: {error}; name a file of rules of duplicate-url-discarder"
        refuse_to_start(SettingsError(message))


def _besides_numbers(url: str, text: str) -> str:
    """Return what a text says besides dates, numbers of its address and its neighbours', and those that count up."""
    own = {int(number) + step for number in _NUMBER.findall(url)[-5:] for step in (-1, 0, 1)}
    numbers = list(map(int, _NUMBER.findall(text)))
    counts_up = (
        number in own or before == number - 1 or behind == number + 1
        for before, number, behind in zip([None, *numbers], numbers, [*numbers[1:], None], strict=False)
    )
    left = _NUMBER.sub(lambda found: "" if next(counts_up) else found[0], text)
    if len(left) <= _MOST_OF_A_DATE:
        left = _NAMES_OF_DATES.sub("", left)
    return "".join(left.split())
