"""Series of addresses that differ in numbers alone, and whose pages bring nothing: calendars without an end."""

from __future__ import annotations

import logging
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from crawler.page import BY_RULE, GIVEN, KIND, LAST, PAGE, Page
from dedup.console import plain
from dedup.errors import SettingsError
from dedup.rules.address_rules import AddressRules, Rule
from dedup.rules.discarder import read_discarder
from dedup.rules.documents import Decision
from dedup.signature.signature import digest
from dedup.stage.failures import document_dropped, document_kept, refuse_to_start

logger = logging.getLogger(__name__)

MOST_BARREN = 50
"""After so many pages in a row that bring nothing a series of addresses is fetched last."""

MOST_SAMPLES = 150
"""After so many more a series is over."""

CHECKS = 3
"""How many of the addresses that a rule says lead to copies are fetched at the end, in each of its scopes."""

_ONE_IN = 20
_MOST_COUNTED = 10_000
# A calendar has one page for each month and day of the week on which it begins.
_MOST_SAID = 500
# Longer ones are no dates.
_NUMBER = re.compile("(?<![0-9])[0-9]{1,15}(?![0-9])")
_NUMBERS = re.compile("[0-9]+")


@dataclass
class _Series:
    barren: int = 0
    said: set[int] = field(default_factory=set)


class SeriesOfAddresses:
    """Puts series of addresses that differ in numbers alone behind all others, once their pages bring nothing.

    What brings nothing is not found, a copy, or says what others of its series say but for the numbers of its address,
    as a calendar does. After `MOST_BARREN` of them in a row the series is fetched last, in no order, and it is over
    after `MOST_SAMPLES` more. Any page that brings something lets it go on as before. What a user has named is fetched
    whatever its series.
    """

    def __init__(self) -> None:
        self._series: OrderedDict[str, _Series] = OrderedDict()
        self._without_content: Counter[bytes] = Counter()

    def is_last(self, url: str) -> bool:
        """Say whether an address is of a series that is fetched when nothing else is left."""
        return self._barren(url) >= MOST_BARREN

    def is_over(self, url: str) -> bool:
        """Say whether an address is of a series of which no more is fetched."""
        return self._barren(url) >= MOST_BARREN + MOST_SAMPLES

    def is_repeated(self, body_digest: bytes) -> bool:
        """Note a page without content; say whether so many others had the same bytes that their links lead nowhere."""
        if len(self._without_content) >= _MOST_COUNTED:
            self._without_content.clear()
        self._without_content[body_digest] += 1
        return self._without_content[body_digest] > MOST_BARREN

    def note(self, url: str, text: str | None) -> None:
        """Note a page that is kept, by its main text; None where that is not known."""
        series = self._of(url)
        if series is None:
            return
        said = None if text is None else hash(_besides_numbers(url, text))
        if said is None or said not in series.said:
            series.barren = 0
        else:
            self._count(series, url)
        if said is not None and len(series.said) < _MOST_SAID:
            series.said.add(said)

    def note_barren(self, url: str) -> None:
        """Note a page that was not found, or is a copy."""
        series = self._of(url)
        if series is not None:
            self._count(series, url)

    def note_kept(self, item: Any) -> None:
        """Handle the signal `document_kept`."""
        if isinstance(item, Page):
            self.note(item.url, None if item.text is None else f"{item.title}\n{item.text}")

    def note_copy(self, item: Any) -> None:
        """Handle the signal `document_dropped`."""
        if isinstance(item, Page):
            self.note_barren(item.url)

    def _of(self, url: str) -> _Series | None:
        pattern = pattern_of(url)
        if pattern == url:
            return None
        series = self._series.setdefault(pattern, _Series())
        self._series.move_to_end(pattern)
        if len(self._series) > _MOST_COUNTED:
            self._series.popitem(last=False)
        return series

    def _barren(self, url: str) -> int:
        series = self._series.get(pattern_of(url)) if self._series else None
        return 0 if series is None else series.barren

    def _count(self, series: _Series, url: str) -> None:
        series.barren += 1
        if series.barren == MOST_BARREN:
            told = "%s: %d pages in a row bring nothing new; others of such addresses are fetched last"
            logger.info(told, plain(pattern_of(url)), series.barren)
        elif series.barren == MOST_BARREN + MOST_SAMPLES:
            told = "%s: %d pages in a row bring nothing new; no more of such addresses are fetched"
            logger.warning(told, plain(pattern_of(url)), series.barren)


class AddressMiddleware:
    """Downloader middleware: what is likely to bring nothing is fetched when nothing else is left, or not at all.

    - Of a series that brings nothing, what was queued goes behind all others.
    - So does what leads to a copy by an `AddressRules`, but for one in twenty. At the end `CHECKS` of each scope are
      fetched, and the others are passed over; the frontier has them once more when the rule falls.
    """

    def __init__(self, series: SeriesOfAddresses, rules: AddressRules) -> None:
        self._series = series
        self._rules = rules
        self._checks: Counter[tuple[Rule, str]] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        middleware = cls(spider.series, spider.address_rules)
        if spider.learns:
            crawler.signals.connect(middleware.note_kept, document_kept)
            crawler.signals.connect(middleware.note_copy, document_dropped)
        return middleware

    def note_kept(self, item: Any) -> None:
        """Handle the signal `document_kept`."""
        if isinstance(item, Page):
            self._rules.note_kept(item.url)

    def note_copy(self, item: Any, decision: Decision) -> None:
        """Handle the signal `document_dropped`."""
        if isinstance(item, Page) and decision.original is not None:
            self._rules.note_copy(item.url, decision.original)

    def process_request(self, request: Request) -> Request | None:
        if request.meta.get(KIND) != PAGE or request.meta.get(GIVEN):
            return None
        if self._series.is_last(request.url):
            if self._series.is_over(request.url):
                raise IgnoreRequest("others of its series bring nothing")
            return _last(request)
        found = None if "redirect_urls" in request.meta else self._rules.find(request.url)
        if found is None or _is_sample(request.url):
            return None
        if request.priority > LAST:
            return _last(request)
        if self._checks[found] < CHECKS:
            self._checks[found] += 1
            return None
        request.meta[BY_RULE] = True
        raise IgnoreRequest("a rule says that it leads to a copy")


def read_address_rules(crawler: Crawler) -> dict[str, set[Rule]]:
    """Return the rules of `CRAWLER_ADDRESS_RULES`, by site; what is no such file ends the crawl before it begins."""
    path = crawler.settings.get("CRAWLER_ADDRESS_RULES")
    try:
        return read_discarder(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError) as error:
        told = f"CRAWLER_ADDRESS_RULES = {path!r}: {error}; name a file of rules of duplicate-url-discarder"
        refuse_to_start(SettingsError(told))


def _last(request: Request) -> Request | None:
    return None if request.priority <= LAST else request.replace(priority=LAST, dont_filter=True)


def _is_sample(url: str) -> bool:
    return int.from_bytes(digest(url.encode("utf-8", "surrogatepass"))[:4], "big") % _ONE_IN == 0


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


def pattern_of(url: str) -> str:
    """Return an address with each number as #; addresses that have the same differ in numbers alone."""
    scheme, colon, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host}{slash}{_NUMBERS.sub('#', path)}"
