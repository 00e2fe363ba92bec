"""Visits by how often pages change, beside visits in one interval for all: changes seen, and pages fetched for them."""

from __future__ import annotations

from random import Random
from typing import Any

from crawler.intervals import Intervals

_DAY = 86_400.0
# Days between two changes of a page, on average, and how many of a hundred pages are of the kind: the front of a news
# site, a blog, documentation, an archive.
_KINDS = {0.5: 10, 3.0: 20, 20.0: 30, 1_000.0: 40}


def run(*, pages: int = 200, days: int = 60, visit_every: str = "12h-30d", rounds: int = 10) -> dict[str, Any]:
    """Simulate crawls twice a day, and print what each way of visiting has seen.

    Args:
        pages: how many pages there are.
        days: for how many days they are visited.
        visit_every: the shortest and the longest time between two visits to a page.
        rounds: how many such sites are simulated.

    Returns:
        Of each way the changes seen, as a share of all, and the fetches.
    """
    intervals = Intervals.parse(visit_every)
    sites = [_changes(Random(f"visits {number}"), pages, days) for number in range(rounds)]
    total = sum(len(of_page) for changes in sites for of_page in changes)
    ways = {f"visit_every={visit_every}": intervals}
    ways |= {f"max_age={age:g}d": Intervals(age * _DAY, age * _DAY) for age in (0.5, 1, 2, 4, 7, 14)}
    figures: dict[str, Any] = {}
    for name, way in ways.items():
        found = [_visit(of_page, days, way) for changes in sites for of_page in changes]
        fetches, seen = map(sum, zip(*found, strict=True))
        figures[name] = {"seen": seen / total, "fetches": fetches / rounds}
        print(f"{name:24} {seen / total:6.1%} of changes seen   {fetches / rounds:8,.0f} fetches")
    return figures


def _changes(random: Random, pages: int, days: int) -> list[list[float]]:
    """Return of each page the moments at which it changes, in seconds; they are as likely at any time."""
    every = random.choices(list(_KINDS), weights=list(_KINDS.values()), k=pages)
    found: list[list[float]] = []
    for mean in every:
        moment, moments = random.expovariate(1 / mean), []
        while moment < days:
            moments.append(moment * _DAY)
            moment += random.expovariate(1 / mean)
        found.append(moments)
    return found


def _visit(changes: list[float], days: int, intervals: Intervals) -> tuple[int, int]:
    """Return how often a page is fetched, and how many of its states are seen."""
    fetches = seen = 0
    last, due, interval = 0.0, 0.0, intervals.least
    for crawl in range(2 * days + 1):
        now = crawl * _DAY / 2
        if now < due:
            continue
        has_changed = any(last < moment <= now for moment in changes)
        fetches, seen = fetches + 1, seen + has_changed
        if crawl:
            interval = intervals.next(interval, has_changed=has_changed)
        last, due = now, now + interval
    return fetches, seen
