"""What all packages of the crawler know: the item, the kinds of requests, and the exceptions of the pipelines."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from typing import Any, TypeVar

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    DropItem,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.spidermiddlewares.httperror import HttpError

from dedup import Signature
from dedup.errors import DatabaseError, SettingsError
from dedup.signature.extraction import MainText
from dedup.stage.outages import FAILED, CrawlStopper
from dedup.stage.running import refuse_to_start

T = TypeVar("T")

DESCRIBED = ("title", "author", "date", "language", "description")
"""The fields that are metadata, which are looked for in pages that are kept: they cost as much as the text."""

EXTRACTED = ("text", "extraction", "page_characters")
"""The fields that `Page.take` fills in."""

ROW = "frontier_row"
"""Key of a request's meta: the id of the frontier's row that it was made from."""

KIND = "kind"
"""Key of a request's meta: what it leads to, one of the following."""

RESOURCE = "resource"
"""Key of a request's meta: it is for what a page needs to be rendered, of this type."""

GIVEN = "given"
"""Key of a request's meta: no link led to it; a user, a sitemap or an earlier crawl has named its address."""

LAST_VISIT = "last_visit"
"""Key of a request's meta: the last visit to its page, where the answer may rely on it."""

PLACE = "place"
"""Key of a request's meta: where its page stands in a WARC file."""

FETCHED = "fetched"
"""Key of a request's meta: when its page was fetched, where that was not now."""

EXCHANGE = "exchange"
"""Key of a request's meta: what went over the wire for its page, where that is recorded."""

UNSETTLED = "unsettled"
"""Key of a request's meta: what it has led to could not be written, so that it is not done."""

BY_RULE = "by_rule"
"""Key of a request's meta: it is passed over, since a rule says that it leads to a copy."""

NOT_MODIFIED = "not modified"
"""Flag of a response whose server has said that the page is the same as last time."""

PASSED_OVER = "passed over"
"""Flag of a response that was made without asking the server: the page was seen a short time ago."""

CUT_OFF = "cut off"
"""Flag of a response whose body has no end."""

STATIC = ("script", "stylesheet")
"""Types of resources that are asked for once in a crawl, and not at the pace of pages."""

PAGE = "page"
ARCHIVED = "archived page"
"""A page that stands in a WARC file, and is not asked for on the web."""

SITEMAP = "sitemap"
ROBOTS = "robots"
AGAIN = ("page again", "page again 2", "page again 3")
"""Pages that are fetched once more in the same run; the next one if even that has not settled them."""


Pairs = Sequence[tuple[str, str]]


# No stat that the processes of a run add up: whoever goes on with it stores the page.
NOT_STORED = "pages/not_stored"
"""The stat that counts what passed and could not be stored."""

ROBOTS_TXT = "robots_txt"

_REASONS: dict[type[Exception], str] = {
    StopDownload: "not_html",
    DownloadTimeoutError: "timed_out",
    CannotResolveHostError: "host_not_found",
    DownloadConnectionRefusedError: "connection_refused",
    DownloadCancelledError: "too_large",
    ResponseDataLossError: "incomplete",
    DownloadFailedError: "connection_failed",
}
ROBOTS_UNKNOWN = "robots.txt cannot"
"""How the message of an exception begins where a robots.txt could not be fetched, which is its cause."""

# Words of the messages of the middlewares that refuse a request.
_IGNORED = {
    "robots.txt": ROBOTS_TXT,
    "redirections": "redirect_loop",
    "offsite": "other_host",
    "inner address": "inner_address",
    "exceeded": "too_large",
    "nothing new": "nothing_new",
    "damaged record": "damaged_record",
    "damaged body": "damaged_body",
}

