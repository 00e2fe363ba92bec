"""The HTML report on many drops: seconds to write, size, seconds to first paint and memory in Chromium."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import insert

from benchmarks.browser import open_chromium
from benchmarks.processes import scratch_folder
from dedup.rules.documents import Verdict
from dedup.rules.settings import DedupSettings
from dedup.signature.deflating import deflate
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import digest
from dedup.store.database import Database, open_dedup_database
from dedup.store.document_rows import key_digest
from dedup.store.schema import documents, runs, texts, verdicts

_NOUNS = "harbour ferry bridge tide market letter winter council library school garden night river tower boat"
_WORDS = _NOUNS.split()
_TOKENS = 200
_MEMBERS = 8
_SECONDS = 7_200.0
_AT_ONCE = 10_000
_VERDICTS = (Verdict.NEAR_DUPLICATE, Verdict.NEAR_DUPLICATE, Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE)
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
_READY = "() => performance.getEntriesByName('ready')[0].startTime / 1000"


def run(*, n: int = 100_000, output: Path | None = None) -> dict[str, Any]:
    """Write the report on a made-up crawl, open it, and print the figures.

    Args:
        n: how many pages were dropped.
        output: where to leave the page; None: nowhere.

    Raises:
        ValueError: there is no Chromium.
    """
    with scratch_folder() as folder:
        url = f"sqlite:///{folder}/crawl.db"
        page = folder / "report.html"
        _make_crawl(url, n)
        figures = {"drops": n, **_write(url, page), **_open(page)}
        if output is not None:
            shutil.copyfile(page, output)
    print(f"{figures['drops']:,} drops: {figures['mb']:.1f} MB, written in {figures['write_seconds']:.1f} s", end="")
    print(f" with {figures['write_mb']:,.0f} MB of memory")
    print(f"Chromium: first paint after {figures['paint_seconds']:.2f} s, list after {figures['ready_seconds']:.2f} s,")
    print(f"          search in {figures['search_seconds']:.2f} s, {figures['heap_mb']:,.0f} MB of objects,", end="")
    print(f" {figures['browser_mb']:,.0f} MB in the process of the page")
    return figures


def _make_crawl(url: str, n: int) -> None:
    settings = DedupSettings()
    scheme = find_scheme(settings.scheme)
    with closing(open_dedup_database(url, scheme.name, str(settings.tables))) as database:
        with database.write() as connection:
            run = {"id": 1, "name": "2026-01-01T00:00:00Z", "started": 0.0, "finished": _SECONDS, "outcome": "finished"}
            connection.execute(insert(runs), run)
        rows = _rows(n)
        while some := list(islice(rows, _AT_ONCE)):
            _insert(database, some)


def _insert(database: Database, rows: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]]) -> None:
    with database.write() as connection:
        connection.execute(insert(texts), [each for *_, each in rows if each])
        connection.execute(insert(documents), [document for document, _, _ in rows])
        connection.execute(insert(verdicts), [verdict for _, verdict, _ in rows])


def _rows(n: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]]:
    """Yield documents, their verdicts and their texts: originals, each followed by its copies."""
    chosen = random.Random(1)
    number = dropped = 0
    while dropped < n:
        number += 1
        leader, tokens = number, chosen.choices(_WORDS, k=_TOKENS)
        yield _row(number, None, tokens, chosen)
        for _ in range(min(_MEMBERS, n - dropped)):
            number, dropped = number + 1, dropped + 1
            changed = list(tokens)
            for _ in range(chosen.randrange(20)):
                changed[chosen.randrange(_TOKENS)] = f"changed{chosen.randrange(1000)}"
            yield _row(number, leader, changed, chosen)


def _row(
    number: int, leader: int | None, tokens: list[str], chosen: random.Random
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    host = f"www{chosen.randrange(50)}.news.example"
    key = f"https://{host}/{chosen.choice(_WORDS)}/{number}-{'-'.join(chosen.choices(_WORDS, k=5))}.html"
    verdict = Verdict.NEW if leader is None else chosen.choice(_VERDICTS)
    is_exact = verdict is Verdict.EXACT_DUPLICATE
    similarity = 1.0 if is_exact else 1 - min(0.45, chosen.expovariate(8))
    document = {
        "id": number,
        "key": key,
        "key_digest": key_digest(key),
        "text_bytes": 5_000,
        "text_id": leader if is_exact else number,
        "leader_id": leader,
        "first_run_id": 1,
        "last_run_id": 1,
        "content_run_id": 1,
    }
    decided = {
        "run_id": 1,
        "document_id": number,
        "verdict": verdict.value,
        "original_id": leader,
        "matched_id": leader,
        "distance": None if leader is None else 0 if is_exact else chosen.randrange(14),
        "similarity": None if leader is None else similarity,
        "rule": None if leader is None else "same_text" if is_exact else "jaccard",
        "decided": 1.8e9 + chosen.random() * _SECONDS,
    }
    text = {
        "id": number,
        "digest": digest(f"{number}".encode()),
        "fingerprint": number,
        "sketch": bytes(80),
        "indexed": 0,
        "words": deflate("\n".join(tokens).encode()),
    }
    return document, decided, None if is_exact else text


def _write(url: str, page: Path) -> dict[str, float]:
    started = time.monotonic()
    command = [sys.executable, "-m", "dedup", "duplicates", "--database", url, "-o", str(page)]
    subprocess.run(command, check=True, env=dict(os.environ))
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return {"write_seconds": seconds, "write_mb": peak, "mb": page.stat().st_size / 1e6}


def _open(page: Path) -> dict[str, float]:
    with open_chromium() as chromium:
        tab = chromium.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        figures = {"paint_seconds": tab.evaluate(_PAINT), "ready_seconds": tab.evaluate(_READY)}
        tab.click("#tab-dropped")
        told = tab.inner_text("#count")
        started = time.monotonic()
        tab.fill("#f-search", "harbour/1")
        tab.wait_for_function("told => document.getElementById('count').textContent !== told", arg=told)
        figures["search_seconds"] = time.monotonic() - started
        figures["heap_mb"] = tab.evaluate("() => performance.memory.usedJSHeapSize") / 1e6
        figures["browser_mb"] = max(_renderer_mb(), default=0.0)
        return figures


def _renderer_mb() -> Iterator[float]:
    """Yield the memory of each process of this machine that draws pages."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it can end while it is looked at
            if "--type=renderer" in process.cmdline():
                yield process.memory_info().rss / 1e6
