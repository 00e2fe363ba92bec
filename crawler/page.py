"""The item of a crawl, a page on its way to storage, and the exceptions of the pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from scrapy.exceptions import DropItem

from dedup import Signature
from dedup.signature.extraction import How, MainText

DESCRIBED = ("title", "author", "date", "language", "description")
"""The fields that are metadata, which are looked for in pages that are kept: they cost as much as the text."""

EXTRACTED = ("text", "extraction", "page_characters")
"""The fields that `Page.take` fills in."""

FOUND = (*DESCRIBED, *EXTRACTED, "markdown")
"""All fields that are found in the bytes of a page."""

# No stat that the processes of a run add up: whoever goes on with it stores the page.
NOT_STORED = "pages/not_stored"
"""The stat that counts what passed and could not be stored."""


def is_named_pdf(url: str) -> bool:
    """Return whether an address ends as those of PDFs do."""
    return urlsplit(url).path.lower().endswith(".pdf")


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
        head: status and headers of the response, as HTTP/1.1 has them.
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
        markdown: its text as Markdown, of pages that are kept if it is asked for.
        run: the run that stored it.
        content_of: when its bytes were fetched, where an earlier run did that; known of what is read from the database.
    """

    url: str
    html: bytes = field(repr=False)
    fetched: datetime
    content_type: str | None = field(default=None, repr=False)
    body_digest: bytes | None = field(default=None, repr=False)
    depth: int = 0
    referrer: str | None = None
    text: str | None = field(default=None, repr=False)
    extraction: How | None = None
    page_characters: int | None = None
    signature: Signature | None = field(default=None, repr=False)
    unread: bytes | str | None = field(default=None, repr=False)
    canonical: str | None = None
    head: bytes | None = field(default=None, repr=False)
    verdict: str | None = None
    problem: str | None = None
    etag: str | None = field(default=None, repr=False)
    last_modified: str | None = field(default=None, repr=False)
    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = None
    description: str | None = field(default=None, repr=False)
    markdown: str | None = field(default=None, repr=False)
    run: str | None = None
    content_of: datetime | None = field(default=None, repr=False)

    def take(self, main: MainText) -> None:
        """Take on the text that was found, and how it was found."""
        self.text, self.extraction, self.page_characters = main.text, main.how, main.page_characters


class UnexaminedPage(Page):
    """A page that is not compared with others: it could not be analysed, is not whole, or has no content."""

    @property
    def not_compared(self) -> str:
        """Why, for the stage."""
        return self.problem or ""


class OverLimit(DropItem):
    """As many pages as `max_pages` allows are kept already."""


class OverHostLimit(DropItem):
    """As many pages of its host as `max_pages_per_host` allows are kept already."""


class NotStored(DropItem):
    """The database failed; the next crawl of this page stores it."""


class Unseen(DropItem):
    """A duplicate whose server said that it is the same as before, when that was not known any more; or erased."""
