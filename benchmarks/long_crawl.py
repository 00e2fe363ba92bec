"""A crawl of many made-up pages: what each tenth of it takes, as the database and the queue grow."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from benchmarks.corpora import zipf_texts
from benchmarks.processes import PROJECT, note_usage, scratch_folder
from benchmarks.site import crawl_command, path_of, serve

_DATABASE = "crawl.db"
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "DOWNLOAD_DELAY": "0",
    "DEDUP_FOLLOW_DUPLICATES": "True",
    "LOG_LEVEL": "WARNING",
}
_PARTS = 10
# Of each tenth there are some samples.
_FEWEST = 10_000
_LINKS = 10
_EVERY = 2.0


class _Sample(NamedTuple):
    """What a crawl has used so far: seconds, CPU seconds and bytes of all its processes, pages decided."""

    seconds: float
    cpu: float
    memory: int
    pages: int


def run(*, pages: int = 100_000) -> dict[str, Any]:
    """Serve made-up pages, every fifth a copy, crawl them all, and print what each tenth of the crawl takes.

    Args:
        pages: how many, of 300 words each.

    Returns:
        The figures of each tenth.

    Raises:
        ValueError: there is nothing to measure, or the crawl failed.
    """
    if pages < _FEWEST:
        raise ValueError(f"--pages: expected at least {_FEWEST:,}")
    site = {str(number): _page(number, text, pages) for number, (_, text) in enumerate(zipf_texts(pages))}
    with scratch_folder() as folder, serve(site) as url:
        samples = list(_crawl(f"{url}{path_of('0')}", folder))
        # The last sample may be of before the last page.
        decided = _pages(folder / _DATABASE)
    if decided < pages:
        raise ValueError(f"{decided:,} of {pages:,} pages were decided")
    # What comes behind the last page is the end of the crawl.
    while len(samples) > 1 and samples[-2].pages >= pages:
        samples.pop()
    rows = [_tenth(samples, pages, place) for place in range(_PARTS)]
    print(f"{'pages':>18}{'a second':>10}{'CPU ms a page':>15}{'memory MB':>11}")
    for place, row in enumerate(rows):
        last = pages * (place + 1) // _PARTS
        print(f"{f'to {last:,}':>18}{row['per_second']:>10.1f}{row['cpu_ms']:>15.2f}{row['memory_mb']:>11.0f}")
    return {"pages": pages, "tenths": rows}


def _page(number: int, text: str, pages: int) -> bytes:
    links = "".join(
        f'<li><a href="{path_of(str(each))}">page {each}</a></li>'
        for each in range(number * _LINKS + 1, min(pages, (number + 1) * _LINKS + 1))
    )
    words = text.split()
    paragraphs = "".join(f"<p>{' '.join(words[at : at + 50])}.</p>" for at in range(0, len(words), 50))
    return (
        f"<!DOCTYPE html><html lang=en><head><title>page {number}</title></head><body>"
        f"<nav><ul>{links}</ul></nav><article>{paragraphs}</article></body></html>"
    ).encode()


def _crawl(url: str, folder: Path) -> Iterator[_Sample]:
    """Crawl a site, and yield what that has used, at intervals and at the end.

    Raises:
        ValueError: the crawl failed.
    """
    database = folder / _DATABASE
    started = time.monotonic()
    cpu: dict[int, float] = {}
    process = subprocess.Popen(
        crawl_command(url, f"sqlite:///{database}", _SETTINGS), cwd=PROJECT, stdout=subprocess.DEVNULL
    )
    try:
        while process.poll() is None:
            time.sleep(_EVERY)
            if sample := _sample(process.pid, database, cpu, started):
                yield sample
    finally:
        process.terminate()
        process.wait()
    if process.returncode != 0:
        raise ValueError(f"the crawl ended with status {process.returncode}")


def _sample(pid: int, database: Path, cpu: dict[int, float], started: float) -> _Sample | None:
    """Return what a crawl has used so far, `cpu` by process; None before its first page, or where it is ending."""
    memory = pages = 0
    with suppress(psutil.NoSuchProcess, sqlite3.Error):
        pages = _pages(database)
        memory = note_usage(psutil.Process(pid), cpu, with_memory=True)
    return _Sample(time.monotonic() - started, sum(cpu.values()), memory, pages) if memory else None


def _pages(database: Path) -> int:
    """Return how many pages were decided."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as connection:
        (pages,) = connection.execute("SELECT coalesce(max(id), 0) FROM dedup_documents").fetchone()
        return int(pages)


def _tenth(samples: list[_Sample], pages: int, place: int) -> dict[str, float]:
    done = [each.pages for each in samples]
    # The first sample stands in for the start, which takes time of its own.
    edges = [max(pages * place / _PARTS, done[0]), min(pages * (place + 1) / _PARTS, done[-1])]
    seconds, cpu = (np.interp(edges, done, [getattr(each, name) for each in samples]) for name in ("seconds", "cpu"))
    # In its middle: workers end with the last page.
    memory = np.interp(sum(edges) / 2, done, [each.memory for each in samples])
    count = edges[1] - edges[0]
    return {
        "per_second": float(count / np.diff(seconds)[0]),
        "cpu_ms": float(1000 * np.diff(cpu)[0] / count),
        "memory_mb": float(memory / 1e6),
    }
