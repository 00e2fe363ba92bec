"""The downloader middleware that does not fetch the addresses of copies."""

from __future__ import annotations

import logging
import pickle
from collections import Counter, deque
from typing import Any, Self, TypeGuard

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.utils.request import request_from_dict
from w3lib.url import safe_url_string

from dedup.addresses.evidence import MOST_SEEN
from dedup.addresses.learning import AddressRules
from dedup.addresses.rule import AddressRule
from dedup.console import counted, plain
from dedup.rules.decisions import Decision
from dedup.rules.documents import LONGEST_TITLE
from dedup.rules.table import OF_ITS_OWN
from dedup.signature.normalise import clean
from dedup.signature.signature import digest
from dedup.stage.pending import document_dropped, document_kept
from dedup.stage.project import read_settings

logger = logging.getLogger(__name__)

LAST = -1_000_000
"""The priority of what is fetched when nothing else is left."""

CHECKS = 3
"""How many of the addresses that a rule says lead to copies are fetched at the end, in each of its scopes; of a site as
many by each set of rules that act together."""

MOST_IGNORED = 20_000
"""So many requests of copies are remembered, for the case that a rule turns out to be false; further ones are made."""

_ONE_IN = 20
_MOST_LOGGED = 20
_IGNORED = "dedup_ignored"
_VERDICTS = "dedup_verdicts"
# As Scrapy's queues on disk have it.
_NOT_PICKLED = (pickle.PicklingError, AttributeError, TypeError)
_REDIRECTS = (301, 302, 303, 307, 308)

_Found = tuple[tuple[AddressRule, ...], str]


