"""The private parts of Scrapy and Twisted that are used: each in a function, with the reason.

There is no public way to any of them. They are the same in Scrapy 2.14 to 2.19, and a test looks at each. Classes that
are extended have their private methods overridden where that is: `crawler.feeds`, `crawler.politeness.pausing`.
"""

from __future__ import annotations

from http.cookiejar import Cookie

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from tldextract import TLDExtract
from twisted.web._newclient import HEADER, STATUS

# ruff: noqa: SLF001

ConnectionFactory = _LenientHTTP11ClientFactory
"""What makes connections; subclassed to bound the headers of a response, which Scrapy does not."""

Connection = _LenientHTTP11ClientProtocol
"""A connection; likewise."""


def is_in_progress(crawler: Crawler, request: Request) -> bool:
    """Say whether anything of a request is left to do; all signals come before its callback has ended."""
    slot = crawler.engine._slot if crawler.engine else None
    return slot is not None and request in slot.inprogress


def has_slot(crawler: Crawler) -> bool:
    """Say whether the engine has a spider: before and behind that nothing is known of requests."""
    return crawler.engine is not None and crawler.engine._slot is not None


def is_closing(crawler: Crawler) -> bool:
    """Say whether a crawl ends; the signals tell it only once all requests are done."""
    engine = crawler.engine
    return engine is None or not engine.running or engine._slot is None or engine._slot.closing is not None


def wake_engine(crawler: Crawler) -> None:
    """Have the engine ask its scheduler, or end the crawl, now: by itself it looks every five seconds."""
    if crawler.engine is not None and crawler.engine._slot is not None:
        crawler.engine._slot.nextcall.schedule()


def items_under_way(crawler: Crawler) -> int:
    """Return how many items are in the pipelines; of those of `start()` and `scrapy parse` no signal tells."""
    slot = crawler.engine.scraper.slot if crawler.engine else None
    return 0 if slot is None else slot.itemproc_size


def let_scraper_close(crawler: Crawler) -> None:
    """Have the engine go on closing, now that no item is under way: it looks only when a response is done."""
    scraper = crawler.engine.scraper if crawler.engine else None
    if scraper is None or scraper.slot is None or not has_slot(crawler):
        return
    if scraper.slot.closing is None:
        wake_engine(crawler)
    elif not scraper.slot.closing.called:
        scraper._check_if_closing()


def use_public_suffixes(split: TLDExtract) -> None:
    """Have Scrapy's cookies go by a list of public suffixes: its own fetches one from others at the first cookie."""
    cookies._split_domain = split


def cookies_of(jar: CookieJar) -> dict[str, dict[str, dict[str, Cookie]]]:
    """Return the cookies of a jar by domain, path and name; going through a jar goes through all domains."""
    return jar._cookies


def robots_parser_of(middleware: RobotsTxtMiddleware) -> type[RobotParser]:
    """Return the class of `ROBOTSTXT_PARSER`, as the middleware has loaded it."""
    parser: type[RobotParser] = middleware._parserimpl  # type: ignore[assignment]  # as Scrapy annotates it
    return parser


def connect_with(handler: HTTP11DownloadHandler, factory: type[ConnectionFactory]) -> None:
    """Have a download handler make its connections with a factory."""
    handler._pool._factory = factory


def is_reading_headers(connection: Connection) -> bool:
    """Say whether a connection is at the headers of a response."""
    return connection._parser is not None and connection._parser.state in (STATUS, HEADER)
