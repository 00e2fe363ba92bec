"""What the stage costs a project with one line: a chain of pages, a page, the start; on and off in turn."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from benchmarks.site import INDEX, path_of, serve

LARGEST_RATIO = 1.2
"""How much longer a chain of pages may take."""

_CASES = {"off": "off", "on": "on", "links held": "held"}
_WORDS = 300


def run(*, pages: int = 100, many: int = 1000, latency: int = 20, rounds: int = 3) -> dict[str, Any]:
    """Crawl a chain of pages and pages that are all linked from one, without the stage and with it.

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
    with serve(_chain(pages), latency / 1000) as chain, serve(many_pages(many)) as star:
        for number in range(rounds + 1):
            for name, case in _CASES.items():
                seconds = _measure(chain, path_of("0"), pages, case) | _measure(star, INDEX, many, case)
                # The first crawls of all find nothing in the caches of the system.
                if number:
                    measured[name].append(seconds)
    figures: dict[str, Any] = {
        name: {what: median(each[what] for each in found) for what in found[0]} for name, found in measured.items()
    }
    print(f"each page of the chain is answered after {latency} ms")
    _print(figures, pages, many)
    ratio = figures["on"]["chain"] / figures["off"]["chain"]
    figures |= {"pages": pages, "many": many, "latency": latency, "chain_ratio": ratio, "failed": ratio > LARGEST_RATIO}
    print(f"\na chain with the stage takes {ratio:.2f} times the time without, at most {LARGEST_RATIO} are allowed")
    return figures


def _print(figures: dict[str, Any], pages: int, many: int) -> None:
    print(f"chain: {pages:,} pages, each of which links to the next, from the first request to the last page;")
    print(f"a page: one of {many:,} that are linked from one; start: until the spider is opened;")
    print("command: all that the crawl of the chain takes, with what is loaded and what is still decided behind it")
    print("            chain s  by off   ms a page  by off   CPU ms a page   start s   command s")
    off = figures["off"]
    for name, each in figures.items():
        print(
            f"{name:10}  {each['chain']:>7.2f}  {each['chain'] / off['chain']:>6.2f}   {each['page'] * 1000:>9.2f}"
            f"  {each['page'] / off['page']:>6.2f}   {each['cpu'] * 1000:>13.2f}   {each['start']:>7.2f}"
            f"   {each['all']:>9.2f}"
        )


def _measure(site: str, path: str, pages: int, case: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.chain_crawl", f"{site}{path}", case]
    with tempfile.TemporaryDirectory(prefix="chain-") as folder:
        command.append(f"sqlite:///{folder}/dedup.db")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"the crawl ended with status {done.returncode}: {done.stderr[-500:]}")
    found = json.loads(done.stdout)
    if path != INDEX:
        if found["items"] != pages:
            raise ValueError(f"{found['items']} items of {pages} pages")
        return {"chain": found["fetching"], "start": found["start"], "all": found["all"]}
    return {"page": found["fetching"] / pages, "cpu": found["cpu"] / pages}


def _chain(pages: int) -> dict[str, bytes]:
    return {str(number): _page(number, path_of(str(number + 1))) for number in range(pages)}


def many_pages(pages: int) -> dict[str, bytes]:
    """Return so many pages without links, each of other words."""
    return {str(number): _page(number, "") for number in range(pages)}


def _page(number: int, link: str) -> bytes:
    chance = random.Random(number)
    text = " ".join(f"word{chance.randrange(20_000)}" for _ in range(_WORDS))
    anchor = f'<a href="{link}">next</a>' if link else ""
    return f"<!DOCTYPE html><title>{number}</title><body>{anchor}<p>{text}</p></body>".encode()
