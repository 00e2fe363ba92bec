"""Downloads that are broken off because they bring no page."""

from __future__ import annotations

from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured, StopDownload
from scrapy.http import Response
from scrapy.http.headers import Headers

from crawler.page import KIND, is_page
from crawler.spider.arguments import SiteArguments

# Smaller ones are fetched whole: their status tells more than their type.
_STOP_ABOVE_BYTES = 65_536
_FIRST_ERROR = 400


class BreakingOffMiddleware:
    """Downloader middleware: a film, an archive and the like are broken off once their headers are here.

    Of an error, whose length is not known, the status goes on, so that it is tried again and told as any error is.
    It has to be closer to the downloader than Scrapy's middleware that retries.
    """

    def __init__(self, arguments: SiteArguments) -> None:
        self._arguments = arguments

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        arguments = getattr(crawler.spider, "arguments", None)
        if arguments is None:
            raise NotConfigured
        middleware = cls(arguments)
        crawler.signals.connect(middleware.headers_received, signals.headers_received)
        return middleware

    def headers_received(self, headers: Headers, body_length: object, request: Request) -> None:
        """Handle the signal.

        Raises:
            StopDownload: it is neither HTML nor a feed that the crawl starts with, and large or of unknown length.
        """
        if not is_page(request.meta.get(KIND)) or b"Location" in headers:
            return
        content_type = (headers.get("Content-Type") or b"text/html").lower()
        # An unknown length comes as None or as a string.
        is_small = isinstance(body_length, int) and body_length <= _STOP_ABOVE_BYTES
        may_be_feed = b"xml" in content_type and self._arguments.is_start(request)
        if b"html" not in content_type and not is_small and not may_be_feed:
            raise StopDownload(fail=True)

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        response = exception.response if isinstance(exception, StopDownload) else None
        if response is None or response.status < _FIRST_ERROR:
            return None
        # Nothing is there to be decoded.
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
        return response.replace(headers=headers, body=b"", request=request)