class AddressMiddleware:
    """Downloader middleware: learns from the verdicts of a crawl which addresses lead to copies.

    - `DOWNLOADER_MIDDLEWARES = {"dedup.AddressMiddleware": 610}` switches it on: closer to the downloader than
      redirects (600), which are evidence.
    - It learns from items whose key is the URL of their page; what has a callback that yields none is fetched.
    - Rules fall, too, where copies are the first to lead to pages that are kept, as lists with one text do.
    - A request whose address leads to a copy by an `AddressRules` is put behind all others, but for one in twenty. At
      the end `CHECKS` of each scope of a rule are made, and the others are ignored; all of them are made when the rule
      turns out to be false anywhere.
    - Requests that a spider starts with, redirects, and other methods than GET are made in any case, and so is what
      cannot be remembered: a request whose callback is no method of its spider, or, with JOBDIR, that is not pickled.
    - With JOBDIR what is ignored, and the last `MOST_SEEN` verdicts, are in `spider.state`. The next start learns from
      these, and decides anew what is ignored: by its rules it may be that which was to be fetched instead.
    - Stats: `dedup/addresses_ignored`, those that were ignored and are not taken back.

    Args:
        crawler: the crawl.
        rules: those that there are already.
    """

    def __init__(self, crawler: Crawler, rules: AddressRules) -> None:
        self.rules = rules
        self._crawler = crawler
        self._checks: Counter[_Found] = Counter()
        self._checked: Counter[_Found] = Counter()
        self._left_out: Counter[_Found] = Counter()
        self._ignored: list[dict[str, Any]] = []
        self._verdicts: deque[tuple[str, str | None, bool, str]] = deque(maxlen=0)
        self._callbacks: set[Any] = set()
        self._is_continued = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not read_settings(crawler).enabled:
            raise NotConfigured  # the pipeline says why
        middleware = cls(crawler, AddressRules())
        middleware._learn()
        crawler.signals.connect(middleware.spider_opened, signals.spider_opened)
        crawler.signals.connect(middleware.take_back, document_kept)
        crawler.signals.connect(middleware.take_back, document_dropped)
        # A redirect can end a rule, too.
        crawler.signals.connect(middleware.take_back, signals.spider_idle)
        return middleware

    def _learn(self) -> None:
        self._crawler.signals.connect(self.log_rules, signals.spider_closed)
        self._crawler.signals.connect(self.note_kept, document_kept)
        self._crawler.signals.connect(self.note_copy, document_dropped)

    def spider_opened(self, spider: Any) -> None:
        """Handle the signal: the rules of earlier starts are learnt again, so that they can fall."""
        if self._crawler.settings.get("JOBDIR") and isinstance(state := getattr(spider, "state", None), dict):
            self._verdicts = state.setdefault(_VERDICTS, deque(maxlen=MOST_SEEN))
            self.rules.recall(self._verdicts)
            self._is_continued = bool(self._remembered())

    def note_kept(self, decision: Decision, response: Response | None, title: str = "") -> None:
        """Handle the signal `document_kept`."""
        if _is_page(response, decision):
            self._note_callback(response)
            similar_to = decision.original if decision.is_similar and decision.rule not in OF_ITS_OWN else None
            title = title[:LONGEST_TITLE]  # as the database has it
            self.rules.note_kept(decision.key, similar_to, title)
            if referrer := referrer_of(response.request):
                self.rules.note_led(referrer, decision.key)
            self._note_redirects(response)
            self._verdicts.append((decision.key, similar_to, False, title))

    def note_copy(self, decision: Decision, response: Response | None) -> None:
        """Handle the signal `document_dropped`."""
        if _is_page(response, decision) and decision.original is not None:
            self._note_callback(response)
            self.rules.note_copy(decision.key, decision.original)
            self._note_redirects(response)
            self._verdicts.append((decision.key, decision.original, True, ""))

    def _note_redirects(self, response: Response) -> None:
        """Note what has led to a page: while that was not known it told nothing."""
        redirects = [] if response.request is None else response.request.meta.get("redirect_urls", [])
        for url in redirects:
            self.rules.note_redirect(url, response.url)

    def _note_callback(self, response: Response) -> None:
        self._callbacks.add(self._callback_of(response.request))

    def _callback_of(self, request: Request | None) -> Any:
        parse = getattr(self._crawler.spider, "parse", None)
        return parse if request is None else request.callback or parse

    def process_request(self, request: Request) -> Request | None:
        if not self._may_be_ignored(request) or "redirect_urls" in request.meta:
            return None
        found = self.rules.find(request.url)
        if found is None:
            return None
        if drawn(request.url, _ONE_IN) == 0:
            self._checked[found] += 1
            return None
        if request.priority > LAST:
            return to_last(request)
        if self._checks[found] < CHECKS:
            self._checks[found] += 1
            self._checked[found] += 1
        elif self._remember(request):
            self._left_out[found] += 1
            raise IgnoreRequest("a rule says that it leads to a copy")
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        if response.status in _REDIRECTS and (location := response.headers.get("Location")):
            target = response.urljoin(safe_url_string(location))
            self.rules.note_redirect(request.url, target)
        return response

    def take_back(self) -> None:
        """Make the requests that were ignored, if a rule has turned out to be false, or that was before this start."""
        if not self.rules.take_fallen() and not self._is_continued:
            return
        self._is_continued = False
        ignored = self._remembered()
        requests = [request_from_dict(each, spider=self._crawler.spider) for each in ignored]
        ignored.clear()
        self._checks.clear()
        self._crawler.stats.set_value("dedup/addresses_ignored", 0)
        for request in requests:
            self._crawler.engine.crawl(request)

    def log_rules(self) -> None:
        """Handle the signal that the crawl is over: log how many addresses each rule has saved, and has cost."""
        line = "%s, %s: %s of copies not fetched, %d fetched to check it"
        for found, count in self._left_out.most_common(_MOST_LOGGED):
            rules, scope = found
            words = ", ".join(map(str, rules))
            logger.info(line, plain(scope), plain(words), counted(count, "address"), self._checked[found])

    def _may_be_ignored(self, request: Request) -> bool:
        """Whether a request may be put last or ignored at all."""
        has_verdicts = self._callback_of(request) in self._callbacks
        return has_verdicts and request.method == "GET" and request.meta.get("depth", 0) > 0

    def _remember(self, request: Request) -> bool:
        """Remember a request that is ignored; return whether that was possible."""
        ignored = self._remembered()
        if len(ignored) >= MOST_IGNORED:
            return False
        try:
            remembered = request.to_dict(spider=self._crawler.spider)
            if self._crawler.settings.get("JOBDIR"):
                pickle.dumps(remembered)
        except (ValueError, *_NOT_PICKLED):
            return False
        ignored.append(remembered)
        self._crawler.stats.set_value("dedup/addresses_ignored", len(ignored))
        return True

    def _remembered(self) -> list[dict[str, Any]]:
        # With a JOBDIR it is a dictionary; else a spider may call so what it likes.
        state = getattr(self._crawler.spider, "state", None)
        return state.setdefault(_IGNORED, self._ignored) if isinstance(state, dict) else self._ignored


def to_last(request: Request) -> Request | None:
    """Return a request as one that is made when nothing else is left; None if it is one."""
    return None if request.priority <= LAST else request.replace(priority=LAST, dont_filter=True)


def _is_page(response: Response | None, decision: Decision) -> TypeGuard[Response]:
    return response is not None and decision.key == clean(response.url)


def drawn(url: str, below: int) -> int:
    """Return a number from 0 on that an address draws, by a digest, so that crawls repeat."""
    return int.from_bytes(digest(url.encode("utf-8", "surrogatepass"))[:4], "big") % below


def referrer_of(request: Request | None) -> str | None:
    """Return the page whose link has led to a request; None where no page has, or it is not known."""
    referrer = request.headers.get("Referer") if request is not None else None
    return referrer.decode("latin-1") if referrer else None
