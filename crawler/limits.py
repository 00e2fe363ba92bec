"""How many pages are kept at most: of a crawl, of a host, and of addresses that are alike."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.page import OverHostLimit, OverLimit, Page
from crawler.pages.pipeline import StoragePipeline
from crawler.politeness.hosts import host_at
from crawler.reasons import OVER_HOST_LIMIT
from crawler.runs import name_of_run
from crawler.skipping import skip


def kind_of(url: str) -> str:
    """Return what addresses are alike in: host, folder, and the names of parameters."""
    parts = urlsplit(url)
    names = "&".join(sorted({f"{name}=*" for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    folder = parts.path.rpartition("/")[0]
    return f"{parts.scheme}://{parts.netloc}{folder}/*{'?' if names else ''}{names}"


@dataclass
class _Budget:
    """How many pages may be kept, are kept, and are being looked at."""

    limit: float
    kept: int = 0
    under_way: int = 0

    @property
    def remaining(self) -> float:
        return max(0, self.limit - self.kept)

    @property
    def is_spent(self) -> bool:
        return not self.remaining

    @property
    def may_be_spent(self) -> bool:
        return self.kept + self.under_way >= self.limit


class PageLimitPipeline:
    """Item pipeline, before deduplication: ends the crawl once `max_pages` pages are kept, and a host at its own limit.

    Where workers share a run, each keeps to it by itself, and some more may be kept. Duplicates do not count, so a page
    may only be looked at while it would still fit if it and all that are being looked at were kept; the others wait.

    Addresses that are alike wait for others once their pages have taken their share of `max_pages`.
    """

    def __init__(self, crawler: Crawler) -> None:
        arguments = crawler.spider.arguments  # type: ignore[union-attr]
        self._crawler = crawler
        self._limit: int | None = arguments.max_pages
        self._of_host: int | None = arguments.max_pages_per_host
        self._share: float | None = arguments.max_share
        self._all = _Budget(math.inf if self._limit is None else self._limit)
        self._hosts: dict[str, _Budget] = {}
        self._asked: Counter[str] = Counter()
        self._changed = asyncio.Condition()
        self._counted: set[int] = set()
        self._held_back: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls(crawler)
        if pipeline._limit is None and pipeline._of_host is None:
            raise NotConfigured
        crawler.signals.connect(pipeline.item_scraped, signals.item_scraped)
        crawler.signals.connect(pipeline.item_dropped, signals.item_dropped)
        crawler.signals.connect(pipeline.item_error, signals.item_error)
        return pipeline

    async def process_item(self, item: Page) -> Page:
        async with self._changed:
            budgets = self._budgets(item.url)
            while any(each.may_be_spent for each in budgets) and not any(each.is_spent for each in budgets):
                await self._changed.wait()
            spent = next((each for each in budgets if each.is_spent), None)
            if spent is None:
                for each in budgets:
                    each.under_way += 1
                return item
            if spent is self._all:
                self._end()
                raise OverLimit(f"{self._limit} pages are kept", log_level="DEBUG")
        detail = f"{self._of_host} pages of the host are kept"
        await skip(self._crawler, item.url, OVER_HOST_LIMIT, detail)
        raise OverHostLimit(detail, log_level="DEBUG")

    async def recall(self) -> None:
        """Count what the run has kept before it went on: in all, of each host, and of addresses that are alike."""
        revisits = StoragePipeline.revisits_of(self._crawler)
        kept = [] if revisits is None else await revisits.read_kept(name_of_run(self._crawler))
        for url in kept:
            self._asked[kind_of(url)] += 1
            self._budget_of(host_at(url)).kept += 1
            self._counted.add(hash(url))
        # A process that was killed may have kept more than it had noted; of other parts what is kept is heard of later.
        if not self._crawler.stats.get_value("frontier/is_shared"):
            self._all.kept = max(0, len(kept) - int(self._crawler.stats.get_value("frontier/kept_before", 0)))

    async def item_scraped(self, item: Page) -> None:
        await self._settle(item, kept=1)
        if self._all.is_spent:
            self._end()

    async def item_dropped(self, item: Page, exception: BaseException) -> None:
        if not isinstance(exception, (OverLimit, OverHostLimit)):
            # A copy takes nothing of what may be kept.
            self._asked[kind_of(item.url)] -= 1
            await self._settle(item, kept=0)

    async def item_error(self, item: Page) -> None:
        await self._settle(item, kept=0)

    @property
    def remaining(self) -> float:
        """How many more pages may be kept."""
        self._take_elsewhere()
        return self._all.remaining

    def refuses(self, url: str) -> bool:
        """Return whether as many pages of its host are kept as may be, and this is none of them."""
        return any(each is not self._all and each.is_spent for each in self._budgets(url))

    def filled(self, under_way: Iterable[str]) -> set[str]:
        """Return of the hosts of what is under way those of which no more are to be asked for until some has ended."""
        counts = Counter(under_way if self._of_host is not None else ())
        return {host for host, count in counts.items() if 0 < self._budget_of(host).remaining <= count}

    def holds_back(self, url: str) -> bool:
        """Note that an address is to be asked for; return whether those like it have taken their share.

        Then others come first. What is under way counts: it may be kept.
        """
        if self._share is None or self._limit is None or hash(url) in self._counted:
            return False
        kind = kind_of(url)
        if self._asked[kind] >= max(1, self._share * self._limit):
            self._held_back.add(kind)
            return True
        self._asked[kind] += 1
        return False

    @property
    def held_back(self) -> dict[str, int]:
        """How many addresses were asked for before others came first, by what they are alike in, most first."""
        return {kind: count for kind, count in self._asked.most_common() if kind in self._held_back}

    def _budgets(self, url: str) -> list[_Budget]:
        """Return what a page counts for, if it is kept: nothing, where the run had kept it before it went on."""
        self._take_elsewhere()
        if hash(url) in self._counted:
            return []
        return [self._all] if self._of_host is None else [self._all, self._budget_of(host_at(url))]

    def _budget_of(self, host: str) -> _Budget:
        return self._hosts.setdefault(host, _Budget(self._of_host or math.inf))

    def _take_elsewhere(self) -> None:
        # What another process has kept counts, where this one goes on with its run.
        if self._limit is not None:
            self._all.limit = self._limit - int(self._crawler.stats.get_value("frontier/kept_before", 0))

    def _end(self) -> None:
        if self._closing is None:
            # Closing waits for all items, this one too.
            self._closing = asyncio.create_task(self._crawler.engine.close_spider_async(reason="max_pages"))

    async def _settle(self, item: Page, kept: int) -> None:
        async with self._changed:
            for each in self._budgets(item.url):
                each.under_way -= 1
                each.kept += kept
            if not kept and hash(item.url) in self._counted:
                self._counted.remove(hash(item.url))
                for each in self._budgets(item.url):
                    each.kept -= 1
            self._changed.notify_all()
