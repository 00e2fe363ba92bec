"""Pages that are not stored, and why: one count and one line each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from crawler.reasons import ROBOTS_TXT
from dedup.signature.normalise import clean
from dedup.stage.pipelines import NearDuplicatePipeline

logger = logging.getLogger(__name__)

PREFIX = "crawler/skipped/"

NAMED = 5
"""How many skipped pages are named on the screen."""


class SkippedPage(NamedTuple):
    """A page that was not stored.

    Attributes:
        url: its address.
        reason: why, in one word, as in the stats.
        detail: what else is known of it; "" for nothing.
        referrer: the page that links to it; None where no page does, or it is not known.
    """

    url: str
    reason: str
    detail: str
    referrer: str | None


def skip(crawler: Crawler, url: str, reason: str, detail: str = "", *, request: Request | None = None) -> None:
    """Count a page that is not stored, name it in the log, on the screen and in the report.

    Args:
        crawler: the crawl.
        url: the page's address.
        reason: why, in one word, as in the stats: `crawler/skipped/REASON`.
        detail: what else is known of it.
        request: the request for it, which says where it is linked from.
    """
    crawler.stats.inc_value(PREFIX + reason)
    page = SkippedPage(url, reason, _with_origin(url, detail, request), _referrer_of(request))
    told = f"skipped {clean(url)}: {reason.replace('_', ' ')}"
    logger.info("%s", f"{told} ({' '.join(clean(page.detail).split())})" if page.detail else told)
    _note(crawler, page)
    if reason != ROBOTS_TXT and len(named := _named.setdefault(crawler, [])) < NAMED:
        named.append(page)


def named_pages(crawler: Crawler) -> Sequence[SkippedPage]:
    """Return the first skipped pages of a crawl, without those that robots.txt forbids."""
    return _named.get(crawler, ())


def _note(crawler: Crawler, page: SkippedPage) -> None:
    """Let the dedup stage note a page for its report, which it writes with others."""
    stage = crawler.get_item_pipeline(NearDuplicatePipeline)
    if stage is not None:
        stage.note_skipped(page.url, page.reason.replace("_", " "), page.detail, page.referrer)


def _referrer_of(request: Request | None) -> str | None:
    referrer = request.headers.get("Referer") if request is not None else None
    return referrer.decode("latin-1") if referrer else None


def _with_origin(url: str, detail: str, request: Request | None) -> str:
    """Add the address that stands in the link, where a redirect has led to another."""
    origins = request.meta.get("redirect_urls", []) if request is not None else []
    if not origins or origins[0] == url:
        return detail
    return f"redirected from {origins[0]}" + (f"; {detail}" if detail else "")


_named: WeakKeyDictionary[Crawler, list[SkippedPage]] = WeakKeyDictionary()