_AWAY = (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
# As OpenSSL and Python say it of those that nobody vouches for, and Twisted of those of another host.
_BAD_CERTIFICATE = re.compile("certificate.verify.failed|VerificationError", re.IGNORECASE)


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, as they went over the wire.

    Attributes:
        url: the address.
        method: the method of the request.
        sent: the headers of the request.
        status: the status of the answer.
        received: the headers of the answer.
        body: the content of the answer, as compressed as it came.
        address: the IP address of the server; None where it is not known.
        time: when the answer was here.
        seen_before: when the page was seen the last time, where its server was asked whether it has changed since.
        is_whole: whether the content is all that was on its way.
    """

    url: str
    method: str
    sent: Pairs
    status: int
    received: Pairs
    body: bytes
    address: str | None
    time: datetime
    seen_before: datetime | None = None
    is_whole: bool = True

    @cached_property
    def payload_digest(self) -> str:
        """The digest of its body as records of WARC files have it."""
        return "sha1:" + base64.b32encode(hashlib.sha1(self.body, usedforsecurity=False).digest()).decode()


@dataclass
class Page:
    """A fetched page on its way to storage.

    Attributes:
        url: the address it was fetched from, after redirects.
        html: its bytes as they came.
        content_type: what the server says that these bytes are.
        body_digest: digest of these bytes; None where the page is not compared, so that they
            are not taken for known by the next crawl.
        fetched: when it was fetched.
        depth: how many links from the start.
        referrer: the page whose link led here.
        text: the main text; None where the page could not be analysed, and where these bytes were known already,
            until storage fills it in.
        extraction: how the text was found: by trafilatura's `fast` or `full` mode, or as all text of the `page`.
        page_characters: how long all text of the page is but that of navigation and other frame.
        signature: the text's signature; None where these bytes were known already.
        unread: the bytes again, where they were known already and no text was taken from them: should
            they not be known any more when the page is decided, they are analysed then.
        canonical: the address that the page names as its own.
        exchange: what went over the wire for it, where that is recorded.
        verdict: the verdict on its text, once there is one; a page that is not compared gets none.
        problem: why the page is not compared with others; of a stored one also what of its text could not be read.
        etag: what the server calls this version, if it says so.
        last_modified: since when the server has this version, if it says so.
        title: its title; of pages that are kept that of their metadata, which alone have author, date, language and
            description.
        author: who wrote it.
        date: when it was published, as YYYY-MM-DD.
        language: its language, as the page says.
        description: what its metadata say it is about.
        run: the run that stored it.
    """

    url: str
    html: bytes = field(repr=False)
    fetched: datetime
    content_type: str | None = field(default=None, repr=False)
    body_digest: bytes | None = field(default=None, repr=False)
    depth: int = 0
    referrer: str | None = None
    text: str | None = field(default=None, repr=False)
    extraction: str | None = None
    page_characters: int | None = None
    signature: Signature | None = field(default=None, repr=False)
    unread: bytes | str | None = field(default=None, repr=False)
    canonical: str | None = None
    exchange: Exchange | None = field(default=None, repr=False)
    verdict: str | None = None
    problem: str | None = None
    etag: str | None = field(default=None, repr=False)
    last_modified: str | None = field(default=None, repr=False)
    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = None
    description: str | None = field(default=None, repr=False)
    run: str | None = None

    def take(self, main: MainText) -> None:
        """Take on the text that was found, and how it was found."""
        self.text, self.extraction, self.page_characters = main.text, main.how, main.page_characters


class UnexaminedPage(Page):
    """A page that is not compared with others: it could not be analysed, is not whole, or has no content."""


class OverLimit(DropItem):
    """As many pages as `max_pages` allows are kept already."""


class NotStored(DropItem):
    """The database failed; the next crawl of this page stores it."""


class Unseen(DropItem):
    """A duplicate whose server said that it is the same as before, when that was not known any more."""


def is_page(kind: str | None) -> bool:
    """Say whether requests of a kind lead to pages."""
    return kind in (PAGE, ARCHIVED, *AGAIN)


def referrer_of(request: Request | None) -> str | None:
    """Return the page whose link has led to a request; None where no page has, or it is not known."""
    referrer = request.headers.get("Referer") if request is not None else None
    return referrer.decode("latin-1") if referrer else None


@contextmanager
def stopping(stopper: CrawlStopper) -> Iterator[None]:
    """Let a database error stop the crawl; what comes behind it in the block is not done."""
    try:
        yield
    except DatabaseError as error:
        stopper.stop(error, "database_error")


def has_failed(crawler: Crawler) -> bool:
    """Say whether a crawl that is over has not succeeded."""
    return crawler.stats is not None and crawler.stats.get_value(FAILED) is not None


def read_setting(crawler: Crawler, name: str, default: T, convert: Callable[[str, Any], T]) -> T:
    """Return a setting as it is read from its name and value; a wrong one ends the crawl before it begins."""
    value = crawler.settings.get(name)
    try:
        return default if value is None else convert(name, value)
    except SettingsError as error:
        refuse_to_start(error)


def has_bad_certificate(error: BaseException) -> bool:
    """Say whether a request was not made because the host could not show a certificate that holds."""
    return isinstance(error, DownloadFailedError) and _BAD_CERTIFICATE.search(str(error)) is not None


def is_away(error: BaseException) -> bool:
    """Say whether a request failed since its host is away, as far as anybody can know."""
    return isinstance(error, _AWAY) and not has_bad_certificate(error)


def is_mended_by_time(status: int) -> bool:
    """Say whether another answer may come later in the place of one with this status."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def reason_of(error: BaseException) -> tuple[str, str]:
    """Return why a request led to no page, and a detail or ""."""
    if isinstance(error, HttpError):
        return f"http_{error.response.status}", ""
    if isinstance(error, IgnoreRequest):
        message = str(error)
        if error.__cause__ is not None and message.startswith(ROBOTS_UNKNOWN):
            return reason_of(error.__cause__)
        return next((reason for word, reason in _IGNORED.items() if word in message), "ignored"), message
    if has_bad_certificate(error):
        return "bad_certificate", ""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason, str(error)
    return "failed", f"{type(error).__name__}: {error}"
