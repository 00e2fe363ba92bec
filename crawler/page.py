"""The item of a crawl, a page on its way to storage, and the exceptions of the pipelines."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from scrapy.exceptions import DropItem

from dedup import Signature
from dedup.signature.extraction import MainText

DESCRIBED = ("title", "author", "date", "language", "description")
"""The fields that are metadata, which are looked for in pages that are kept: they cost as much as the text."""

EXTRACTED = ("text", "extraction", "page_characters")
"""The fields that `Page.take` fills in."""

Pairs = Sequence[tuple[str, str]]


# No stat that the processes of a run add up: whoever goes on with it stores the page.
NOT_STORED = "pages/not_stored"
"""The stat that counts what passed and could not be stored."""


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
    """A duplicate whose server said that it is the same as before, when that was not known any more; or erased."""
