"""A crawl killed with kill -9 at random moments and continued, compared with one that was left alone.

`identical` means, of both crawls and of the truth about the site:

- the same addresses were decided: kept, or dropped as a copy;
- of each cluster of copies exactly one page is kept, no page is stored twice, no other one at all;
- the text of each kept page is that of its address. Which of several copies is kept depends on the
  order of arrival, so texts are compared with what the same extraction makes of the page served;
- every dropped page is a copy of its original by the site's truth, the original is stored, and the
  two have the same text or pass the check;
- nothing is left of the run in the frontier.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import text

from benchmarks.kill_site import LONGEST_CRAWL, WORKER_SETTINGS, Served, Site, drops_in, make_site, serve
from benchmarks.processes import PROJECT, scratch_folder
from crawler.cluster import PostgresqlServer, start_part
from crawler.pages.extraction import LinkRules, extract_page
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import check
from dedup.signature.normalise import clean
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature
from dedup.signature.signing import make_signature
from dedup.store.database import Database

_HOSTS_OF_WORKERS = 8
_DATABASE = "crawl"
_RUN = "killed"
_LONGEST_PAUSE = 0.3
_LONGEST_OUTAGE = 1.0
_SETTINGS = WORKER_SETTINGS | {
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "DEDUP_RUN": _RUN,
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",
}


@dataclass(frozen=True)
class _Drop:
    """A page that was dropped, and what it was found to be a copy of."""

    path: str
    original: str


@dataclass(frozen=True)
class _Result:
    """What a crawl has left in its database, by path."""

    stored: list[tuple[str, str]]
    decided: set[str]
    drops: list[_Drop]
    in_frontier: int


def run(
    *,
    pages: int = 2000,
    kills: int = 20,
    seed: int = 1,
    workers: int = 1,
    restarts: int = 3,
    databases: list[str] | None = None,
) -> dict[str, Any]:
    """Crawl a site of so many pages twice, once killed so many times, and compare.

    Args:
        pages: how many addresses the site has, besides its hubs.
        kills: how often the second crawl is killed; with several workers, one of them.
        seed: what the site and the moments of the kills depend on.
        workers: how many crawl at the same time while they are killed.
        restarts: how often the server of several is stopped at once and started again; one has none.
        databases: URLs of two empty databases; without them SQLite files that are removed afterwards. Several
            workers have a PostgreSQL server of their own.

    Returns:
        The figures; it has failed if the two crawls differ.

    Raises:
        ValueError: a crawl did not end by itself.
    """
    restarts = restarts if workers > 1 else 0
    site = make_site(pages, seed)
    truth = _Truth(site)
    hosts = 1 if workers == 1 else _HOSTS_OF_WORKERS
    with scratch_folder() as folder:
        first, second = databases or [f"sqlite:///{folder / name}.db" for name in ("alone", "killed")]
        alone, undisturbed = _crawl(site, hosts, first, [], seed)
        print(f"left alone     {undisturbed}, {len(alone.stored):,} pages kept", flush=True)
        moments = _choose_moments(undisturbed.asked, kills, restarts, seed)
        if workers == 1:
            killed, disturbed = _crawl(site, hosts, second, [moment.asked for moment in moments], seed)
        else:
            killed, disturbed = _crawl_together(site, hosts, folder, moments, workers=workers, seed=seed)
    print(f"killed         {disturbed}, {len(killed.stored):,} pages kept, {disturbed.told(workers)}", flush=True)
    differences = [f"left alone: {line}" for line in truth.compare(alone)]
    differences += [f"killed: {line}" for line in truth.compare(killed)]
    differences += _compare(alone, killed)
    if len(disturbed.killed_at) < kills:
        differences.append(f"it was killed {len(disturbed.killed_at)} times instead of {kills}")
    if disturbed.restarts < restarts:
        differences.append(f"the server was stopped {disturbed.restarts} times instead of {restarts}")
    for line in differences:
        print(line)
    print("differs" if differences else "identical")
    figures: dict[str, Any] = {
        "pages": pages,
        "workers": workers,
        "kills": len(disturbed.killed_at),
        "killed_at_request": disturbed.killed_at,
        "restarts": disturbed.restarts,
        "requests": undisturbed.asked,
        "requests_killed": disturbed.asked,
        "kept": len(alone.stored),
        "kept_killed": len(killed.stored),
        "dropped": len(alone.drops),
        "differences": differences,
        "failed": bool(differences),
    }
    return figures


def _choose_moments(asked: int, kills: int, restarts: int, seed: int) -> list[Moment]:
    chance = random.Random(seed)
    # Right before its end a crawl may be over before it is killed.
    end = max(1, asked * 4 // 5)
    moments = [Moment(chance.randrange(end), is_restart=False) for _ in range(kills)]
    return sorted(moments + [Moment(chance.randrange(end), is_restart=True) for _ in range(restarts)])


class _Truth:
    """What must be in the database after a crawl of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._settings = DedupSettings()
        self._signatures: dict[str, Signature] = {}

    def compare(self, result: _Result) -> list[str]:
        """Return what is not as it must be, a line each."""
        clusters = self._site.clusters
        paths = [path for path, _ in result.stored]
        kept = Counter(clusters.get(path, f"a page that is none, {path}") for path in paths)
        lines = [f"{path} is stored twice" for path, count in Counter(paths).items() if count > 1]
        lines += [f"{count} pages are kept of {cluster}" for cluster, count in kept.items() if count > 1]
        lines += [f"nothing is kept of {cluster}" for cluster in sorted(set(clusters.values()) - set(kept))]
        lines += [f"kept, though it is none of the pages: {path}" for path in paths if path not in clusters]
        lines += [f"{path} was not decided" for path in sorted(set(clusters) - result.decided)]
        lines += [
            f"{path} has another text than it should"
            for path, stored in result.stored
            if path in clusters and stored != clean(self._text(path))
        ]
        lines += [f"{drop.path} was dropped, and is no copy of {drop.original}" for drop in self._wrong(result)]
        if result.in_frontier:
            lines.append(f"{result.in_frontier} URLs are left in the frontier")
        return lines

    def _wrong(self, result: _Result) -> list[_Drop]:
        stored = {path for path, _ in result.stored}
        return [drop for drop in result.drops if drop.original not in stored or not self._is_copy(drop)]

    def _is_copy(self, drop: _Drop) -> bool:
        if self._site.clusters.get(drop.path) != self._site.clusters.get(drop.original):
            return False
        a, b = self._signature(drop.path), self._signature(drop.original)
        same = a.text_digest == b.text_digest
        return same or check(a.words, b.words, self._settings).rule.is_duplicate

    def _text(self, path: str) -> str:
        body = self._site.answers[path].body
        extracted = extract_page(
            body,
            f"http://127.0.0.1{path}",
            LinkRules(("127.0.0.1",)),
            with_text=True,
            with_links=False,
            scheme=find_scheme(self._settings.scheme),
        )
        return extracted.text or ""

    def _signature(self, path: str) -> Signature:
        if path not in self._signatures:
            self._signatures[path] = make_signature(self._text(path), find_scheme(self._settings.scheme))
        return self._signatures[path]


