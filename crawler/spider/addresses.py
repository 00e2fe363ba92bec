"""Which addresses of a crawl are fetched last, or not at all: of copies, and of patterns that bring nothing new."""

from __future__ import annotations

import logging
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from scrapy import Request
from scrapy.crawler import Crawler

from crawler.page import Page
from crawler.reasons import NOTHING_NEW, Refused
from crawler.request_meta import BY_RULE, GIVEN, KIND, PAGE
from crawler.settings import CrawlerSettings
from dedup.addresses.discarder import read_discarder
from dedup.addresses.rule import AddressRule
from dedup.console import plain
from dedup.errors import SettingsError
from dedup.stage.addresses import AddressMiddleware, to_last
from dedup.stage.project import settings_of
from dedup.stage.running import refuse_to_start

logger = logging.getLogger(__name__)

MOST_IN_VAIN = 50
"""After so many pages in a row that bring nothing new the addresses of a pattern are fetched last."""

MOST_OF_NUMBERS = 150
"""After so many more no further ones are fetched that differ in numbers alone."""

MOST_OF_NAMES = 1_000
"""The same of those that differ in words, which somebody may have written."""

_MOST_COUNTED = 10_000
_MOST_LED = 10
# A calendar has one page for each month and day of the week on which it begins.
_MOST_SAID = 500
# Longer ones are no dates.
_NUMBER = re.compile("(?<![0-9])[0-9]{1,15}(?![0-9])")
_NUMBERS = re.compile("[0-9]+")


class Pattern(NamedTuple):
    """What many addresses have in common.

    Attributes:
        text: an address with # for numbers and * for words.
        most: how many of its pages are fetched last that bring nothing new.
    """

    text: str
    most: int


@lru_cache(maxsize=_MOST_COUNTED)
def patterns_of(url: str) -> tuple[Pattern, ...]:
    """Return the patterns of an address: one of its numbers, one of its names; none where it has neither.

    By names it has the first folder of the path, how many there are below it, and the names of the parameters.
    """
    origin, _, rest = url.partition("://")
    host, _, address = rest.partition("/")
    patterns = []
    numbers = _NUMBERS.sub("#", address)
    if numbers != address:
        patterns.append(Pattern(f"{origin}://{host}/{numbers}", MOST_OF_NUMBERS))
    path, _, query = numbers.partition("?")
    folders = path.rstrip("/").split("/")
    parameters = sorted({each.partition("=")[0] for each in query.split("&")})
    if len(folders) > 1 or query:
        first = [folders[0], *("*" for _ in folders[1:])]
        patterns.append(Pattern(f"{origin}://{host}/{'/'.join(first)}?{'&'.join(parameters)}", MOST_OF_NAMES))
    return tuple(patterns)


@dataclass
class _Yield:
    """What the pages of a pattern have brought.

    Attributes:
        in_vain: how many of them in a row have brought nothing new.
        said: hashes of what they say, but for numbers.
        referrer: a page that has led to one of them.
    """

    in_vain: int = 0
    said: set[int] = field(default_factory=set)
    referrer: str | None = None


