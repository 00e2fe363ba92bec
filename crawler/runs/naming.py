"""The name of a crawl's run."""

from __future__ import annotations

from scrapy.crawler import Crawler

from dedup.ledger.runs.listing import name_by_time
from dedup.stage.failures import read_settings

_STAT = "dedup/run"


def name_of_run(crawler: Crawler) -> str:
    """Return the name of a crawl's run: that of the dedup stage, else `DEDUP_RUN`, else one made of the time."""
    if not crawler.stats.get_value(_STAT):
        crawler.stats.set_value(_STAT, read_settings(crawler).run or name_by_time())
    return str(crawler.stats.get_value(_STAT))
