"""What a response comes to: a page, a redirect, or nothing that is kept."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from scrapy.http import HtmlResponse, Response

from crawler.pages.extraction import Extraction, LinkRules
from crawler.pages.reading import ReadPage
from crawler.request_meta import LAST_VISIT, PASSED_OVER
from crawler.settings import JavaScript
from crawler.spider.conditional import is_known_duplicate
from crawler.spider.reader import PageReader
from crawler.spider.sitemaps import SitemapError, SitemapReader, has_feed
from crawler.spider.soft_errors import MAYBE_GONE, NOT_FOUND, SoftErrors
from dedup.console import plain
from dedup.readers.responses import NOT_HTML
from dedup.signature.pdf import is_pdf

logger = logging.getLogger(__name__)

NEEDS_JAVASCRIPT = "needs_javascript"
"""The reason for which a page is skipped whose text would have to be written by JavaScript."""

NOINDEX = "noindex"
"""The reason for which a page is skipped that asks not to be stored."""


@dataclass(frozen=True)
class Outcome:
    """What a response has come to: a page that is kept if it is no copy, a redirect, or a reason to skip it.

    Nothing of them is what was passed over, since it was seen a short time ago.

    Attributes:
        read: what it holds; None where that was not read.
        is_page: whether that is a page.
        redirect: the address that it leads to, as a redirect does.
        reason: why it is skipped, in one word.
        detail: more of it, or "".
        links: the addresses that it links to and that are followed.
        leads_to: the address that a page leads to that says more, too.
    """

    read: ReadPage | None = None
    is_page: bool = False
    redirect: str | None = None
    reason: str | None = None
    detail: str = ""
    links: Sequence[str] = ()
    leads_to: str | None = None


class Outcomes:
    """Says what responses come to, wherever they are from.

    Args:
        rules: which links are its own, and whether pages may ask not to be stored.
        reader: reads pages.
        reads_pdf: whether PDFs are pages.
        sitemaps: reads feeds.
        soft_errors: knows answers that hold no content.
        follows: whether it is gone on to where a page leads.
    """

    def __init__(
        self,
        rules: LinkRules,
        reader: PageReader,
        sitemaps: SitemapReader,
        soft_errors: SoftErrors,
        *,
        reads_pdf: bool,
        follows: bool,
    ) -> None:
        self._rules = rules
        self._reader = reader
        self._sitemaps = sitemaps
        self._soft_errors = soft_errors
        self._reads_pdf = reads_pdf
        self._follows = follows
        self._has_warned_of_shells = False

    async def of(self, response: Response, *, with_links: bool, with_feeds: bool) -> Outcome:
        """Return what a response comes to, with its links where they are wanted, and the feeds that it names."""
        if is_known_duplicate(response):
            known = ReadPage(response, response.meta[LAST_VISIT].body_digest, Extraction())
            return Outcome() if PASSED_OVER in response.flags else Outcome(known, is_page=True)
        if not response.body.strip():
            return Outcome(reason="empty")
        is_feed = has_feed(response.body)
        if is_feed and with_links:
            return await self._of_feed(response)
        is_other = not isinstance(response, HtmlResponse) or response.body.startswith(NOT_HTML)
        is_other_pdf = is_other and is_pdf(response.body)
        if is_feed or (is_other and not (self._reads_pdf and is_other_pdf)):
            return Outcome(reason="not_html", detail="CRAWLER_PDF = True reads it" if is_other_pdf else "")
        read = await self._reader.read(response, with_links=with_links)
        extraction = read.extraction
        if extraction.is_move:
            target = extraction.leads_to or ""
            return Outcome(redirect=target) if self._follows else Outcome(reason="moved", detail=target)
        noindex, nofollow = read.directives(self._rules)
        reason = await self._why_none(read, noindex=noindex)
        follows = with_links and not nofollow and reason not in (NOT_FOUND, MAYBE_GONE)
        return Outcome(
            read,
            is_page=reason is None and PASSED_OVER not in response.flags,
            reason=reason,
            detail=(extraction.problem or "") if reason else "",
            links=[*extraction.links, *(extraction.feeds if with_feeds else ())] if follows else (),
            leads_to=extraction.leads_to if follows else None,
        )

    async def _of_feed(self, response: Response) -> Outcome:
        """Return what a feed, or a sitemap, comes to that a page links: its entries are followed."""
        try:
            feed = await self._sitemaps.read(response)
        except SitemapError as error:
            return Outcome(reason="not_html", detail=str(error))
        links = [] if feed.is_index else list(filter(self._rules.allow, feed.urls))
        return Outcome(reason="feed", detail=f"its {len(feed.urls):,} links are followed", links=links)

    async def _why_none(self, read: ReadPage, *, noindex: bool) -> str | None:
        """Return why a page is not stored, in one word; None if it is."""
        was_page = LAST_VISIT in read.response.meta
        if noindex and not was_page:
            return NOINDEX
        reason = await self._why_no_content(read, was_page=was_page)
        # A site that is down may ask for it on all of its pages.
        return NOINDEX if noindex and reason != MAYBE_GONE else reason

    async def _why_no_content(self, read: ReadPage, *, was_page: bool) -> str | None:
        if is_pdf(read.response.body):
            return read.extraction.refused
        if not read.extraction.is_shell:
            return await self._soft_errors.reason(read.response, read.extraction, was_page=was_page)
        if not self._has_warned_of_shells and self._reader.mode_of(read.response.url) is JavaScript.OFF:
            self._has_warned_of_shells = True
            message = "%s would be written by JavaScript: CRAWLER_JAVASCRIPT=when-empty has such pages rendered"
            logger.warning(message, plain(read.response.url))
        return NEEDS_JAVASCRIPT
