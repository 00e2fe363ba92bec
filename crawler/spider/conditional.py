"""Downloader middleware of a re-crawl: asks only for what has changed since the last visit."""

from __future__ import annotations

import math
import time
from hashlib import blake2b
from http import HTTPStatus
from typing import Self
from urllib.parse import urljoin

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import HtmlResponse, Response
from scrapy.http.headers import Headers
from scrapy.utils.request import RequestFingerprinter
from w3lib.url import safe_url_string

from crawler.arguments import SiteArguments
from crawler.page import is_named_pdf
from crawler.pages.pipeline import StoragePipeline
from crawler.pages.revisits import Revisits
from crawler.pages.store import Visit
from crawler.request_meta import KIND, LAST_VISIT, NOT_MODIFIED, PAGE, PASSED_OVER, is_page
from crawler.settings import CrawlerSettings
from crawler.spider.redirects import count_returns
from dedup.readers.responses import media_type
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.stage.project import read_item_settings, settings_of

_FOR_GOOD = (301, 308)
_FEEDS = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml")
_PDF, _ANYTHING = ("application/pdf", "application/x-pdf"), "application/octet-stream"

# Smaller ones are fetched whole: their status tells more than their type.
_STOP_ABOVE_BYTES = 65_536


def is_known_duplicate(response: Response) -> bool:
    """Return whether a response stands for a duplicate that is the same as last time: its bytes are not stored."""
    return not response.body and (NOT_MODIFIED in response.flags or PASSED_OVER in response.flags)


