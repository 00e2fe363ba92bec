"""The frontier with many URLs queued, beside Scrapy's own scheduler with disk queues.

`python -m benchmarks.frontier SCHEDULER COUNT FOLDER` is one scheduler in a process of its own: it is filled, a part of
it is emptied, and what that took is printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.test import get_crawler

from benchmarks.processes import output_of, scratch_folder
from crawler.frontier.scheduler import FrontierScheduler
from crawler.spider.site import SiteSpider
from settings import default

_SCHEDULERS = {
    "frontier": "crawler.frontier.scheduler.FrontierScheduler",
    "Scrapy, disk queues": "scrapy.core.scheduler.Scheduler",
}
DEQUEUED = 20_000
_AT_ONCE = 100
_AHEAD = 5_000


def run(*, n: int = 1_000_000) -> dict[str, Any]:
    """Queue so many URLs in each scheduler, take some of them, and print the figures.

    Args:
        n: how many URLs.

    Returns:
        The figures.

    Raises:
        ValueError: a scheduler failed.
    """
    figures = {label: _measure_in_process(name, n) for label, name in _SCHEDULERS.items()}
    print(f"{'':20} {'queued':>10} {'memory':>9} {'enqueue':>9} {'dequeue':>9} {'in the event loop':>18} {'99%':>9}")
    for label, found in figures.items():
        print(
            f"{label:20} {found['queued']:10,.0f} {found['memory_mb']:6,.0f} MB {found['enqueue_ms']:6.3f} ms "
            f"{found['dequeue_ms']:6.3f} ms {found['dequeue_in_event_loop_ms']:15.3f} ms "
            f"{found['dequeue_99_percent_ms']:6.3f} ms"
        )
    return figures


def _measure_in_process(name: str, n: int) -> dict[str, float]:
    with scratch_folder() as folder:
        printed = output_of([sys.executable, "-m", "benchmarks.frontier", name, str(n), str(folder)])
    measured: dict[str, float] = json.loads(printed.splitlines()[-1])
    return measured


class _Engine(SimpleNamespace):
    """What schedulers need of an engine: a request is dealt with as soon as the next one is asked for."""

    def __init__(self) -> None:
        super().__init__(
            _slot=SimpleNamespace(inprogress=set(), nextcall=SimpleNamespace(schedule=lambda: None)),
            scraper=SimpleNamespace(slot=None, itemproc=SimpleNamespace(middlewares=[])),
            downloader=SimpleNamespace(
                slots={}, active=set(), total_concurrency=16, get_slot_key=lambda request: "a.example"
            ),
        )


def main() -> None:
    """Measure the scheduler named on the command line."""
    name, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    print(json.dumps(asyncio.run(_measure(name, count, folder))))


async def _measure(name: str, count: int, folder: Path) -> dict[str, float]:
    crawler = _make_crawler(name, folder)
    spider: Any = crawler.spider
    process = psutil.Process()
    before = process.memory_info().rss
    scheduler = await _open(name, crawler)
    # Scrapy's metaclass takes every scheduler for an instance of every other one.
    has_thread = type(scheduler) is FrontierScheduler
    filling = time.perf_counter()
    for number, request in enumerate(_requests(spider, count)):
        scheduler.enqueue_request(request)
        if has_thread and number % _AT_ONCE == 0:
            await _wait_for_thread(crawler, number - _AHEAD)
    if has_thread:
        await _wait_for_thread(crawler, count)
    filled = time.perf_counter()
    memory = process.memory_info().rss - before
    times, waited = await _empty(scheduler)
    emptied = time.perf_counter()
    peak = process.memory_info().rss - before
    await _close(scheduler)
    times.sort()
    return {
        "queued": count,
        "enqueue_ms": (filled - filling) * 1000 / count,
        "dequeue_ms": (emptied - filled) * 1000 / len(times),
        "dequeue_in_event_loop_ms": sum(times) * 1000 / len(times),
        "dequeue_99_percent_ms": times[len(times) * 99 // 100] * 1000,
        "waits": waited,
        "memory_mb": max(memory, peak) / 1e6,
    }


async def _wait_for_thread(crawler: Crawler, count: int) -> None:
    # A crawl does not find links as fast as a loop makes them.
    while crawler.stats.get_value("scheduler/enqueued", 0) < count:
        await asyncio.sleep(0.001)


async def _empty(scheduler: BaseScheduler) -> tuple[list[float], int]:
    times: list[float] = []
    waited = 0
    while len(times) < DEQUEUED and scheduler.has_pending_requests():
        started = time.perf_counter()
        request = scheduler.next_request()
        if request is None:
            waited += 1
            await asyncio.sleep(0.001)
        else:
            times.append(time.perf_counter() - started)
    return times, waited


def _make_crawler(name: str, folder: Path) -> Crawler:
    values = {key: value for key, value in vars(default).items() if key.isupper()}
    values |= {"DEDUP_DATABASE_URL": f"sqlite:///{folder / 'crawl.db'}", "SCHEDULER": name}
    values |= {
        "JOBDIR": str(folder / "job"),
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "TWISTED_REACTOR_ENABLED": False,
        "LOG_ENABLED": False,
    }
    crawler = get_crawler(SiteSpider, values)
    crawler.spider = SiteSpider.from_crawler(crawler, url="https://a.example/")
    crawler.engine = _Engine()  # type: ignore[assignment]
    return crawler


async def _open(name: str, crawler: Crawler) -> BaseScheduler:
    scheduler: BaseScheduler = build_from_crawler(load_object(name), crawler)
    if (opening := scheduler.open(crawler.spider)) is not None:  # type: ignore[arg-type]
        await ensure_awaitable(opening)
    if hasattr(scheduler, "spider_opened"):
        await scheduler.spider_opened()
    return scheduler


async def _close(scheduler: BaseScheduler) -> None:
    if (closing := scheduler.close("shutdown")) is not None:
        await ensure_awaitable(closing)


def _requests(spider: SiteSpider, count: int) -> Iterator[Request]:
    for number in range(count):
        request = spider.make_request("page", f"https://a.example/section/{number % 97}/page-{number}.html", 3)
        request.priority = -3
        request.headers["Referer"] = f"https://a.example/section/{number % 97}/"
        yield request


if __name__ == "__main__":
    main()
