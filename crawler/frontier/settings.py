"""The settings of the frontier."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy.crawler import Crawler

from crawler.switches import read_switch
from dedup.errors import SettingsError
from dedup.stage.failures import read_settings, refuse_to_start

MAX_ATTEMPTS = 5
"""How many processes may end while a URL is under way before it is given up."""


@dataclass(frozen=True)
class FrontierSettings:
    """What the frontier is told.

    Attributes:
        database_url: where its tables are: `CRAWLER_DATABASE_URL`, the database of the pages.
        lock_timeout: seconds to wait for another writer: `DEDUP_LOCK_TIMEOUT`.
        run: name of the run: `DEDUP_RUN`; "" for one of its own.
        is_shared: whether other processes crawl the same run at the same time: `CRAWLER_SHARED_RUN`.
    """

    database_url: str
    lock_timeout: float
    run: str
    is_shared: bool

    @classmethod
    def read(cls, crawler: Crawler) -> FrontierSettings:
        """Read the settings of a crawl.

        Raises:
            SystemExit: one of them cannot be used; see `refuse_to_start`.
        """
        settings = read_settings(crawler)
        url = crawler.settings.get("CRAWLER_DATABASE_URL") or settings.database_url
        is_shared = read_switch(crawler, "CRAWLER_SHARED_RUN", default=False)
        if is_shared and not settings.run:
            refuse_to_start(SettingsError("CRAWLER_SHARED_RUN needs DEDUP_RUN, the name of the run that is shared"))
        return cls(url, settings.lock_timeout, settings.run, is_shared)
