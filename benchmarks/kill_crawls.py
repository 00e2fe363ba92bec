"""Crawls that are killed with kill -9 when so many requests have been made, and go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.kill_site import Served
from crawler.cluster import PROJECT, PostgresqlServer, start_worker

DATABASE = "crawl"
_RUN = "killed"
_LONGEST_PAUSE = 0.3
_LONGEST_OUTAGE = 1.0
_SECONDS = 1800
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CRAWLER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "CRAWLER_WORKERS": "1",
    "DEDUP_RUN": _RUN,
    "LOG_LEVEL": "ERROR",
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",
}


class Moment(NamedTuple):
    """When something is done to a crawl.

    Attributes:
        asked: after so many requests.
        is_restart: whether the server of the database is stopped, or else a worker.
    """

    asked: int
    is_restart: bool


@dataclass
class Crawled:
    """How a crawl went.

    Attributes:
        asked: how many requests it made.
        seconds: how long it took.
        killed_at: after how many requests it was killed.
        restarts: how often the server was stopped.
        failed: how many workers ended with an error, because the server was away when they began.
    """

    asked: int = 0
    seconds: float = 0.0
    killed_at: list[int] = field(default_factory=list)
    restarts: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return f"{self.asked:,} requests in {self.seconds:.0f} s"

    def told(self, workers: int) -> str:
        """Say what was done to it."""
        told = f"killed {len(self.killed_at)} times"
        if workers > 1:
            told = f"one of {workers} workers {told}, the server stopped {self.restarts} times"
        return f"{told}, {self.failed} workers had to be started again" if self.failed else told


def crawl_alone(served: Served, database: str, moments: list[int], chance: random.Random) -> Crawled:
    """Crawl a site with one worker, killed when so many requests have been made.

    Raises:
        ValueError: it did not end by itself.
    """
    started = time.monotonic()
    command = [sys.executable, "-m", "scrapy", "crawl", "site", *_arguments(served), f"-sDEDUP_DATABASE_URL={database}"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, start_new_session=True)

    killed_at = [served.asked.value for moment in moments if _is_killed(served, start, moment, chance)]
    if start().wait(_SECONDS) != 0:
        raise ValueError("the crawl did not end with status 0")
    return Crawled(served.asked.value, time.monotonic() - started, killed_at)


def crawl_together(
    served: Served, server: PostgresqlServer, moments: list[Moment], workers: int, chance: random.Random
) -> Crawled:
    """Crawl a site with several workers, of which one is killed, or the server of their database, at each moment.

    A worker that was killed is replaced, and so is one that found no server when it began.

    Raises:
        ValueError: they did not end by themselves.
    """
    started = time.monotonic()
    database = server.url(DATABASE)
    crawled = Crawled()

    def start() -> subprocess.Popen[str]:
        arguments = _arguments(served)
        return start_worker(database, _RUN, arguments, stdout=subprocess.DEVNULL, own_group=True)

    processes = [start() for _ in range(workers)]

    def replace_failed() -> bool:
        """Start anew who failed; say whether anybody is still there."""
        for place, process in enumerate(processes):
            if process.poll():
                crawled.failed += 1
                processes[place] = start()
        if time.monotonic() - started > _SECONDS:
            _kill(*processes)
            raise ValueError(f"the crawl did not end within {_SECONDS} seconds")
        return any(process.poll() is None for process in processes)

    try:
        for moment in moments:
            # At least one request in between, so that somebody gets on.
            _wait_for(served, max(moment.asked, served.asked.value + 1), replace_failed)
            time.sleep(chance.uniform(0, _LONGEST_PAUSE))
            if moment.is_restart:
                server.crash()
                time.sleep(chance.uniform(0, _LONGEST_OUTAGE))
                server.start()
                crawled.restarts += 1
            elif living := [place for place, process in enumerate(processes) if process.poll() is None]:
                place = chance.choice(living)
                _kill(processes[place])
                crawled.killed_at.append(served.asked.value)
                processes[place] = start()
        while replace_failed():
            time.sleep(0.05)
    finally:
        _kill(*processes)
    crawled.asked, crawled.seconds = served.asked.value, time.monotonic() - started
    return crawled


def _arguments(served: Served) -> list[str]:
    settings = [f"-s{name}={value}" for name, value in _SETTINGS.items()]
    return [f"-aurl={served.url}", f"-aallowed_domains={','.join(served.hosts)}", *settings]


def _is_killed(
    served: Served, start: Callable[[], subprocess.Popen[bytes]], moment: int, chance: random.Random
) -> bool:
    """Crawl until so many requests have been made and a little longer; say whether it had to be killed."""
    process = start()
    # At least one request of its own, or a crawl would be killed again and again before it begins.
    _wait_for(served, max(moment, served.asked.value + 1), lambda: process.poll() is None)
    time.sleep(chance.uniform(0, _LONGEST_PAUSE))
    if process.poll() is not None:
        return False
    _kill(process)
    return True


def _wait_for(served: Served, moment: int, is_going_on: Callable[[], bool]) -> None:
    while served.asked.value < moment and is_going_on():
        time.sleep(0.005)


def _kill(*processes: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
