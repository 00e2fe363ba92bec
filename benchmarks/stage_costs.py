"""What the stage costs a project with one line: time, CPU and memory of crawls with it and without, and their start."""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import PROJECT, output_of, scratch_folder
from benchmarks.site import INDEX, path_of, serve

LARGEST_RATIO = 1.2
"""How much longer a chain of pages may take."""

_CASES = {"off": "off", "on": "on", "links held": "held"}
_WORDS = 300
_SETS = {"scrapy": None, "stage": "scrapy"}
_MEGABYTE = 1 << 20


def chain(*, pages: int = 100, many: int = 1000, latency: int = 20, rounds: int = 3) -> dict[str, Any]:
    """What the stage costs a project with one line: a chain of pages, a page, the start; on and off in turn.

    Args:
        pages: how many pages the chain has; each links to the next.
        many: how many pages are linked from one.
        latency: milliseconds before a page of the chain is answered.
        rounds: how often everything is measured, in turn.

    Returns:
        The figures; it has failed if the chain takes more than `LARGEST_RATIO` times the time with the stage.

    Raises:
        ValueError: a number is too small, or a crawl failed.
    """
    if min(pages, many, rounds) < 1:
        raise ValueError("--pages, --many and --rounds: expected at least 1")
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in _CASES}
    with serve(_chained_pages(pages), latency / 1000) as chain, serve(_many_pages(many)) as star:
        for number in range(rounds + 1):
            for name, case in _CASES.items():
                seconds = _measure_chain(chain, path_of("0"), pages, case) | _measure_chain(star, INDEX, many, case)
                # The first crawls of all find nothing in the caches of the system.
                if number:
                    measured[name].append(seconds)
    figures: dict[str, Any] = {
        name: {what: median(each[what] for each in found) for what in found[0]} for name, found in measured.items()
    }
    print(f"each page of the chain is answered after {latency} ms")
    _print_chain(figures, pages, many)
    ratio = figures["on"]["chain"] / figures["off"]["chain"]
    figures |= {"pages": pages, "many": many, "latency": latency, "chain_ratio": ratio, "failed": ratio > LARGEST_RATIO}
    print(f"\na chain with the stage takes {ratio:.2f} times the time without, at most {LARGEST_RATIO} are allowed")
    return figures


def _print_chain(figures: dict[str, Any], pages: int, many: int) -> None:
    print(f"chain: {pages:,} pages, each of which links to the next, from the first request to the last page;")
    print(f"a page: one of {many:,} that are linked from one, from the opened spider to the end of the process;")
    print("start: until the spider is opened, with what is loaded;")
    print("command: all that the crawl of the chain takes, with what is loaded and what is still decided behind it")
    print("            chain s  by off   ms a page  by off   CPU ms a page   start s   CPU s   command s")
    off = figures["off"]
    for name, each in figures.items():
        print(
            f"{name:10}  {each['chain']:>7.2f}  {each['chain'] / off['chain']:>6.2f}   {each['page'] * 1000:>9.2f}"
            f"  {each['page'] / off['page']:>6.2f}   {each['cpu'] * 1000:>13.2f}   {each['start']:>7.2f}"
            f"   {each['starting']:>5.2f}"
            f"   {each['all']:>9.2f}"
        )


def _measure_chain(site: str, path: str, pages: int, case: str) -> dict[str, float]:
    found = _crawl(sys.executable, f"{site}{path}", case)
    if path != INDEX:
        if found["items"] != pages:
            raise ValueError(f"{found['items']} items of {pages} pages")
        return {"chain": found["fetching"], "start": found["start"], "all": found["all"]}
    return {
        "page": found["fetching"] / pages,
        "cpu": (found["cpu"] - found["starting"]) / pages,
        "starting": found["starting"],
    }


