"""A thread in the place of the worker processes of a crawl, which take a second to start."""

from __future__ import annotations

from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from crawler.runtime import Workers
from dedup.workers.pool import WorkerPool
from settings import default, site


class ThreadWorkers(Workers):
    """Extension: runs what worker processes would run in a thread."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(WorkerPool(0))
        crawler.signals.connect(extension.close, signals.spider_closed)
        return extension


EXTENSIONS: dict[str, int | None] = {
    **default.EXTENSIONS,
    **site.EXTENSIONS,
    "crawler.runtime.Workers": None,
    "tests.thread_workers.ThreadWorkers": 100,
}
"""Those of the spider `site`, with a thread; a command line has to name all of them."""
