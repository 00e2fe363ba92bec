"""The worker processes of a crawl, shared by the spider and the storage stage."""

from __future__ import annotations

import os
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from crawler.switches import read_number
from dedup.errors import SettingsError
from dedup.stage.failures import close_when_forced
from dedup.warming import prepare_crawl
from dedup.workers.pool import PRELOAD, WorkerPool, load_ahead

_PRELOAD = (*PRELOAD, "crawler.pages.extraction")


class Workers:
    """Extension: a pool of `CRAWLER_WORKERS` processes (default: one a core).

    `CRAWLER_EXTRACTION_TIMEOUT` is how many seconds one page may take.

    Attributes:
        pool: the pool.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        workers = read_number(crawler, "CRAWLER_WORKERS", os.cpu_count() or 1)
        extension = cls(WorkerPool(workers, read_number(crawler, "CRAWLER_EXTRACTION_TIMEOUT", 30.0), _PRELOAD))
        close_when_forced(extension.pool)
        # Before anything is fetched: loading takes a second.
        prepare_crawl()
        load_ahead(_PRELOAD)
        crawler.signals.connect(extension.close, signals.spider_closed)
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> WorkerPool:
        """Return the pool of a crawl.

        Raises:
            SettingsError: the extension is not among EXTENSIONS.
        """
        extension = crawler.get_extension(cls)
        if extension is None:
            raise SettingsError("the extension crawler.runtime.workers.Workers is missing from EXTENSIONS")
        return extension.pool

    def close(self) -> None:
        self.pool.close()