class ConditionalMiddleware:
    """Downloader middleware: the last visit to a page decides how it is asked for, in a re-crawl.

    - A page is asked for with If-None-Match and If-Modified-Since. The answer 304 becomes a response
      with the stored bytes, so that whatever comes after it needs no rule of its own.
    - With `max_age`, a page that was seen later than that is not asked for at all, nor with `visit_every` one whose
      interval is not over; the response has
      the stored bytes too.
    - That is done only with pages whose content is still decided, and with duplicates only if their
      links are of no interest, since their bytes are not stored: their response is empty.
    - In every crawl: a page that is known and redirects for good is noted as moving.
    - It has to be closer to the downloader than Scrapy's middlewares for redirects and compression.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        arguments: SiteArguments = crawler.spider.arguments  # type: ignore[union-attr]
        self._is_recrawl = arguments.recrawl
        self._intervals = arguments.intervals
        self._seen_since = math.inf if arguments.max_age is None else time.time() - arguments.max_age
        self._follows_duplicates = read_item_settings(crawler).follow_duplicates

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        if not self._is_recrawl or request.meta.get(KIND) != PAGE:
            return None
        revisits = StoragePipeline.revisits_of(self._crawler)
        visit = None if revisits is None else await revisits.find(request.url)
        if revisits is None or visit is None or not await self._holds(visit, request):
            return None
        if visit.seen > self._seen_since or self._is_left_alone(visit):
            if "redirect_urls" in request.meta:
                await revisits.note_there(request.url)
            return await _as_seen(revisits, visit, request, PASSED_OVER)
        if visit.etag:
            request.headers["If-None-Match"] = visit.etag
        if visit.last_modified:
            request.headers["If-Modified-Since"] = visit.last_modified
        request.meta[LAST_VISIT] = visit
        return None

    async def process_response(self, request: Request, response: Response) -> Response:
        revisits = StoragePipeline.revisits_of(self._crawler)
        if revisits is None or not is_page(request.meta.get(KIND)):
            return response
        visit = request.meta.get(LAST_VISIT)
        if response.status == HTTPStatus.NOT_MODIFIED and visit is not None:
            return await _as_seen(revisits, visit, request, NOT_MODIFIED, response.headers)
        location = response.headers.get("Location")
        if response.status in _FOR_GOOD and location:
            target = urljoin(request.url, safe_url_string(location))
            olds = [request.url, *_moved_from(request)]
            visited = [old for old in olds if await revisits.find(old)]
            if visited and target not in olds:
                await revisits.note_moving(visited, target, self._seen_since)
        return response

    def _is_left_alone(self, visit: Visit) -> bool:
        intervals = self._intervals
        return intervals is not None and visit.seen + intervals.of(visit.interval) > time.time()

    async def _holds(self, visit: Visit, request: Request) -> bool:
        """Return whether what was seen at the last visit can stand for what the page holds if it is the same."""
        if visit.body_digest is None:
            return False
        is_front = request.cb_kwargs.get("depth", 0) == 0
        if not visit.is_stored and (is_front or self._follows_duplicates):
            return False
        dedup = self._crawler.get_item_pipeline(NearDuplicatePipeline)
        if dedup is None:
            return True
        # A process can end between verdict and storage: what is neither a copy nor stored has to be seen in full.
        is_whole = visit.is_stored or await dedup.was_dropped(visit.url)
        return is_whole and await dedup.has_seen_bytes(visit.body_digest, visit.url)


async def _as_seen(
    revisits: Revisits, visit: Visit, request: Request, flag: str, headers: Headers | None = None
) -> Response:
    body = await revisits.read_html(visit.url) if visit.is_stored else None
    headers = Headers() if headers is None else headers.copy()
    # They were about the answer, not about the bytes that are stored.
    for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
        headers.pop(name, None)
    if visit.etag:
        headers.setdefault("ETag", visit.etag)
    if visit.last_modified:
        headers.setdefault("Last-Modified", visit.last_modified)
    request.meta[LAST_VISIT] = visit
    return HtmlResponse(request.url, headers=headers, body=body or b"", request=request, flags=[flag])


def _moved_from(request: Request) -> list[str]:
    """Return the addresses whose redirects have led to a request, if all of them were for good."""
    reasons = request.meta.get("redirect_reasons", [])
    return list(request.meta.get("redirect_urls", [])) if all(each in _FOR_GOOD for each in reasons) else []


class BreakingOffMiddleware:
    """Downloader middleware: a film, an archive and the like are broken off once their headers are here.

    Of an error, whose length is not known, the status goes on, so that it is tried again and told as any error is.
    It has to be closer to the downloader than Scrapy's middleware that retries.
    """

    def __init__(self, arguments: SiteArguments, *, reads_pdf: bool) -> None:
        self._arguments = arguments
        self._reads_pdf = reads_pdf

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        reads_pdf = settings_of(crawler, CrawlerSettings).pdf
        middleware = cls(crawler.spider.arguments, reads_pdf=reads_pdf)  # type: ignore[union-attr]
        crawler.signals.connect(middleware.headers_received, signals.headers_received)
        return middleware

    def headers_received(self, headers: Headers, body_length: object, request: Request) -> None:
        """Handle the signal.

        Raises:
            StopDownload: it is neither HTML, nor a feed that the crawl starts with, nor a PDF where these are read, and
                large or of unknown length.
        """
        if not is_page(request.meta.get(KIND)) or b"Location" in headers:
            return
        content_type = (headers.get("Content-Type") or b"text/html").lower()
        # An unknown length comes as None or as a string.
        is_small = isinstance(body_length, int) and body_length <= _STOP_ABOVE_BYTES
        may_be_feed = (b"xml" in content_type or b"json" in content_type) and self._arguments.is_start(request)
        kind = media_type([content_type.decode("latin-1")])
        may_be_feed |= kind in _FEEDS
        # Some servers know no better name for what people are to download.
        is_nameless = kind == _ANYTHING and is_named_pdf(request.url)
        may_be_pdf = self._reads_pdf and (kind in _PDF or is_nameless)
        if b"html" not in content_type and not (is_small or may_be_feed or may_be_pdf):
            raise StopDownload(fail=True)

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        response = exception.response if isinstance(exception, StopDownload) else None
        if response is None or response.status < HTTPStatus.BAD_REQUEST:
            return None
        # Nothing is there to be decoded.
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
        return response.replace(headers=headers, body=b"", request=request)


class RedirectFingerprinter(RequestFingerprinter):
    """Tells a request that redirects have led back to from the one before, so that it is not passed over as known."""

    def fingerprint(self, request: Request) -> bytes:
        fingerprint = super().fingerprint(request)
        returns = count_returns(request)
        if not returns:
            return fingerprint
        return blake2b(fingerprint + f"returned {returns}".encode(), digest_size=len(fingerprint)).digest()
