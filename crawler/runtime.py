"""The process of a crawl: its workers, its garbage collector, and bounds of what servers can make it hold."""

from __future__ import annotations

import gc
import logging
import mmap
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError, NotConfigured
from scrapy.http import Response
from scrapy.http.cookies import CookieJar, potential_domain_matches
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.httpobj import urlparse_cached
from twisted.python.failure import Failure

from crawler.arguments import SiteArguments
from crawler.scrapy_private import (
    Connection,
    ConnectionFactory,
    allow_lines,
    connect_with,
    cookies_of,
    is_reading_headers,
    use_public_suffixes,
)
from dedup.errors import DedupError, SettingsError
from dedup.rules.scope import public_suffixes
from dedup.stage.outages import CrawlStopper, call_when_forced
from dedup.stage.project import read_item_settings
from dedup.workers.pool import PRELOAD, WorkerPool, load_ahead

MOST_BYTES = 6_000
"""How much a request says in cookies, and is kept of those of a domain: servers refuse headers of more than 8 kB."""

MOST_DOMAINS = 3_000
"""Of so many domains cookies are kept."""

# What http.cookiejar takes for a bug of its own; without it a cookie is kept as long as the crawl goes on.
_NUMBER_WITHOUT_END = re.compile(rb";\s*(?:max-age|expires)\s*=[^;]*[0-9]{20}[^;]*", re.IGNORECASE)

logger = logging.getLogger(__name__)

T = TypeVar("T")


# Python's default, 700, makes for a collection with every other page, each looking at all queued requests.
_NEW_OBJECTS = 10_000

EXTRACTION_SECONDS = 30.0

MOST_HEADER_BYTES = 256 * 1024
"""A response whose headers are longer is not read; browsers have this limit, too."""

_CHECK_SECONDS = 1.0
_STATM = Path("/proc/self/statm")
_PRELOAD = (*PRELOAD, "crawler.pages.extraction")


class OfflineCookiesMiddleware(CookiesMiddleware):
    """Downloader middleware: that of Scrapy, with bounds and the list of public suffixes that tldextract comes with.

    - Scrapy's own lets tldextract fetch the newest list at the first cookie: two requests to others that nobody
      asked for, and without a network a dozen tracebacks.
    - Of what is too much the largest cookies go first: a session is a small one. Of domains the earliest goes.
    - Each jar begins with the cookies that the spider's arguments give. Their values are never logged, and what a
      server sets goes no further, where these or headers are given: it may be as secret.
    """

    is_secret = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        use_public_suffixes(public_suffixes())
        middleware = super().from_crawler(crawler)
        arguments = getattr(crawler.spider, "arguments", None)
        if isinstance(arguments, SiteArguments):
            given = arguments.cookies
            middleware.is_secret = bool(given.cookies or arguments.headers)
            if given.cookies:
                is_in_vain = len(given.cookies) == given.of_https and not any(map(_is_https, arguments.urls))
                more = "; over http none is: start at https://" if is_in_vain else ""
                logger.log(logging.WARNING if is_in_vain else logging.INFO, "cookies of the file: %s%s", given, more)
                middleware.jars, middleware.debug = defaultdict(given.make_jar), False
        return middleware

    def process_request(self, request: Request, spider: Spider | None = None) -> Request | Response | None:
        super().process_request(request)
        header = request.headers.get("Cookie") or b""
        if len(header) > MOST_BYTES:
            # Those of several domains.
            sent: list[bytes] = _smallest(header.split(b"; "), len)
            request.headers["Cookie"] = b"; ".join(sent)
        return None

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        if sent := response.headers.getlist("Set-Cookie"):
            bounded = _with_cookies(response, [_NUMBER_WITHOUT_END.sub(b"", cookie) for cookie in sent])
            super().process_response(request, bounded)
            _bound(self.jars[request.meta.get("cookiejar")], urlparse_cached(request).hostname or "")
            if self.is_secret:
                return _with_cookies(response, [])
        return response


def _is_https(url: str) -> bool:
    return url.lower().startswith("https:")


def _with_cookies(response: Response, cookies: list[bytes]) -> Response:
    headers = response.headers.copy()
    headers.setlist("Set-Cookie", cookies)
    return response.replace(headers=headers)


