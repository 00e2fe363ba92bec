"""What so many documents take on Spark: cores, shuffles, hours, money, from a few measured constants."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

SIZES = (10**8, 3 * 10**8, 10**9, 10**10)
# What `dedup.spark.candidates` does: tasks for each core, and what a document looked around weighs by a stored one.
_TASKS_A_CORE = 4
_WEIGHT = 6
_HOUR = 3600


def run(
    *,
    cores: int = 1000,
    cents: int = 4,
    document_us: int = 660,
    document_bytes: int = 2440,
    visit_us: int = 120,
    pair_ps: int = 170,
    chunk: int = 500_000,
    stored_bytes: int = 94,
    asked_bytes: int = 292,
) -> dict[str, Any]:
    """Print what 1e8 to 1e10 documents take.

    Args:
        cores: how many of them work.
        cents: what a core costs an hour.
        document_us: microseconds of a core for a document, however many others there are: all steps but the pairs.
        document_bytes: what these steps shuffle of a document.
        visit_us: microseconds of a core for each chunk that a document is looked up in, whatever its size.
        pair_ps: picoseconds of a core to compare two documents.
        chunk: how many stored documents a task has.
        stored_bytes: what is shuffled of a stored document for each task that has it.
        asked_bytes: what is shuffled of a document that is looked around, likewise.

    Returns:
        The figures.

    Raises:
        ValueError: a number is not above 0.
    """
    given = {"cores": cores, "cents": cents, "document_us": document_us, "document_bytes": document_bytes}
    given |= {"visit_us": visit_us, "pair_ps": pair_ps, "chunk": chunk}
    given |= {"stored_bytes": stored_bytes, "asked_bytes": asked_bytes}
    for name, value in given.items():
        if value < 1:
            raise ValueError(f"--{name.replace('_', '-')}: expected 1 or more")
    figures = {}
    print(f"{'documents':>10} {'core hours: each':>17} {'pairs':>11} {'hours':>9} {'cost':>11} {'shuffle, TB':>12}")
    for size in SIZES:
        of_documents = size * document_us / 1e6 / _HOUR
        # A document stands in one chunk, and in one range of those that are looked around; a chunk meets the ranges
        # that end behind it.
        ranges, visits = (_parts(size, cores, chunk)[place] / 2 + 0.5 for place in range(2))
        of_pairs = size * (visits * visit_us / 1e6 + (size - 1) / 2 * pair_ps / 1e12) / _HOUR
        hours, cost = (of_documents + of_pairs) / cores, (of_documents + of_pairs) * cents / 100
        terabytes = size * (document_bytes + ranges * stored_bytes + visits * asked_bytes) / 1e12
        figures[str(size)] = {
            "core_hours_of_documents": of_documents,
            "core_hours_of_pairs": of_pairs,
            "hours": hours,
            "cost": cost,
            "shuffled_terabytes": terabytes,
        }
        numbers = f"{of_pairs:>11,.0f} {hours:>9,.1f} {cost:>11,.0f} {terabytes:>12,.1f}"
        print(f"{size:>10.0e} {of_documents:>17,.0f} {numbers}")
    return {**given, "documents": figures}


def _parts(size: int, cores: int, chunk: int) -> tuple[int, int]:
    """Return how many ranges and chunks there are."""
    tasks = _TASKS_A_CORE * cores
    ranges = ceil(sqrt(tasks * _WEIGHT))
    return ranges, max(ceil(tasks / ranges), ceil(size / chunk))
