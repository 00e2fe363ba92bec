"""Cookies, without asking the network which domains are public suffixes."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware

from dedup.rules.scope import public_suffixes


class OfflineCookiesMiddleware(CookiesMiddleware):
    """Downloader middleware: that of Scrapy, with the list of public suffixes that tldextract comes with.

    Scrapy's own lets tldextract fetch the newest list at the first cookie: two requests to others that nobody
    asked for, and without a network a dozen tracebacks.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # There is no public way, and no setting.
        cookies._split_domain = public_suffixes()  # noqa: SLF001
        return super().from_crawler(crawler)
