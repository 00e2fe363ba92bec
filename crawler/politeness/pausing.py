"""The pace of hosts, and requests that fail because of theirs: it is left alone, and they go back to the frontier."""

from __future__ import annotations

import logging
import time
from http import HTTPStatus
from typing import Self
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.core.downloader import Downloader, Slot
from scrapy.crawler import Crawler
from scrapy.extensions.throttle import AutoThrottle
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached

from crawler.politeness.hosts import FAILED, Hosts, host_of, is_this_machine, retry_after
from crawler.politeness.robots import RobotsUnreachableError
from crawler.reasons import has_bad_certificate, is_away, reason_of
from crawler.request_meta import RESOURCE, ROW, STATIC

logger = logging.getLogger(__name__)


# They speak of the host, and not of the page alone.
_SENT_AWAY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_OTHER_FAILURES = (408, *range(500, 600))
MOST_FAILURES = 6
"""How often a page may fail while its host answers, if only for robots.txt, before it is skipped."""


class HostDownloader(Downloader):
    """Scrapy's downloader; another port is another host to it, as it is to the frontier: see `host_of`."""

    def get_slot_key(self, request: Request) -> str:
        key = super().get_slot_key(request)
        return host_of(request) if key == urlparse_cached(request).hostname else key


class Pace(AutoThrottle):
    """Extension, in the place of Scrapy's AutoThrottle: the least delay of a host holds, whatever its answers say.

    - It is the greatest of `DOWNLOAD_DELAY`, the host's `Crawl-delay` and what it has taught by 429, see `Hosts`.
    - A host that answers 304 is asked as fast as one that answers 200.
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
        # A re-crawl gets hardly anything else, and Scrapy takes it for an error, of which many may come fast.
        is_unchanged = response.status == HTTPStatus.NOT_MODIFIED
        super()._adjust_delay(slot, latency, response.replace(status=HTTPStatus.OK) if is_unchanged else response)
        slot.delay = max(slot.delay, self._hosts.least_delay(host_of(response)))


class PostponedError(Exception):
    """A request that is not made now, since its host is left alone."""


class PausingMiddleware:
    """Downloader middleware: what a host cannot serve now is fetched later.

    - A host that answers 429 or 503 is left alone at once, for as long as Retry-After says, else for longer and longer;
      one that answers otherwise with 5xx, not in time, or not at all, after the third request in a row.
    - What was refused, or was about to be asked for, goes back to the frontier.
    - A page is skipped if it fails again (`RETRY_TIMES`) though its host has served others that were asked for after
      it. One that gets 429 or 503, or whose host has answered nothing but robots.txt, is skipped once it has failed
      `MOST_FAILURES` times, each time after another answer. While a host is down that does not count.
    - It has to be closer to the downloader than Scrapy's middlewares for retries and redirects.
    - Stats: `crawler/put_back`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hosts = Hosts.of(crawler)
        self._retries = crawler.settings.getint("RETRY_TIMES")
        self._asked: WeakKeyDictionary[Request, float] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        if ROW in request.meta and host_of(request) in self._hosts.resting:
            return self._put_back(request)
        self._asked[request] = time.monotonic()
        return None

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        seconds = request.meta.get("download_latency")
        if seconds is None:  # nobody was asked
            return response
        if response.status in (*_SENT_AWAY, *_OTHER_FAILURES):
            why = f"http {response.status}"
            return self._failed(request, why, response.status, retry_after(response)) or response
        self._hosts.note_answer(host_of(request), seconds, is_page=ROW in request.meta)
        return response

    async def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if isinstance(exception, PostponedError):
            return self._put_back(request)
        if isinstance(exception, RobotsUnreachableError):
            return self._failed(request, exception.why, exception.status, exception.requested, is_page=False)
        if has_bad_certificate(exception):
            request.meta["dont_retry"] = True
        if is_away(exception):
            return self._failed(request, reason_of(exception)[0].replace("_", " "))
        return None

    def _failed(
        self,
        request: Request,
        why: str,
        status: int | None = None,
        requested: float | None = None,
        *,
        is_page: bool = True,
    ) -> Request | None:
        """Return a request that goes back to the frontier; None for one that is to be skipped, or is not of it."""
        host, is_sent_away = host_of(request), status in _SENT_AWAY
        if ROW not in request.meta:
            # At once it would be refused again.
            request.meta["dont_retry"] = request.meta.get("dont_retry", False) or is_sent_away
            return None
        state, now = self._hosts[host], time.monotonic()
        times, since, counted = request.meta.get(FAILED, (0, self._asked.get(request, now), 0.0))
        if counted > now:  # of a process before the machine was started anew
            since, counted = now, 0.0
        # Else nothing has changed since.
        counts = not times or state.answered > counted
        if counts:
            times += 1
            request.meta[FAILED] = (times, since, now)
        may_be_of_page = is_page and not is_sent_away
        if times >= MOST_FAILURES or (may_be_of_page and state.served > since and times > self._retries):
            request.meta["dont_retry"] = True
            return None
        if status == HTTPStatus.TOO_MANY_REQUESTS and times == 1 and host not in self._hosts.resting:
            slot = self._crawler.engine.downloader.slots.get(host)
            self._hosts.slow_down(host, slot.delay if slot else 0.0)
        is_of_page = may_be_of_page and counts
        if self._hosts.note_failure(host, why, requested, answers=status is not None, is_of_page=is_of_page):
            self._call_back(host)
        return self._put_back(request, lower=int(is_page))

    def _call_back(self, host: str) -> None:
        """Let what waits for its turn at a host fail, so that it goes back to the frontier."""
        slot = self._crawler.engine.downloader.slots.get(host)
        if slot is None:
            return
        for each in [each for each in slot.queue if ROW in each[0].meta]:
            slot.queue.remove(each)
            each[1].errback(PostponedError())

    def _put_back(self, request: Request, *, lower: int = 0) -> Request:
        """Return the request as the scheduler knows it again.

        Args:
            request: the request.
            lower: by how much its priority is lower, so that others are asked for first.
        """
        self._crawler.stats.inc_value("crawler/put_back")
        return request.replace(priority=request.priority - lower, dont_filter=True)