def _crawl(python: str, url: str, case: str) -> dict[str, float]:
    """Crawl a site in a process of its own, by any Python; return what it measured."""
    with scratch_folder() as folder:
        # Within this project the command would take the settings of its crawler, of which every project differs.
        program = str(PROJECT / "benchmarks" / "chain_crawl.py")
        command = [python, "-P", program, url, case, f"sqlite:///{folder}/dedup.db"]
        measured: dict[str, float] = json.loads(output_of(command, folder))
    return measured


def _chained_pages(pages: int) -> dict[str, bytes]:
    return {str(number): _page(number, path_of(str(number + 1))) for number in range(pages)}


def _many_pages(pages: int) -> dict[str, bytes]:
    """Return so many pages without links, each of other words."""
    return {str(number): _page(number, "") for number in range(pages)}


def _page(number: int, link: str) -> bytes:
    chance = random.Random(number)
    text = " ".join(f"word{chance.randrange(20_000)}" for _ in range(_WORDS))
    anchor = f'<a href="{link}">next</a>' if link else ""
    return f"<!DOCTYPE html><title>{number}</title><body>{anchor}<p>{text}</p></body>".encode()


def light(*, pages: int = 1000, rounds: int = 3) -> dict[str, Any]:
    """What the stage adds to an installation of Scrapy and to a crawl: disk, packages, start, memory, CPU an item.

    Scrapy, Scrapy with the stage, and both with compiled code are installed each in an environment of its own.

    Args:
        pages: how many pages are crawled.
        rounds: how often, in turn; the least of each figure counts.

    Returns:
        The figures by installation: `megabytes` on disk, `packages`, `first`, the seconds of the first crawl after the
        installation, and of later ones `start` seconds, `cpu` seconds in all, `memory` in MB.

    Raises:
        ValueError: a number is too small, or an installation or a crawl failed.
    """
    if min(pages, rounds) < 1:
        raise ValueError("--pages and --rounds: expected at least 1")
    figures: dict[str, dict[str, float]] = {}
    with scratch_folder() as folder, serve(_many_pages(pages)) as site:
        # A copy: what is built leaves files beside the sources.
        sources = folder / "sources"
        shutil.copytree(PROJECT / "dedup", sources / "dedup", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "setup.py", "build_backend.py", "scrapy_neardup.py", "README.md", "LICENSE"):
            shutil.copy(PROJECT / name, sources)
        homes = {name: folder / name.replace(", ", "-") for name in _SETS}
        for name, extras in _SETS.items():
            figures[name] = _install(homes[name], sources, extras)
        for number in range(rounds + 1):
            for name, found in figures.items():
                started = time.monotonic()
                python = str(homes[name] / "bin" / "python")
                crawled = _crawl(python, f"{site}{INDEX}", "off" if name == "scrapy" else "on")
                if not number:
                    found["first"] = time.monotonic() - started
                    continue
                for what in ("start", "cpu", "memory"):
                    found[what] = min(found.get(what, crawled[what]), crawled[what])
    print(f"{pages:,} pages of one crawl")
    print("              MB on disk   packages   first crawl s   start s   CPU s   memory MB")
    for name, each in figures.items():
        print(
            f"{name:12}  {each['megabytes']:>10.0f}   {each['packages']:>8.0f}   {each['first']:>13.1f}"
            f"   {each['start']:>7.2f}   {each['cpu']:>5.2f}   {each['memory']:>9.0f}"
        )
    return {"pages": pages, **figures}


def _install(folder: Path, sources: Path, extras: str | None) -> dict[str, float]:
    output_of([sys.executable, "-m", "venv", str(folder)])
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    before = _size(folder)
    pins = str(PROJECT / "requirements" / "crawl.txt")
    what = ["scrapy"] if extras is None else [f"{sources}[{extras}]"]
    # The benchmark itself asks for its memory by this one.
    output_of([*pip, "-c", pins, "psutil", *what])
    listed = json.loads(output_of([python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]))
    return {"megabytes": (_size(folder) - before) / _MEGABYTE, "packages": len(listed)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
