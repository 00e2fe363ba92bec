"""Several workers on one crawl: no copy slips through between them, and how much faster they are."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from sqlalchemy import text

from benchmarks.kill_site import edited
from benchmarks.texts import english
from benchmarks.workers_site import Hosts, serve
from crawler.cluster import PostgresqlServer, start_worker
from dedup.rules.matcher import PairDecider
from dedup.rules.settings import DedupSettings
from dedup.signature.signature import make_signature
from dedup.sql.database import Database

_HOSTS = 8
_SLOW_SECONDS = 2.0
_SECONDS = 1800
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CRAWLER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "CONCURRENT_REQUESTS": "16",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "8",
    "CRAWLER_WORKERS": "1",
    "LOG_LEVEL": "ERROR",
}


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
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        closing(PostgresqlServer(Path(folder))) as server,
    ):
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
        drops = connection.execute(
            text("SELECT d.key, o.key FROM dedup_documents d JOIN dedup_documents o ON o.id = d.leader_id")
        ).all()
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
        start_worker(
            database, "run", [*arguments, f"-sUSER_AGENT=worker {number}"], stdout=subprocess.DEVNULL, own_group=True
        )
        for number in range(workers)
    ]
    statuses = [process.wait(_SECONDS) for process in processes]
    if any(statuses):
        raise ValueError(f"workers ended with status {statuses}")


def _page(content: str) -> bytes:
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in content.split(". "))
    return f"<!DOCTYPE html><html lang='en'><body><article>{paragraphs}</article></body></html>".encode()


def _number(url: str) -> str:
    return url.rpartition("/")[2]


def _powers(most: int) -> Sequence[int]:
    return [2**power for power in range(most.bit_length()) if 2**power <= most]
