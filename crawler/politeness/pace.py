"""How fast each host is asked: as AutoThrottle has it, and never faster than the host may be asked."""

from __future__ import annotations

from typing import Self

from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.extensions.throttle import AutoThrottle
from scrapy.http import Response

from crawler.page import RESOURCE, STATIC
from crawler.politeness.hosts import Hosts, host_of
from crawler.politeness.rules import is_this_machine


class Pace(AutoThrottle):
    """Extension, in the place of Scrapy's AutoThrottle: the least delay of a host holds, whatever its answers say.

    - It is the greatest of `DOWNLOAD_DELAY`, the host's `Crawl-delay` and what it has taught by 429, see `Hosts`.
    - With `AUTOTHROTTLE_ENABLED` False nothing else slows requests down.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._is_adapting = crawler.settings.getbool("AUTOTHROTTLE_ENABLED")
        if self._is_adapting:
            super().__init__(crawler)
        self.crawler = crawler
        self._hosts = Hosts.of(crawler)
        crawler.signals.connect(self.request_reached_downloader, signals.request_reached_downloader)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def request_reached_downloader(self, request: Request) -> None:
        """Set the delay of a slot before it lets a request go: it may be new, or forgotten since its last request."""
        slot = self.crawler.engine.downloader.slots[request.meta["download_slot"]]
        if request.meta.get(RESOURCE) in STATIC:
            slot.delay = 0.0
            return
        host = host_of(request)
        if not slot.lastseen:
            slot.delay = self._start_delay() if self._is_adapting and not is_this_machine(host) else 0.0
        slot.delay = max(slot.delay, self._hosts.least_delay(host))

    def _min_delay(self) -> float:
        # Not of all hosts alike.
        return 0.0

    def _adjust_delay(self, slot: Slot, latency: float, response: Response) -> None:
        super()._adjust_delay(slot, latency, response)
        slot.delay = max(slot.delay, self._hosts.least_delay(host_of(response)))
