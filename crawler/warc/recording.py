"""What a crawl fetches, written to a WARC file: `scrapy crawl site -o crawl.warc.gz`."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import apply_uri_params
from scrapy.http import Response
from w3lib.url import file_uri_to_path

from crawler.page import Exchange, Page
from crawler.reasons import is_mended_by_time
from crawler.request_meta import EXCHANGE, KIND, LAST_VISIT, RESOURCE, UNSETTLED, is_page
from crawler.settings import CrawlerSettings, WarcDuplicates
from crawler.warc.file import (
    NEAR_DUPLICATE,
    NOT_MODIFIED,
    ArchiveError,
    Refers,
    WarcFile,
    as_date,
    read_exchange,
)
from dedup.errors import SettingsError
from dedup.readers.responses import is_success
from dedup.rules.decisions import Decision
from dedup.stage.outages import CrawlStopper
from dedup.stage.project import settings_of
from dedup.stage.running import refuse_to_start

FORMATS = ("gz", "warc")
"""What Scrapy takes for the formats of `crawl.warc.gz`, and of `crawl.warc`, which is refused with the way out."""

_ENDING = ".warc.gz"
_going_on: WeakSet[Crawler] = WeakSet()
_recordings: WeakKeyDictionary[Crawler, RecordingMiddleware] = WeakKeyDictionary()


class RecordingMiddleware:
    """Downloader middleware: writes what is fetched to the WARC file that `-o` names.

    - Of a page, once it is decided and before it is stored: all of it (`response`), or where the file holds the same
      bytes, or the server has said that they are as before, the headers alone (`revisit`). What is dropped as a copy
      is written as `CRAWLER_WARC_DUPLICATES` says. A record `metadata` has verdict, original, referrer and depth.
    - Of redirects, errors that no time heals, robots.txt, sitemaps, and what a browser needs: all, at once.
    - Nothing of what is skipped: it is not stored, either.
    - The body of a record is what the server sent, compressed if that was; chunks are undone.
    - It has to be closer to the downloader than what decodes, redirects, or answers by itself.
    """

    def __init__(self, crawler: Crawler, file: WarcFile, duplicates: WarcDuplicates) -> None:
        self._arguments = crawler.spider.arguments  # type: ignore[union-attr]
        self._file = file
        self._duplicates = duplicates
        self._stopper = CrawlStopper.of(crawler)
        crawler.signals.connect(self.close, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        try:
            target = find_target(crawler)
            if target is None:
                raise NotConfigured
            duplicates = settings_of(crawler, CrawlerSettings).warc_duplicates
            # What a run has written before it was interrupted is not fetched again.
            overwrites = target.overwrites and crawler not in _going_on
            file = WarcFile(target.path, overwrite=overwrites, made_by=_made_by(crawler))
        except SettingsError as error:
            refuse_to_start(error)
        _recordings[crawler] = recording = cls(crawler, file, duplicates)
        return recording

    @staticmethod
    def of(crawler: Crawler) -> RecordingMiddleware | None:
        """Return that of a crawl; None where nothing is recorded."""
        return _recordings.get(crawler)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def process_response(self, request: Request, response: Response) -> Response:
        if "download_latency" not in request.meta:  # nobody was asked
            return response
        exchange = read_exchange(request, response)
        visit = request.meta.get(LAST_VISIT)
        is_same = response.status == HTTPStatus.NOT_MODIFIED and visit is not None
        may_be_page = is_page(request.meta.get(KIND)) and not self._is_feed(request, response)
        if may_be_page and (is_success(response.status) or is_same):
            request.meta[EXCHANGE] = exchange
        elif _is_of_the_crawl(request) and not is_same and not is_mended_by_time(response.status):
            self._write(exchange, self._file.find_same(exchange), [], request)
        return response

    def write_page(self, page: Page, decision: Decision | None = None, request: Request | None = None) -> bool:
        """Write what was fetched of a page, if anything was.

        Args:
            page: the page.
            decision: the verdict by which it is dropped; None: it is kept.
            request: the request for it, which is not done if that fails.

        Returns:
            False if it could not be written: then the crawl is stopped.
        """
        exchange = page.exchange
        if exchange is None:
            return True
        original = decision.original if decision is not None and decision.verdict.is_duplicate else None
        refers = self._file.find_same(exchange)
        if exchange.status == HTTPStatus.NOT_MODIFIED:
            refers = Refers(NOT_MODIFIED, exchange.url, as_date(exchange.seen_before) if exchange.seen_before else None)
        elif refers is None and original is not None:
            if self._duplicates is WarcDuplicates.OMIT:
                return True
            if self._duplicates is WarcDuplicates.REVISIT:
                refers = Refers(NEAR_DUPLICATE, original, None)
        return self._write(exchange, refers, _notes(page, decision), request)

    def _is_feed(self, request: Request, response: Response) -> bool:
        """Return whether it is a feed that the crawl starts with."""
        kind = (response.headers.get("Content-Type") or b"").lower()
        return b"xml" in kind and b"html" not in kind and bool(self._arguments.is_start(request))

    def _write(
        self, exchange: Exchange, refers: Refers | None, notes: list[tuple[str, str]], request: Request | None
    ) -> bool:
        try:
            self._file.write(exchange, refers, notes)
        except ArchiveError as error:
            if request is not None:
                request.meta[UNSETTLED] = True
            self._stopper.stop(error, "archive_failed")
            return False
        return True


def note_going_on(crawler: Crawler) -> None:
    """Note, before the crawl begins, that its run goes on with one that was interrupted."""
    _going_on.add(crawler)


class Target(NamedTuple):
    """The file that is to be written, and whether what is there goes."""

    path: Path
    overwrites: bool


def is_warc(options: Any) -> bool:
    """Return whether a feed is a web archive, by its options."""
    return options["format"] in FORMATS


def find_target(crawler: Crawler) -> Target | None:
    """Return the WARC file among the feeds of a crawl; None if there is none.

    Raises:
        SettingsError: it cannot be written there, there are several, or nothing is fetched.
    """
    feeds = {str(uri): options for uri, options in crawler.settings.getdict("FEEDS").items() if is_warc(options)}
    if not feeds:
        return None
    if len(feeds) > 1:
        raise SettingsError(f"feeds {', '.join(feeds)}: name one WARC file")
    (uri, options), *_ = feeds.items()
    scheme = urlsplit(uri).scheme
    if not uri.endswith(_ENDING):
        raise SettingsError(
            f"feed {uri}: of what is compressed, web archives alone are written: name it like x{_ENDING}"
        )
    if scheme not in ("", "file"):
        raise SettingsError(f"feed {uri}: a WARC file is written on this machine; name a path")
    if getattr(crawler.spider, "archives", None) is not None:
        raise SettingsError(
            f"feed {uri}: what is fetched is written there, and pages are taken from warc: leave it out"
        )
    spider = "" if crawler.spider is None else crawler.spider.name
    time = datetime.now(UTC).replace(microsecond=0, tzinfo=None).isoformat().replace(":", "-")
    path = apply_uri_params(file_uri_to_path(uri) if scheme else uri, {"name": spider, "time": time})
    return Target(Path(path).resolve(), bool(options.get("overwrite", False)))


def _made_by(crawler: Crawler) -> list[tuple[str, str]]:
    settings = crawler.settings
    return [
        ("software", "scrapy-neardup"),
        ("format", "WARC File Format 1.1"),
        ("http-header-user-agent", settings["USER_AGENT"]),
        ("robots", "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore"),
    ]


def _is_of_the_crawl(request: Request) -> bool:
    """Return whether an address was asked for because a site named it, or for its robots.txt."""
    # Others are made up, to see what a host says of what is not there.
    return KIND in request.meta or RESOURCE in request.meta or urlsplit(request.url).path == "/robots.txt"


def _notes(page: Page, decision: Decision | None) -> list[tuple[str, str]]:
    notes = [("via", page.referrer or ""), ("hopsFromSeed", str(page.depth))]
    verdict = page.verdict if decision is None else decision.verdict.value
    notes.append(("dedup-verdict", verdict or ""))
    if decision is not None and decision.original is not None:
        close = [f"{decision.distance}", f"{decision.similarity:.2f}"] if decision.verdict.is_duplicate else ["", ""]
        names = ("dedup-original", "dedup-distance", "dedup-similarity", "dedup-rule")
        notes += zip(names, (decision.original, *close, str(decision.rule or "")), strict=True)
    return [(name, value) for name, value in notes if value]
