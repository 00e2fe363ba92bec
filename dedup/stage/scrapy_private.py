"""The private parts of Scrapy's engine that are used: each in a function, with the reason.

There is no public way to any of them. They are the same in Scrapy 2.14 to 2.19, and a test looks at each. Those of the
downloader, which are not, stand with the crawler: of the stage any Scrapy project loads all. Classes that are extended
have their private methods overridden where that is: `crawler.feeds`, `crawler.politeness.pausing`.
"""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler

# ruff: noqa: SLF001


def requests_in_progress(crawler: Crawler) -> set[Request] | None:
    """Return the requests of which anything is left to do; all signals come before their callbacks have ended.

    None where the engine has no spider: before and behind that there are no requests.
    """
    slot = crawler.engine._slot if crawler.engine else None
    return None if slot is None else slot.inprogress


def is_closing(crawler: Crawler) -> bool:
    """Whether a crawl ends; the signals are sent only once all requests are done."""
    engine = crawler.engine
    return engine is None or not engine.running or engine._slot is None or engine._slot.closing is not None


def wake_engine(crawler: Crawler) -> None:
    """Have the engine ask its scheduler, or end the crawl, now: by itself it looks every five seconds."""
    if crawler.engine is not None and crawler.engine._slot is not None:
        crawler.engine._slot.nextcall.schedule()


def items_under_way(crawler: Crawler) -> int:
    """Return how many items are in the pipelines; of those of `start()` and `scrapy parse` there is no signal."""
    slot = crawler.engine.scraper.slot if crawler.engine else None
    return 0 if slot is None else slot.itemproc_size


def let_scraper_close(crawler: Crawler) -> None:
    """Have the engine go on closing, now that no item is under way: it looks only when a response is done."""
    scraper = crawler.engine.scraper if crawler.engine else None
    if scraper is None or scraper.slot is None or requests_in_progress(crawler) is None:
        return
    if scraper.slot.closing is None:
        wake_engine(crawler)
    elif not scraper.slot.closing.called:
        scraper._check_if_closing()
