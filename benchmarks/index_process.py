"""What is measured of an index in a process of its own: its memory, and a start from a file.

`python -m benchmarks.index_process build N FILE` and `... open FILE VALUE`; each writes one line of JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.probes import ProbePlan

PLAN = ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)
SEED = 20_070_508


def build(n: int, path: Path) -> dict[str, Any]:
    """Build an index of n random fingerprints, and save it."""
    MemoryIndex(PLAN).add_many(np.arange(100_000), np.arange(100_000))  # compiles
    generator = np.random.default_rng(SEED)
    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss
    fingerprints = generator.integers(0, 2**64, n, dtype=np.uint64)
    ids = np.arange(n)
    sorted_in = _seconds(np.sort, fingerprints)
    index = MemoryIndex(PLAN)
    built_in = _seconds(index.add_many, ids, fingerprints)
    del fingerprints, ids
    index.compact()
    gc.collect()
    grown = process.memory_info().rss - before
    saved_in = _seconds(index.save, path)
    return {
        "sort_seconds": sorted_in,
        "build_seconds": built_in,
        "build_by_sort": built_in / sorted_in,
        "resident_bytes_a_fingerprint": grown / n,
        "save_seconds": saved_in,
        "file_bytes_a_fingerprint": path.stat().st_size / n,
    }


def start(path: Path, value: int) -> dict[str, Any]:
    """Open a saved index and look one fingerprint up."""
    MemoryIndex(PLAN).query(0)  # compiles
    started = time.perf_counter()
    found = MemoryIndex.open(path, PLAN).query(value)
    return {"open_and_first_query_seconds": time.perf_counter() - started, "found": len(found)}


def _seconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


if __name__ == "__main__":
    if sys.argv[1] == "build":
        print(json.dumps(build(int(sys.argv[2]), Path(sys.argv[3]))))
    else:
        print(json.dumps(start(Path(sys.argv[2]), int(sys.argv[3]))))
