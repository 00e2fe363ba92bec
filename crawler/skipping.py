"""Pages of which nothing is kept: each is counted, named in the log and on the screen, and noted for the report."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from crawler.reasons import NOT_FETCHED
from dedup.signature.normalise import clean
from dedup.stage.addresses import referrer_of
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.store.notes import Skipped

logger = logging.getLogger(__name__)

SKIPPED = "crawler/skipped/"
"""How the names of the stats begin that count skipped pages by reasons."""

NAMED = 5
"""How many skipped pages are named on the screen."""


class SkippedPage(NamedTuple):
    """A page that was not stored.

    Attributes:
        url: its address.
        reason: why, in one word, as in the stats.
        referrer: the page that links to it; None where no page does, or it is not known.
    """

    url: str
    reason: str
    referrer: str | None


# Of each crawl the first ones that were asked for.
_named: WeakKeyDictionary[Crawler, list[SkippedPage]] = WeakKeyDictionary()


async def skip(
    crawler: Crawler,
    url: str,
    reason: str,
    detail: str = "",
    *,
    request: Request | None = None,
    referrer: str | None = None,
) -> None:
    """Count a page that is not stored, name it in the log and on the screen; return once it is noted for the report.

    Args:
        crawler: the crawl.
        url: the page's address.
        reason: why, in one word, as in the stats: `crawler/skipped/REASON`.
        detail: what else is known of it.
        request: the request for it, which says where it is linked from.
        referrer: the page that links to it, where there is no request.
    """
    crawler.stats.inc_value(SKIPPED + reason)
    origin = request.meta.get("redirect_urls", [url])[0] if request is not None else url
    if origin != url:  # the address that stands in the link
        detail = f"redirected from {origin}" + (f"; {detail}" if detail else "")
    referrer, words, is_fetched = referrer_of(request) or referrer, reason.replace("_", " "), reason not in NOT_FETCHED
    message = f"skipped {clean(url)}: {words}"
    logger.info("%s", f"{message} ({' '.join(clean(detail).split())})" if detail else message)
    if is_fetched and len(named := _named.setdefault(crawler, [])) < NAMED:
        named.append(SkippedPage(url, reason, referrer))
    stage = crawler.get_item_pipeline(NearDuplicatePipeline)
    if stage is not None:
        await stage.note_skipped(Skipped(url, words, detail, referrer or "", is_fetched))


def named_of(crawler: Crawler) -> list[SkippedPage]:
    """Return the first pages of a crawl that were asked for and skipped."""
    return _named.get(crawler, [])


def count_skipped(stats: StatsCollector, *, fetched: bool) -> dict[str, int]:
    """Return how many pages were skipped, by reasons, the most frequent first: those asked for, or the others."""
    found = [(name.removeprefix(SKIPPED), int(n)) for name, n in stats.get_stats().items() if name.startswith(SKIPPED)]
    counts = dict(sorted(found, key=lambda each: (-each[1], each[0])))
    return {reason: count for reason, count in counts.items() if count and (reason not in NOT_FETCHED) == fetched}


def take_skipped(crawler: Crawler, noted: Mapping[str, int]) -> None:
    """Let the stats of skipped pages be those that are noted of a whole run, by reasons in words."""
    archives = getattr(crawler.spider, "archives", None)
    # What is no page in an archive has no address, and is counted whenever that is read.
    counts = Counter() if archives is None else Counter(archives.skipped)
    counts.update({reason.replace(" ", "_"): count for reason, count in noted.items()})
    names = {name for name in crawler.stats.get_stats() if name.startswith(SKIPPED)}
    for name in names | {SKIPPED + reason for reason in counts}:
        crawler.stats.set_value(name, counts[name.removeprefix(SKIPPED)])
