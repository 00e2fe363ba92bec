"""A labelled set served as a web site and crawled end to end: quality, and what it costs beside plain Scrapy."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import text

from benchmarks.processes import PROJECT, Usage, run_measured, scratch_folder
from benchmarks.site import INDEX, crawl_command, path_of, serve
from dedup.evaluation import LabelledPair, Quality, read_set
from dedup.rules.documents import join_clusters
from dedup.store.database import Database

# A chunk of text that has at least this share of Chinese characters is one for jieba.
_CHINESE = re.compile("[\u3400-\u9fff]")
_CHINESE_SHARE = 0.2

# Those of the peer too. The site is this machine, and its pages were collected for measuring.
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "ROBOTSTXT_OBEY": "False",
    "LOG_LEVEL": "WARNING",
}


# Of so many pages two copies at other addresses are served in a second crawl.
_NAMED = 300
_HEAD = re.compile(rb"<head[^>]*>", re.IGNORECASE)


@dataclass(frozen=True)
class _Crawled:
    """What the database says after the crawl, by document id.

    Attributes:
        cluster: that of every page.
        texts: those of the pages that are kept.
    """

    cluster: dict[str, int]
    texts: dict[str, str]


@dataclass(frozen=True)
class _Round:
    """One crawl, its peer and the unavoidable parts on the same pages, measured one right after the other."""

    usage: Usage
    peer: Usage
    crawled: _Crawled
    parts: dict[str, float]

    @property
    def ratio(self) -> float:
        """CPU of the crawl by that of the parts."""
        return self.usage.cpu_seconds / sum(self.parts.values())

    @property
    def ratio_to_peer(self) -> float:
        """CPU of the crawl by that of the peer."""
        return self.usage.cpu_seconds / self.peer.cpu_seconds


def run(*, data: Path, limit: int | None = None, database: str | None = None, rounds: int = 3) -> dict[str, Any]:
    """Crawl a labelled set and print the figures.

    Args:
        data: the set, a folder with docs.jsonl, pairs.jsonl and html/.
        limit: use only so many documents.
        database: URL of an empty database, for one round; None: SQLite files that are removed afterwards.
        rounds: how often crawl, peer and parts are measured, in turn, since machines are noisy.

    Returns:
        The figures.

    Raises:
        InputError: the set is not what it should be.
        ValueError: a named database is to be used for several rounds, the set has no pages, or not all were crawled.
    """
    if database and rounds > 1:
        raise ValueError("a database is empty for one round only: give --rounds 1 with --database")
    labelled = read_set(data, limit)
    pages = {name: document.page for name, document in labelled.documents.items() if document.page is not None}
    if not pages:
        raise ValueError(f"{data} holds no HTML pages: name a folder such as data/variants")
    pairs = [pair for pair in labelled.pairs if pair.a in pages and pair.b in pages]
    with serve(pages) as url:
        # Each comes first in turn: what the machine does besides grows and falls within a round, too.
        measured = [_measure(pages, url, database, is_peer_first=number % 2 == 1) for number in range(rounds)]
    qualities = [_quality(pairs, each.crawled.cluster) for each in measured]
    # The order in which pages arrive differs from crawl to crawl; the worst one counts.
    quality = min(qualities, key=lambda each: (each.recall, each.precision))
    per_page = 1000 / len(pages) / rounds
    parts = {name: sum(each.parts[name] for each in measured) for name in measured[0].parts}
    cpu = sum(each.usage.cpu_seconds for each in measured)
    figures: dict[str, Any] = {
        "pages": len(pages),
        "rounds": rounds,
        "kept": len(measured[0].crawled.texts),
        "pairs": quality.pairs,
        "precision": quality.precision,
        "recall": quality.recall,
        "false_positives": quality.false_positives,
        "false_negatives": quality.false_negatives,
        "pages_per_second": len(pages) * rounds / sum(each.usage.wall_seconds for each in measured),
        "cpu_ms_per_page": cpu * per_page,
        "peak_mb": max(each.usage.peak_bytes for each in measured) / 1e6,
        "unavoidable_ms_per_page": {part: seconds * per_page for part, seconds in parts.items()},
        "cpu_ratio_to_unavoidable": cpu / sum(parts.values()),
        "cpu_ratios": [each.ratio for each in measured],
        "peer_pages_per_second": len(pages) * rounds / sum(each.peer.wall_seconds for each in measured),
        "peer_cpu_ms_per_page": sum(each.peer.cpu_seconds for each in measured) * per_page,
        "peer_peak_mb": max(each.peer.peak_bytes for each in measured) / 1e6,
        "cpu_ratio_to_peer": median(each.ratio_to_peer for each in measured),
        "cpu_ratios_to_peer": [each.ratio_to_peer for each in measured],
        "kept_at_canonical": _measure_canonical(pages),
    }
    _print(figures)
    return figures


def _quality(pairs: list[LabelledPair], cluster: dict[str, int]) -> Quality:
    return Quality.of((pair.is_duplicate, cluster[pair.a] == cluster[pair.b]) for pair in pairs)


def _measure_canonical(pages: dict[str, bytes]) -> float:
    """Return of how many pages the copy is kept that the site names as canonical: each is served at three addresses."""
    some = [name for name, body in sorted(pages.items()) if _HEAD.search(body)]
    chance = random.Random(1)
    served: dict[str, bytes] = {}
    for name in chance.sample(some, min(_NAMED, len(some))):
        link = f'<link rel="canonical" href="{path_of(name)}">'.encode()
        body = _HEAD.sub(rb"\g<0>" + link, pages[name], count=1)
        served |= {name: body, f"{name}?from=home": body, f"print/{name}": body}
    names = list(served)
    chance.shuffle(names)
    with scratch_folder() as scratch, serve({name: served[name] for name in names}) as url:
        database = f"sqlite:///{scratch / 'crawl.db'}"
        run_measured(crawl_command(f"{url}/", database, _SETTINGS, "-amax_depth=1"), PROJECT)
        with closing(Database(database, read_only=True)) as opened, opened.read() as connection:
            keys = connection.execute(text("SELECT key FROM dedup_documents WHERE leader_id IS NULL")).scalars().all()
    kept = [key for key in keys if key.startswith(f"{url}{path_of('')}")]
    return sum(key.removeprefix(f"{url}{path_of('')}") in pages for key in kept) / len(kept)


def _measure(pages: dict[str, bytes], url: str, database: str | None, *, is_peer_first: bool) -> _Round:
    with scratch_folder() as scratch:
        database = database or f"sqlite:///{scratch / 'crawl.db'}"
        early = _measure_peer(pages, url) if is_peer_first else None
        usage = run_measured(crawl_command(f"{url}/", database, _SETTINGS, f"-afollow={_follow(url)}"), PROJECT)
        peer = early or _measure_peer(pages, url)
        crawled = _read_database(database, url, pages)
        return _Round(usage, peer, crawled, _measure_parts(pages, crawled, url, scratch))


def _follow(url: str) -> str:
    """Return what the pages of a site match: their own links, which lead nowhere here, are read and left alone."""
    return rf"^{re.escape(url + path_of(''))}[\w-]+$"


def _measure_peer(pages: dict[str, bytes], url: str) -> Usage:
    with scratch_folder() as scratch:
        # A copy: what lies beside a spider is imported in the place of packages of the same names.
        shutil.copy(Path(__file__).with_name("crawl_peer.py"), scratch / "spider.py")
        settings = {**_SETTINGS, "JOBDIR": "job", "TELNETCONSOLE_ENABLED": "False", "REMOTE_CONTROL_ENABLED": "False"}
        values = [f"-s{name}={value}" for name, value in settings.items()]
        arguments = [f"-aurl={url}/", f"-afollow={_follow(url)}", *values]
        command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", *arguments, "-Oitems.jsonl"]
        # Named but empty: no project's settings are looked for, in the environment or in a scrapy.cfg.
        usage = run_measured(command, scratch, {"SCRAPY_SETTINGS_MODULE": ""})
        lines = (scratch / "items.jsonl").read_bytes().splitlines()
    fetched = sorted(json.loads(line)["url"] for line in lines)
    if fetched != sorted(url + path_of(name) for name in pages):
        raise ValueError(
            f"the peer has {len(fetched)} items, {len(set(fetched))} of them different, of {len(pages)} pages"
        )
    return usage


def _read_database(database: str, url: str, pages: dict[str, bytes]) -> _Crawled:
    names = {url + path_of(name): name for name in pages}
    with closing(Database(database, read_only=True)) as opened, opened.read() as connection:
        rows = connection.execute(text("SELECT key, coalesce(leader_id, id) FROM dedup_documents")).all()
        # As the report counts clusters; what says more than its original was found, too.
        seconds = "SELECT original_id, second_id FROM dedup_verdicts WHERE second_id IS NOT NULL"
        longer = "SELECT original_id, document_id FROM dedup_verdicts WHERE rule = 'new_text'"
        joined = join_clusters(tuple(row) for row in connection.execute(text(f"{seconds} UNION ALL {longer}")))
        stored: dict[str, str] = {row.url: row.text for row in connection.execute(text("SELECT url, text FROM pages"))}
    cluster = {names[key]: joined.get(leader, leader) for key, leader in rows if key in names}
    missing = set(pages) - set(cluster)
    if missing:
        raise ValueError(f"{len(missing)} pages were never decided, such as {min(missing)}")
    return _Crawled(cluster, {names[key]: value for key, value in stored.items() if key in names})


def _measure_parts(pages: dict[str, bytes], crawled: _Crawled, url: str, scratch: Path) -> dict[str, float]:
    paths = scratch / "paths.json"
    paths.write_text(json.dumps([INDEX, *map(path_of, pages)]), encoding="utf-8")
    # jieba works on the text of every page; for one that is not kept stands one of its cluster that is.
    of_clusters = {crawled.cluster[name]: value for name, value in crawled.texts.items()}
    texts = {name: crawled.texts.get(name, of_clusters[cluster]) for name, cluster in crawled.cluster.items()}
    chinese = {
        name: value.encode()
        for name, value in texts.items()
        if len(_CHINESE.findall(value)) > _CHINESE_SHARE * max(1, len(value))
    }
    return {
        "fetching": run_measured(_part("fetch", url, str(paths)), PROJECT).cpu_seconds,
        "text": _run_part("text", pages, scratch),
        "metadata of kept pages": _run_part("metadata", {name: pages[name] for name in crawled.texts}, scratch),
        "jieba": _run_part("jieba", chinese, scratch) if chinese else 0.0,
    }


def _part(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.parts", *arguments]


def _run_part(name: str, bodies: dict[str, bytes], scratch: Path) -> float:
    """Return the CPU seconds of a part, done by as many processes at once as the crawl has workers.

    Alone, with the caches of the whole machine for itself, a process takes some 8% less.
    """
    workers = os.cpu_count() or 1
    folders = [scratch / name / str(worker) for worker in range(workers)]
    for folder in folders:
        folder.mkdir(parents=True)
    for number, (key, body) in enumerate(bodies.items()):
        (folders[number % workers] / key).write_bytes(body)
    running = [
        subprocess.Popen(_part(name, str(folder)), cwd=PROJECT, stdout=subprocess.PIPE, text=True) for folder in folders
    ]
    seconds = 0.0
    for process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            raise ValueError(f"the part {name!r} ended with status {process.returncode}")
        seconds += float(output)
    return seconds


def _print(figures: dict[str, Any]) -> None:
    parts = figures["unavoidable_ms_per_page"]
    ratios, to_peer = (
        ", ".join(f"{ratio:.2f}" for ratio in figures[name]) for name in ("cpu_ratios", "cpu_ratios_to_peer")
    )
    print(f"""
pages          {figures["pages"]:,}, {figures["kept"]:,} kept, {figures["rounds"]} rounds
pairs          {figures["pairs"]:,}
precision      {figures["precision"]:.4f}   {figures["false_positives"]} wrong
recall         {figures["recall"]:.4f}   {figures["false_negatives"]} missed
speed          {figures["pages_per_second"]:.0f} pages a second
peak memory    {figures["peak_mb"]:.0f} MB, all processes
CPU            {figures["cpu_ms_per_page"]:.2f} ms a page, all processes
unavoidable    {sum(parts.values()):.2f} ms a page: {", ".join(f"{part} {ms:.2f}" for part, ms in parts.items())}
ratio          {figures["cpu_ratio_to_unavoidable"]:.2f}   rounds: {ratios}
plain Scrapy   {figures["peer_cpu_ms_per_page"]:.2f} ms a page with trafilatura, \
{figures["peer_pages_per_second"]:.0f} pages a second, {figures["peer_peak_mb"]:.0f} MB
ratio          {figures["cpu_ratio_to_peer"]:.2f}   rounds: {to_peer}
canonical      {figures["kept_at_canonical"]:.3f} of kept pages are at the address that their site names""")
