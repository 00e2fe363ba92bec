"""Cookies: bounded, and without asking the network which domains are public suffixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar, potential_domain_matches
from scrapy.utils.httpobj import urlparse_cached

from dedup.rules.scope import public_suffixes

MOST_BYTES = 6_000
"""How much a request says in cookies, and is kept of those of a domain: servers refuse headers of more than 8 kB."""

MOST_DOMAINS = 3_000
"""Of so many domains cookies are kept."""

T = TypeVar("T")


class OfflineCookiesMiddleware(CookiesMiddleware):
    """Downloader middleware: that of Scrapy, with bounds and the list of public suffixes that tldextract comes with.

    - Scrapy's own lets tldextract fetch the newest list at the first cookie: two requests to others that nobody
      asked for, and without a network a dozen tracebacks.
    - Of what is too much the largest cookies go first: a session is a small one. Of domains the earliest goes.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # There is no public way, and no setting.
        cookies._split_domain = public_suffixes()  # noqa: SLF001
        return super().from_crawler(crawler)

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
        super().process_response(request, response)
        if "Set-Cookie" in response.headers:
            _bound(self.jars[request.meta.get("cookiejar")], urlparse_cached(request).hostname or "")
        return response


def _bound(jar: CookieJar, host: str) -> None:
    """Take out of a jar what is too much, now that a host may have put something there."""
    cookies_of = jar._cookies  # noqa: SLF001 -- going through a jar goes through all domains
    for domain in {host, f".{host}", *potential_domain_matches(host), *potential_domain_matches(f"{host}.local")}:
        of_domain = [cookie for paths in cookies_of.get(domain, {}).values() for cookie in paths.values()]
        kept = set(map(id, _smallest(of_domain, lambda cookie: len(cookie.name) + len(cookie.value or "") + 1)))
        for cookie in of_domain:
            if id(cookie) not in kept:
                jar.clear(cookie.domain, cookie.path, cookie.name)
    while len(cookies_of) > MOST_DOMAINS:
        jar.clear(next(iter(cookies_of)))


def _smallest(cookies: Sequence[T], size: Callable[[T], int]) -> list[T]:
    """Return as many cookies as are allowed, the smallest and of equal ones the latest, in their order."""
    total = -2
    kept: set[int] = set()
    for place in sorted(range(len(cookies)), key=lambda place: (size(cookies[place]), -place)):
        total += size(cookies[place]) + 2  # what stands between two of them
        if total > MOST_BYTES:
            break
        kept.add(place)
    return [cookie for place, cookie in enumerate(cookies) if place in kept]