def _compare(alone: _Result, killed: _Result) -> list[str]:
    lines = [f"decided only when left alone: {path}" for path in sorted(alone.decided - killed.decided)]
    return lines + [f"decided only when killed: {path}" for path in sorted(killed.decided - alone.decided)]


def _crawl(site: Site, hosts: int, database: str, moments: list[int], seed: int) -> tuple[_Result, Crawled]:
    """Crawl the site with one worker to its end, killed when so many requests have been made."""
    with serve(site, hosts) as served:
        crawled = crawl_alone(served, database, moments, random.Random(seed))
        return _read(database), crawled


def _crawl_together(
    site: Site, hosts: int, folder: Path, moments: list[Moment], *, workers: int, seed: int
) -> tuple[_Result, Crawled]:
    """Crawl it with several, on a server that is stopped at some moments too."""
    with serve(site, hosts) as served, closing(PostgresqlServer(folder)) as server:
        crawled = crawl_together(served, server, moments, workers, random.Random(seed))
        return _read(server.url(_DATABASE)), crawled


def _read(database: str) -> _Result:
    with closing(Database(database, read_only=True)) as opened, opened.read() as connection:
        stored = connection.execute(text("SELECT url, text FROM pages ORDER BY id")).all()
        decided = connection.execute(text("SELECT key FROM dedup_documents")).scalars().all()
        drops = [_Drop(_path(copy), _path(original)) for copy, original in drops_in(connection)]
        left = int(connection.execute(text("SELECT count(*) FROM frontier")).scalar_one())
    return _Result(
        stored=[(_path(row[0]), row[1]) for row in stored],
        decided={_path(key) for key in decided},
        drops=drops,
        in_frontier=left,
    )


def _path(url: str) -> str:
    return urlsplit(url).path


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
    if start().wait(LONGEST_CRAWL) != 0:
        raise ValueError("the crawl did not end with status 0")
    return Crawled(served.asked.value, time.monotonic() - started, killed_at)


def crawl_together(
    served: Served, server: PostgresqlServer, moments: list[Moment], workers: int, chance: random.Random
) -> Crawled:
    """Crawl a site in several parts, of which one process is killed, or the server of their database, at each moment.

    A process that was killed is started again with its part, and so is one that found no server when it began.

    Raises:
        ValueError: they did not end by themselves.
    """
    started = time.monotonic()
    database = server.url(_DATABASE)
    crawled = Crawled()

    def start(place: int) -> subprocess.Popen[str]:
        part = f"{place + 1}/{workers}"
        return start_part(database, _RUN, part, _arguments(served), stdout=subprocess.DEVNULL, own_group=True)

    processes = [start(place) for place in range(workers)]

    def replace_failed() -> bool:
        """Start anew who failed; say whether anybody is still there."""
        for place, process in enumerate(processes):
            if process.poll():
                crawled.failed += 1
                processes[place] = start(place)
        if time.monotonic() - started > LONGEST_CRAWL:
            _kill(*processes)
            raise ValueError(f"the crawl did not end within {LONGEST_CRAWL} seconds")
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
                processes[place] = start(place)
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