class AddressPatterns:
    """Puts the addresses of a pattern behind all others, once its pages bring nothing new.

    - What brings nothing new is not found, a copy, too short, or says what others of its pattern say but for the
      numbers of its address, as a calendar does. After `MOST_IN_VAIN` of them in a row the others are fetched last, in
      no order, and no more of them after `Pattern.most` further ones.
    - A page that brings something lets its patterns go on as before, and those of the pages that have led to it.
    - What a user has named is fetched whatever its patterns.
    """

    def __init__(self) -> None:
        self._yields: OrderedDict[Pattern, _Yield] = OrderedDict()
        self._without_content: Counter[bytes] = Counter()

    def is_last(self, url: str) -> bool:
        """Return whether an address is fetched when nothing else is left."""
        return any(self._in_vain(each) >= MOST_IN_VAIN for each in patterns_of(url))

    def is_over(self, url: str) -> bool:
        """Return whether an address is not fetched at all."""
        return any(self._in_vain(each) >= MOST_IN_VAIN + each.most for each in patterns_of(url))

    def is_repeated(self, body_digest: bytes) -> bool:
        """Note a page without content; say whether so many others had the same bytes that their links lead nowhere."""
        if len(self._without_content) >= _MOST_COUNTED:
            self._without_content.clear()
        self._without_content[body_digest] += 1
        return self._without_content[body_digest] > MOST_IN_VAIN

    def note(self, url: str, text: str | None, referrer: str | None = None) -> None:
        """Note a page that is kept, by its main text; None where that is not known."""
        said = None if text is None else hash(_besides_numbers(url, text))
        found = [self._of(each) for each in patterns_of(url) if each.most == MOST_OF_NUMBERS]
        if any(said in each.said for each in found):
            self.note_in_vain(url, referrer)
            return
        for each in found:
            if said is not None and len(each.said) < _MOST_SAID:
                each.said.add(said)
        self._bring(url, referrer)

    def note_in_vain(self, url: str, referrer: str | None = None) -> None:
        """Note a page that was not found, is a copy, or too short."""
        for pattern in patterns_of(url):
            found = self._of(pattern)
            found.in_vain += 1
            found.referrer = referrer or found.referrer
            _log(pattern, found.in_vain)

    def note_kept(self, item: Any) -> None:
        """Handle the signal `document_kept`."""
        if isinstance(item, Page):
            self.note(item.url, None if item.text is None else f"{item.title}\n{item.text}", item.referrer)

    def note_copy(self, item: Any) -> None:
        """Handle the signal `document_dropped`."""
        if isinstance(item, Page):
            self.note_in_vain(item.url, item.referrer)

    def _bring(self, url: str, referrer: str | None) -> None:
        """Let the patterns of a page go on, and those of what has led to it, which may be lists of lists."""
        for pattern in patterns_of(url):
            found = self._of(pattern)
            found.in_vain = 0
            found.referrer = referrer or found.referrer
        for _ in range(_MOST_LED):
            if referrer is None:
                return
            led = [each for pattern in patterns_of(referrer) if (each := self._yields.get(pattern))]
            for each in led:
                each.in_vain = 0
            referrer = next((each.referrer for each in led if each.referrer), None)

    def _of(self, pattern: Pattern) -> _Yield:
        found = self._yields.setdefault(pattern, _Yield())
        self._yields.move_to_end(pattern)
        if len(self._yields) > _MOST_COUNTED:
            self._yields.popitem(last=False)
        return found

    def _in_vain(self, pattern: Pattern) -> int:
        found = self._yields.get(pattern)
        return 0 if found is None else found.in_vain


def _log(pattern: Pattern, in_vain: int) -> None:
    if in_vain == MOST_IN_VAIN:
        message = "%s: %d pages in a row bring nothing new; others of such addresses are fetched last"
        logger.info(message, plain(pattern.text), in_vain)
    elif in_vain == MOST_IN_VAIN + pattern.most:
        message = "%s: %d pages in a row bring nothing new; no more of such addresses are fetched"
        logger.warning(message, plain(pattern.text), in_vain)


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

    def process_request(self, request: Request) -> Request | None:
        if self._may_be_ignored(request) and self._patterns.is_last(request.url):
            if self._patterns.is_over(request.url):
                raise Refused(NOTHING_NEW, "others of its pattern bring nothing new")
            return to_last(request)
        return super().process_request(request)

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
    """Return what a text says besides the numbers of its address, of its neighbours', and those that only count up."""
    own = {int(number) + step for number in _NUMBER.findall(url)[-5:] for step in (-1, 0, 1)}
    before = -1

    def left(found: re.Match[str]) -> str:
        nonlocal before
        number, last = int(found[0]), before
        before = number
        return "" if number in own or number == last + 1 else found[0]

    return "".join(_NUMBER.sub(left, text).split())
