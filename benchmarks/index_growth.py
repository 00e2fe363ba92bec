"""How an index in memory grows, and how it stands skewed data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.index_process import PLAN
from dedup.index.memory.index import MemoryIndex

LEAST_SECONDS = 0.5
"""Of CPU time: a second core gains nothing, and waiting for a busy one costs nothing."""

_GROWTH = 5_000_000


def single_rate(query: Callable[[Any], object], keys: list[Any]) -> float:
    """Return how many queries a second are answered, one after the other."""
    done, started = 0, time.process_time()
    while time.process_time() - started < LEAST_SECONDS:
        for key in keys[done % len(keys) : done % len(keys) + 200]:
            query(key)
        done += 200
    return done / (time.process_time() - started)


def grow(index: MemoryIndex, generator: np.random.Generator, n: int) -> dict[str, Any]:
    """Add fingerprints one by one, half as many as there are, and note the longest that an addition took."""
    count = min(n // 2, _GROWTH)
    values = generator.integers(0, 2**64, count, dtype=np.uint64).tolist()
    spent = np.empty(count)
    for number, value in enumerate(values):
        started = time.perf_counter()
        index.add(10**12 + number, value)
        spent[number] = time.perf_counter() - started
    return {
        "added": count,
        "added_a_second": count / float(spent.sum()),
        "longest_add_ms": float(spent.max()) * 1000,
        "add_ms_99.99_percent": float(np.quantile(spent, 0.9999)) * 1000,
        "segments": index.report().segments,
    }


def skew(generator: np.random.Generator, n: int) -> dict[str, Any]:
    """Compare rates and bytes of random fingerprints with those of which 30% have a block in common, or all bits."""
    plain = generator.integers(0, 2**64, n, dtype=np.uint64)
    third = 3 * n // 10
    block, two_blocks, equal = plain.copy(), plain.copy(), plain.copy()
    block[:third] &= np.uint64(2**48 - 1)
    two_blocks[:third] &= np.uint64(2**32 - 1)
    equal[: min(third, 100_000)] = 42
    figures = {}
    for name, stored in (("random", plain), ("a block", block), ("two blocks", two_blocks), ("1e5 equal", equal)):
        index = MemoryIndex(PLAN)
        index.add_many(np.arange(n), stored)
        # Of those in the crowd, with three bits flipped; not the equal ones, which are all found.
        asked = (stored[:20_000] if name != "1e5 equal" else plain[-20_000:]) ^ np.uint64(0x0001_0001_0001_0000)
        keys = asked.tolist()
        report = index.report()
        figures[name] = {
            "single_per_second": max(single_rate(index.query, keys) for _ in range(2)),
            "bytes_a_document": report.nbytes / n,
            "crowds": len(report.crowded),
        }
    return figures
