"""What the stage did with the items of a crawl, in a few labelled lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from scrapy.statscollectors import StatsCollector
from sqlalchemy.engine import make_url

from dedup.console import in_unit, labelled, lost_text, parted, saved_text, write_lines
from dedup.store.urls import shown_url

MARKED = "dedup/marked"
"""How many duplicates were passed on, as DEDUP_MARK_ONLY wants."""

UNCHANGED_DROPPED = "dedup/unchanged_dropped"
"""How many items of the verdict `unchanged` DEDUP_DROP_UNCHANGED has dropped."""

KEPT = ("new", "similar", "updated", "unchanged", "not_examined", "marked")
DROPPED = ("exact_duplicate", "near_duplicate", "erased")


def count_verdicts(stats: StatsCollector, *verdicts: str) -> int:
    """Return how many items got one of these verdicts, named as in the stats."""
    return sum(stats.get_value(f"dedup/{verdict}", 0) for verdict in verdicts)


def kept_by_verdict(stats: StatsCollector, unchanged_dropped: int = 0) -> dict[str, int]:
    """Return how many items were kept, by why; less some that are unchanged."""
    counts = {verdict: count_verdicts(stats, verdict) for verdict in KEPT}
    counts["unchanged"] -= unchanged_dropped
    return counts


def dropped_line(stats: StatsCollector, noun: str) -> str:
    """Return how many items were dropped, by why."""
    return parted({verdict.split("_")[0]: count_verdicts(stats, verdict) for verdict in DROPPED}, noun)


def text_lines(stats: StatsCollector, noun: str) -> Iterator[tuple[str, str]]:
    """Yield how much text was saved, and how much was lost, with their labels."""
    total, dropped = stats.get_value("dedup/text_bytes", 0), stats.get_value("dedup/text_bytes_dropped", 0)
    if dropped:
        yield "saved", saved_text(dropped, total)
    if lost := stats.get_value("dedup/lost_bytes", 0):
        yield "lost", lost_text(lost, noun)


def database_line(url: str) -> str:
    """Return the name of a database, and of a file its size."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return shown_url(parsed)
    path = Path(parsed.database)
    # As long as a database is open, a part of it may be in its journal.
    sizes = [each.stat().st_size for each in (path, path.with_name(f"{path.name}-wal")) if each.exists()]
    return f"{path}, {in_unit(sum(sizes))}" if sizes else str(path)


def summary_of_stage(stats: StatsCollector, database_url: str) -> str:
    """Return what the stage did in a crawl, for its log.

    Args:
        stats: the crawl's stats.
        database_url: where the verdicts are.
    """
    unchanged = stats.get_value(UNCHANGED_DROPPED, 0)
    lines = [
        ("kept", parted(kept_by_verdict(stats, unchanged), "item")),
        ("dropped", dropped_line(stats, "item")),
        *([("not passed on", f"{unchanged:,} unchanged")] if unchanged else []),
        *text_lines(stats, "item"),
        ("database", database_line(database_url)),
        ("next", "dedup duplicates"),
    ]
    stream = io.StringIO()
    write_lines([labelled(lines)], stream)
    return stream.getvalue().rstrip("\n")
