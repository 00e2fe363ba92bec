"""Parts of one crawl at work at the same time: none of two copies slips through, whoever is killed in between."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event, Lock
from urllib.parse import urlsplit

import pytest

from crawler.cluster import PostgresqlServer, start_part
from tests.crawler.frontier.driving import unfinished
from tests.crawling import Crawl
from tests.localsite import Asked, LocalSite, Reply, article, redirect
from tests.texts import document, edited
from tests.waiting import HANG, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CRAWLER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "DEDUP_WORKERS": "0",
    "LOG_LEVEL": "ERROR",
    "CONCURRENT_REQUESTS": "16",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "8",
}
PARTS = 4
ANYWHERE = "0.0.0.0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresqlServer]:
    with closing(PostgresqlServer(tmp_path / "server")) as server:
        yield server


class Parts:
    """The processes of the parts of a crawl, by their numbers from 1."""

    def __init__(self, database_url: str, arguments: Mapping[str, str]) -> None:
        self._database_url = database_url
        self._arguments = [f"-a{name}={value}" for name, value in arguments.items()]
        self._arguments += [f"-s{name}={value}" for name, value in SETTINGS.items()]
        self._processes = {number: self._start(number) for number in range(1, PARTS + 1)}

    def _start(self, number: int) -> subprocess.Popen[str]:
        agent = f"-sUSER_AGENT=part {number}"
        part = f"{number}/{PARTS}"
        return start_part(
            self._database_url, "run", part, [*self._arguments, agent], stdout=subprocess.DEVNULL, own_group=True
        )

    def kill(self, chance: Random) -> None:
        """Kill one of those that are there, and start it again."""
        there = [number for number, process in self._processes.items() if process.poll() is None]
        assert there, "they ended before one was killed"
        number = chance.choice(there)
        self._kill(self._processes[number])
        self._processes[number] = self._start(number)

    def _kill(self, process: subprocess.Popen[str]) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def is_at_work(self) -> bool:
        """Start those again that have failed, as their server was away; say whether any is there."""
        for number, process in self._processes.items():
            if process.poll():
                self._processes[number] = self._start(number)
        return any(process.poll() is None for process in self._processes.values())

    def finish(self) -> Crawl:
        try:
            wait_until(lambda: not self.is_at_work(), HANG)
        finally:
            for process in self._processes.values():
                self._kill(process)
        return Crawl(0, "", "", self._database_url)


def texts_of(crawl: Crawl) -> list[str]:
    return sorted(page["text"].rstrip(".") for page in crawl.pages.values())


def hosts_of(port: int, count: int) -> list[str]:
    return [f"http://127.0.0.{number}:{port}" for number in range(1, count + 1)]


def test_of_two_copies_that_are_answered_at_the_same_moment_one_is_kept(server: PostgresqlServer) -> None:
    pairs = {f"/{number}": (document(300, number), edited(document(300, number), 4)) for number in range(200)}
    waiting: dict[str, tuple[str, Event]] = {}
    lock = Lock()
    apart: list[str] = []

    def answer(asked: Asked) -> Reply | str:
        place = int(asked.host.partition(":")[0].rpartition(".")[2]) - 1
        own = [path for number, path in enumerate(pairs) if number % 2 == place // 2]
        if asked.path == "/sitemap.xml":
            locations = "".join(f"<url><loc>http://{asked.host}{path}</loc></url>" for path in own)
            return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
        if asked.path not in pairs:
            return Reply(status=404)
        # Until the other one is asked for, which is on the host beside this one.
        with lock:
            other = waiting.pop(asked.path, None)
            event = other[1] if other else Event()
            if other is None:
                waiting[asked.path] = asked.headers["User-Agent"], event
            elif other[0] != asked.headers["User-Agent"]:
                apart.append(asked.path)
        if other:
            event.set()
        elif not event.wait(5):
            with lock:
                waiting.pop(asked.path, None)
        return article(asked.path, text=pairs[asked.path][place % 2])

    with LocalSite({}, answer, address=ANYWHERE) as site:
        hosts = hosts_of(site.port, 4)
        sitemaps = ",".join(f"{host}/sitemap.xml" for host in hosts)
        domains = ",".join(str(urlsplit(host).hostname) for host in hosts)
        result = Parts(server.url("race"), {"sitemap": sitemaps, "allowed_domains": domains}).finish()
    assert len(apart) > len(pairs) / 4, "hardly any pair was answered to two parts at once"
    assert sorted(urlsplit(url).path for url in result.pages) == sorted(pairs)
    assert all(
        urlsplit(row["key"]).path == urlsplit(row["original"]).path for row in result.verdicts if row["original"]
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_parts_that_are_killed_on_a_server_that_crashes_end_as_if_nothing_had_happened(
    seed: int, server: PostgresqlServer
) -> None:
    chance = Random(seed)
    with LocalSite(address=ANYWHERE) as site:
        hosts = hosts_of(site.port, 8)
        expected = set_up(site, hosts)
        domains = ",".join(str(urlsplit(host).hostname) for host in hosts)
        parts = Parts(server.url("killed"), {"url": f"{hosts[0]}/", "allowed_domains": domains})
        for step in range(5):
            asked = len(site.asked) + chance.randrange(5, 25)
            wait_until(lambda asked=asked: len(site.asked) >= asked or not parts.is_at_work())  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.3))
            if step % 3 == 2:
                server.crash()
                time.sleep(chance.uniform(0, 1))
                server.start()
            else:
                parts.kill(chance)
        result = parts.finish()
        assert texts_of(result) == sorted(expected)
        assert unfinished(result.database_url) == {}
        assert max(site.hits[path] for path in site.pages) <= 6


def set_up(site: LocalSite, hosts: Sequence[str]) -> list[str]:
    """Fill a site with copies, redirects and slow pages over hosts; return the texts that are to be kept."""
    place = iter(range(10_000))

    def at(path: str) -> str:
        return f"{hosts[next(place) % len(hosts)]}{path}"

    texts = []
    links = [at(f"/hub/{hub}") for hub in range(6)]
    site.pages["/"] = article("", links, text=document(120, "front"))
    texts.append(document(120, "front"))
    for hub in range(6):
        links = []
        for number in range(hub, 60, 6):
            text = document(120, number)
            texts.append(text)
            links += [at(f"/page/{number}"), at(f"/copy/{number}"), at(f"/moved/{number}")]
            site.pages[f"/page/{number}"] = Reply(article("", text=text).encode(), stall=0.05 * (number % 4))
            site.pages[f"/copy/{number}"] = article("", text=text)
            site.pages[f"/moved/{number}"] = redirect(at(f"/copy/{number}"))
        site.pages[f"/hub/{hub}"] = article("", links, text=document(120, f"hub {hub}"))
        texts.append(document(120, f"hub {hub}"))
    return texts
