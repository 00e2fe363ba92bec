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

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from sqlalchemy import text

from benchmarks.kill_site import Site, make_site, serve
from crawler.extraction import LinkRules, extract_page
from dedup.database import Database
from dedup.fingerprint.normalise import clean
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import Signature, make_signature
from dedup.settings import DedupSettings
from dedup.verification import check

PROJECT = Path(__file__).parent.parent
_RUN = "killed"
_LONGEST_PAUSE = 0.3
_SECONDS = 1800
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "DEDUP_RUN": _RUN,
    "LOG_LEVEL": "WARNING",
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


def run(*, pages: int, kills: int, seed: int, databases: list[str] | None, json_file: Path | None) -> int:
    """Crawl a site of so many pages twice, once killed so many times, and compare.

    Args:
        pages: how many addresses the site has, besides its hubs.
        kills: how often the second crawl is killed.
        seed: what the site and the moments of the kills depend on.
        databases: URLs of two empty databases; None: SQLite files that are removed afterwards.
        json_file: where to write the figures too.

    Returns:
        0 if the two crawls are identical, 1 if they differ.

    Raises:
        ValueError: a crawl did not end by itself.
    """
    site = make_site(pages, seed)
    truth = _Truth(site)
    with tempfile.TemporaryDirectory() as folder:
        first, second = databases or [f"sqlite:///{Path(folder) / name}.db" for name in ("alone", "killed")]
        alone, asked, seconds, _ = _crawl(site, first, [], seed)
        print(f"left alone     {asked:,} requests in {seconds:.0f} s, {len(alone.stored):,} pages kept", flush=True)
        moments = sorted(random.Random(seed).randrange(asked) for _ in range(kills))
        killed, asked_again, seconds_again, killed_at = _crawl(site, second, moments, seed)
    print(
        f"killed         {asked_again:,} requests in {seconds_again:.0f} s, {len(killed.stored):,} pages kept, "
        f"killed {len(killed_at)} times",
        flush=True,
    )
    differences = [f"left alone: {line}" for line in truth.compare(alone)]
    differences += [f"killed: {line}" for line in truth.compare(killed)]
    differences += _compare(alone, killed)
    if len(killed_at) < kills:
        differences.append(f"it was killed {len(killed_at)} times instead of {kills}")
    for line in differences:
        print(line)
    print("differs" if differences else "identical")
    figures: dict[str, Any] = {
        "pages": pages,
        "kills": len(killed_at),
        "killed_at_request": killed_at,
        "requests": asked,
        "requests_killed": asked_again,
        "kept": len(alone.stored),
        "kept_killed": len(killed.stored),
        "dropped": len(alone.drops),
        "differences": differences,
    }
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 1 if differences else 0


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
        return same or check(a.sketch, b.sketch, lambda: (a.words, b.words), self._settings).is_duplicate

    def _text(self, path: str) -> str:
        body = self._site.answers[path].body
        extracted = extract_page(
            body,
            f"http://127.0.0.1{path}",
            LinkRules(("127.0.0.1",), "", "", obey_nofollow=True),
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


def _crawl(site: Site, database: str, moments: list[int], seed: int) -> tuple[_Result, int, float, list[int]]:
    """Crawl the site to its end, killed when so many requests have been made."""
    started = time.monotonic()
    chance = random.Random(seed)
    with serve(site) as (url, asked):
        killed_at = [
            asked.value
            for moment in moments
            if _is_killed(url, database, asked, moment, chance.uniform(0, _LONGEST_PAUSE))
        ]
        if _run_crawl(url, database).wait(_SECONDS) != 0:
            raise ValueError("the crawl did not end with status 0")
        return _read(database, url), asked.value, time.monotonic() - started, killed_at


def _run_crawl(url: str, database: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "scrapy", "crawl", "site", f"-aurl={url}/", f"-sDEDUP_DATABASE_URL={database}"]
    command += [f"-s{name}={value}" for name, value in _SETTINGS.items()]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, start_new_session=True)


def _is_killed(url: str, database: str, asked: Synchronized[int], moment: int, pause: float) -> bool:
    """Crawl until so many requests have been made and a little longer; say whether it had to be killed."""
    process = _run_crawl(url, database)
    # At least one request of its own, or a crawl would be killed again and again before it begins.
    moment = max(moment, asked.value + 1)
    while asked.value < moment and process.poll() is None:
        time.sleep(0.005)
    time.sleep(pause)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def _read(database: str, url: str) -> _Result:
    with closing(Database(database, read_only=True)) as opened, opened.read() as connection:
        stored = connection.execute(text("SELECT url, text FROM pages ORDER BY id")).all()
        decided = connection.execute(text("SELECT key FROM dedup_documents")).scalars().all()
        drops = connection.execute(
            text("SELECT d.key, o.key FROM dedup_documents d JOIN dedup_documents o ON o.id = d.leader_id")
        ).all()
        left = int(connection.execute(text("SELECT count(*) FROM frontier")).scalar_one())
    return _Result(
        stored=[(row[0].removeprefix(url), row[1]) for row in stored],
        decided={key.removeprefix(url) for key in decided},
        drops=[_Drop(row[0].removeprefix(url), row[1].removeprefix(url)) for row in drops],
        in_frontier=left,
    )
