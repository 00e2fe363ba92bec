"""Several workers on one crawl: no copy slips through between them, and how much faster they are."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from string import ascii_lowercase
from typing import Any, NamedTuple

from sqlalchemy import text

from benchmarks.kill_site import LONGEST_CRAWL, WORKER_SETTINGS, drops_in, edited
from benchmarks.processes import scratch_folder
from benchmarks.site import answer_requests, in_process, reply
from benchmarks.texts import english
from crawler.cluster import PostgresqlServer, start_part
from dedup.rules.matcher import PairDecider
from dedup.rules.settings import DedupSettings
from dedup.signature.signing import make_signature
from dedup.store.database import Database

_HOSTS = 8
_SLOW_SECONDS = 2.0
_SETTINGS = WORKER_SETTINGS | {"CONCURRENT_REQUESTS": "16", "CONCURRENT_REQUESTS_PER_DOMAIN": "8"}
_LONGEST_WAIT = 5.0
_AGENT = re.compile(rb"\r\nuser-agent: *([^\r]*)", re.IGNORECASE)
_SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


def run(*, pairs: int = 2000, pages: int = 480, most: int = 4) -> dict[str, Any]:
    """Measure both, and print what was measured.

    Args:
        pairs: how many pairs of near-duplicates are fetched at the same moment.
        pages: how many pages each crawl that is timed has.
        most: how many workers there are at most.

    Returns:
        The figures; it has failed if not exactly one page of each pair was kept.

    Raises:
        ValueError: a worker failed.
    """
    with scratch_folder() as folder, closing(PostgresqlServer(folder)) as server:
        raced = _race(server, pairs, most)
        print(
            f"{raced['pairs']:,} pairs, {raced['at_once']:,} of them sent at the same moment, {raced['apart']:,} to "
            f"two of {most} workers: {raced['kept']:,} pages kept, {raced['wrong']:,} pairs of which not exactly one is"
        )
        figures: dict[str, Any] = {"race": raced, "speed": []}
        for name, seconds in (("answers after 2 s", _SLOW_SECONDS), ("answers at once", 0.0)):
            rates = [_speed(server, pages, workers, seconds) for workers in _powers(most)]
            for workers, rate in zip(_powers(most), rates, strict=True):
                figures["speed"].append({"answers": seconds, "workers": workers, "pages_per_second": rate})
                print(f"{name:<18} {workers} workers  {rate:6.1f} pages a second  {rate / rates[0]:5.2f} times one")
    return figures | {"failed": raced["wrong"] != 0 or raced["kept"] != pairs}


def _race(server: PostgresqlServer, pairs: int, workers: int) -> dict[str, int]:
    """Let the pages of each pair be fetched from two hosts at the same moment."""
    hosts: list[dict[str, bytes]] = [{} for _ in range(workers + workers % 2)]
    for number, pair in enumerate(_pairs(pairs)):
        place = 2 * (number % (len(hosts) // 2))
        for side, content in enumerate(pair):
            hosts[place + side][f"/{number}"] = _page(content)
    database = server.url("race")
    with serve(hosts, in_pairs=True) as served:
        _crawl(database, served, workers)
        at_once, apart = round(served.seen[2]), round(served.seen[3])
    with closing(Database(database, read_only=True)) as opened, opened.read() as connection:
        stored = connection.execute(text("SELECT url FROM pages")).scalars().all()
        drops = drops_in(connection)
    kept = Counter(_number(url) for url in stored)
    wrong = {number for number in range(pairs) if kept[str(number)] != 1}
    wrong |= {int(_number(copy)) for copy, original in drops if _number(copy) != _number(original)}
    return {"pairs": pairs, "at_once": at_once, "apart": apart, "kept": len(stored), "wrong": len(wrong)}


def _pairs(count: int) -> Iterator[tuple[str, str]]:
    """Yield pairs of which either text is found to be a copy of the other if they come alone.

    All words are made up, so that fingerprints are as far apart as random ones: where they crowd, the limit of
    candidates lets a pair in some thousand pass, whoever decides it.
    """
    chance = random.Random(1)
    decider = PairDecider(DedupSettings())
    while count:
        original = ". ".join(" ".join(_word(chance) for _ in range(20)) for _ in range(20))
        copy = edited(original, chance)
        a, b = make_signature(original), make_signature(copy)
        if decider.decide(a, b).rule.is_duplicate and decider.decide(b, a).rule.is_duplicate:
            count -= 1
            yield original, copy


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(ascii_lowercase, k=chance.randint(3, 8)))


def _speed(server: PostgresqlServer, pages: int, workers: int, seconds: float) -> float:
    """Return how many pages a second so many workers fetch from the first to the last, without their start."""
    texts = english(pages)
    hosts = [{f"/{number}": _page(texts[number]) for number in range(place, pages, _HOSTS)} for place in range(_HOSTS)]
    with serve(hosts, seconds) as served:
        _crawl(server.url(f"speed_{workers}_{round(seconds)}"), served, workers)
        first, last = float(served.seen[0]), float(served.seen[1])
    return pages / (last - first)


def _crawl(database: str, hosts: Hosts, workers: int) -> None:
    arguments = [f"-asitemap={','.join(hosts.sitemaps)}", f"-aallowed_domains={','.join(hosts.names)}"]
    arguments += [f"-s{name}={value}" for name, value in _SETTINGS.items()]
    processes = [
        start_part(
            database,
            "run",
            f"{number}/{workers}",
            [*arguments, f"-sUSER_AGENT=part {number}"],
            stdout=subprocess.DEVNULL,
            own_group=True,
        )
        for number in range(1, workers + 1)
    ]
    statuses = [process.wait(LONGEST_CRAWL) for process in processes]
    if any(statuses):
        raise ValueError(f"workers ended with status {statuses}")


def _page(content: str) -> bytes:
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in content.split(". "))
    return f"<!DOCTYPE html><html lang='en'><body><article>{paragraphs}</article></body></html>".encode()


def _number(url: str) -> str:
    return url.rpartition("/")[2]


def _powers(most: int) -> Sequence[int]:
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


class Hosts(NamedTuple):
    """Hosts that are served.

    Attributes:
        names: 127.0.0.1, 127.0.0.2 and so on.
        sitemaps: addresses of sitemaps that list all their pages.
        seen: when the first page was asked for, and the last one sent; how many pairs were sent at
            the same moment, and how many of these to two clients that call themselves differently.
    """

    names: list[str]
    sitemaps: list[str]
    seen: SynchronizedArray[float]


@contextmanager
def serve(pages: Sequence[dict[str, bytes]], seconds: float = 0.0, *, in_pairs: bool = False) -> Iterator[Hosts]:
    """Serve hosts in a process of their own.

    Args:
        pages: the pages of each host, by path.
        seconds: after which an answer is sent.
        in_pairs: whether a page waits for the one with its path on the host beside it.
    """
    seen = multiprocessing.get_context("spawn").Array("d", 4)
    names = [f"127.0.0.{number}" for number in range(1, len(pages) + 1)]
    with in_process(_serve, names, pages, None if in_pairs else seconds, seen) as port:
        yield Hosts(names, [f"http://{name}:{port}/sitemap.xml" for name in names], seen)


def _serve(
    names: list[str],
    pages: Sequence[dict[str, bytes]],
    seconds: float | None,
    seen: SynchronizedArray[float],
    pipe: Connection,
) -> None:
    waiting: dict[tuple[int, str], tuple[bytes, asyncio.Event]] = {}
    addresses: list[str] = []

    async def wait_for_other(place: int, path: str, agent: bytes) -> None:
        first = waiting.pop((place // 2, path), None)
        if first is not None:
            seen[2] += 1
            seen[3] += first[0] != agent
            first[1].set()
            return
        event = asyncio.Event()
        waiting[place // 2, path] = agent, event
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await event.wait()
        except TimeoutError:
            waiting.pop((place // 2, path), None)

    async def answer(place: int, path: str, request: bytes) -> bytes:
        body = pages[place].get(path)
        if body is not None:
            seen[0] = seen[0] or time.time()
            agent = _AGENT.search(request)
            if seconds is None:
                await wait_for_other(place, path, agent[1] if agent else b"")
            else:
                await asyncio.sleep(seconds)
            seen[1] = time.time()
            return reply(body)
        if path != "/sitemap.xml":
            return reply(b"", 404, "application/xml")
        locations = (f"<url><loc>{addresses[place]}{each}</loc></url>" for each in pages[place])
        return reply(_SITEMAP.format("".join(locations)).encode(), kind="application/xml")

    def tell(port: int) -> None:
        addresses.extend(f"http://{name}:{port}" for name in names)
        pipe.send(port)

    answer_requests(names, answer, tell)