def _bound(jar: CookieJar, host: str) -> None:
    """Take out of a jar what is too much, now that a host may have put something there."""
    of_domains = cookies_of(jar)
    for domain in {host, f".{host}", *potential_domain_matches(host), *potential_domain_matches(f"{host}.local")}:
        of_domain = [cookie for paths in of_domains.get(domain, {}).values() for cookie in paths.values()]
        kept = set(map(id, _smallest(of_domain, lambda cookie: len(cookie.name) + len(cookie.value or "") + 1)))
        for cookie in of_domain:
            if id(cookie) not in kept:
                jar.clear(cookie.domain, cookie.path, cookie.name)
    while len(of_domains) > MOST_DOMAINS:
        jar.clear(next(iter(of_domains)))


def _smallest(cookies: Sequence[T], size: Callable[[T], int]) -> list[T]:
    """Return as many cookies as are allowed, the smallest and of equal ones the latest, in their order."""
    total = -2
    kept: set[int] = set()
    for number in sorted(range(len(cookies)), key=lambda number: (size(cookies[number]), -number)):
        total += size(cookies[number]) + 2  # what stands between two of them
        if total > MOST_BYTES:
            break
        kept.add(number)
    return [cookie for number, cookie in enumerate(cookies) if number in kept]


class RareCollection:
    """Extension: collects garbage less often, and never looks at what was loaded at the start.

    Collecting then takes a quarter of the time that it took before.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        return extension

    def spider_opened(self) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS, 20, 20)


class MemoryLimit:
    """Extension in the place of Scrapy's: a process that takes more than `MEMUSAGE_LIMIT_MB` ends its crawl in order.

    Scrapy's own goes by the most that a process ever took, and on Linux that may be what the one took that started it.
    """

    def __init__(self, crawler: Crawler, most: int) -> None:
        self._stopper = CrawlStopper.of(crawler)
        self._most = most
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        most = crawler.settings.getint("MEMUSAGE_LIMIT_MB")
        if not most or not _STATM.exists():
            raise NotConfigured
        return cls(crawler, most)

    def spider_opened(self) -> None:
        self._loop = create_looping_call(self._check)
        self._loop.start(_CHECK_SECONDS, now=False)

    def spider_closed(self) -> None:
        self._loop.stop()

    def _check(self) -> None:
        taken = int(_STATM.read_text().split()[1]) * mmap.PAGESIZE >> 20
        if taken > self._most:
            message = f"the process takes {taken:,} MB of memory, and MEMUSAGE_LIMIT_MB allows {self._most:,}"
            self._stopper.stop(DedupError(message), "memory")


class _BoundedConnection(Connection):
    """A connection on which no response has headers of more than `MOST_HEADER_BYTES`."""

    _header_bytes = 0

    def request(self, request: Any) -> Any:
        self._header_bytes = 0
        answered = super().request(request)
        allow_lines(self, MOST_HEADER_BYTES)
        return answered

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 -- Twisted's name
        super().dataReceived(data)  # type: ignore[no-untyped-call]
        if is_reading_headers(self):
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                error = DownloadCancelledError(f"exceeded {MOST_HEADER_BYTES:,} bytes of headers")
                self._giveUp(Failure(error))  # type: ignore[no-untyped-call]


class _BoundedFactory(ConnectionFactory):
    def buildProtocol(self, addr: Any) -> _BoundedConnection:  # noqa: N802 -- Twisted's name
        return _BoundedConnection(self._quiescentCallback)  # type: ignore[no-untyped-call]


class BoundedDownloadHandler(HTTP11DownloadHandler):
    """Download handler: that of Scrapy, which takes headers without an end."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        connect_with(self, _BoundedFactory)

    async def download_request(self, request: Request) -> Response:
        try:
            return await super().download_request(request)
        except DownloadFailedError as error:
            for reason in getattr(error.__cause__, "reasons", ()):
                if reason.check(DownloadCancelledError):  # else it would be tried again, and its host left alone
                    raise reason.value from None
            raise


class Workers:
    """Extension: a pool of `DEDUP_WORKERS` processes; 0: a thread.

    A worker whose page takes longer than `EXTRACTION_SECONDS` is killed.

    Attributes:
        pool: the pool.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        workers = read_item_settings(crawler).workers
        extension = cls(WorkerPool(workers, EXTRACTION_SECONDS, _PRELOAD))
        call_when_forced(extension.pool.close)
        if workers:
            load_ahead(_PRELOAD)
        crawler.signals.connect(extension.close, signals.spider_closed)
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> WorkerPool:
        """Return the pool of a crawl.

        Raises:
            SettingsError: the extension is not among EXTENSIONS.
        """
        extension = crawler.get_extension(cls)
        if extension is None:
            raise SettingsError("the extension crawler.runtime.Workers is missing from EXTENSIONS")
        return extension.pool

    def close(self) -> None:
        self.pool.close()
