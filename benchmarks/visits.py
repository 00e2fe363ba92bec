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
        Of each way the changes seen, as a share of all, the fetches, and for how many hours a change was not seen.
    """
    intervals = Intervals.parse(visit_every)
    sites = [_changes(Random(f"visits {number}"), pages, days) for number in range(rounds)]
    ways = {f"visit_every={visit_every}": intervals}
    ways |= {
        f"max_age={hours / 24:g}d": Intervals(hours * 3_600, hours * 3_600) for hours in (12, 24, 48, 96, 168, 336)
    }
    figures: dict[str, Any] = {}
    for name, way in ways.items():
        fetches = seen = hours = total = 0.0
        for changes in sites:
            for of_page in changes:
                found = _visit(of_page, days, way)
                fetches, seen, hours, total = (
                    fetches + found[0],
                    seen + found[1],
                    hours + found[2],
                    total + len(of_page),
                )
        figures[name] = {"seen": seen / total, "fetches": fetches / rounds, "hours": hours / max(1, seen)}
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


def _visit(changes: list[float], days: int, intervals: Intervals) -> tuple[int, int, float]:
    """Return how often a page is fetched, how many of its states are seen, and for how many hours they were not."""
    fetches = seen = 0
    hours, last, due, interval = 0.0, 0.0, 0.0, intervals.first
    for crawl in range(2 * days + 1):
        now = crawl * _DAY / 2
        if now < due:
            continue
        since = [moment for moment in changes if last < moment <= now]
        fetches, seen = fetches + 1, seen + bool(since)
        hours += (now - since[-1]) / 3_600 if since else 0.0
        if crawl:
            interval = intervals.next(interval, has_changed=bool(since))
        last, due = now, now + interval
    return fetches, seen, hours
