"""How the cost of a look-up in memory grows: with the number, the distance and the skew of fingerprints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.index_growth import skew
from benchmarks.index_process import PLAN, SEED
from benchmarks.limits import limits
from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.probes import ProbePlan
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import plan_of

_STEPS = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_RADII = (3, 5, 7, 9, 11)
_MOST_WIDE = 1_000_000
_QUERIES = 200_000
_WIDE_QUERIES = 2_000
_SINGLE_QUERIES = 20_000
_ROUNDS = 3


def run(*, n: int = 10_000_000) -> dict[str, Any]:
    """Measure random fingerprints, and print what a look-up costs.

    Args:
        n: how many fingerprints at most.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure.
    """
    steps = [step for step in _STEPS if step <= n]
    if not steps:
        raise ValueError(f"--n: expected at least {_STEPS[0]:,}")
    generator = np.random.default_rng(SEED)
    by_number = [_of_number(generator, step) for step in steps]
    widest = min(steps[-1], _MOST_WIDE)
    by_radius = _of_radii(generator, widest)
    skewed = skew(generator, widest)
    print("radius 3, one core; a look-up takes as long as so many reads of the same memory here and there\n")
    print(f"{'fingerprints':>13}{'single/s':>12}{'as reads':>10}{'batch/s':>12}{'as reads':>10}{'by a scan':>11}")
    for row in by_number:
        print(
            f"{row['n']:>13,}{row['single_per_second']:>12,.0f}{row['reads_a_single']:>10.1f}"
            f"{row['batch_per_second']:>12,.0f}{row['reads_in_a_batch']:>10.1f}{row['batch_by_scan']:>11,.0f}"
        )
    print(f"\n{widest:,} fingerprints, everything within a radius, or most of it by the weak bits of the defaults\n")
    print(f"{'radius':>13}{'a second':>12}{'time':>10}{'found':>12}")
    for row in by_radius:
        print(f"{row['radius']:>13}{row['per_second']:>12,.0f}{row['time_by_exact_3']:>10.1f}{row['found']:>12.2f}")
    print(f"\n{'30% have in common':>20}{'single/s':>12}{'time by random':>16}")
    for name, each in skewed.items():
        slower = skewed["random"]["single_per_second"] / each["single_per_second"]
        print(f"{name:>20}{each['single_per_second']:>12,.0f}{slower:>16.2f}")
    return {"by_number": by_number, "by_radius": by_radius, "skew": skewed}


def _of_number(generator: np.random.Generator, n: int) -> dict[str, Any]:
    fingerprints = generator.integers(0, 2**64, n, dtype=np.uint64)
    index = MemoryIndex(PLAN)
    index.add_many(np.arange(n), fingerprints)
    queries = generator.integers(0, 2**64, _QUERIES, dtype=np.uint64)
    values = queries[:_SINGLE_QUERIES].tolist()
    single = max(_rate(lambda: list(map(index.query, values)), len(values)) for _ in range(_ROUNDS))
    batch = max(_rate(lambda: index.query_many(queries), len(queries)) for _ in range(_ROUNDS))
    machine = limits(n)
    return {
        "n": n,
        "single_per_second": single,
        "batch_per_second": batch,
        **machine,
        "reads_a_single": machine["dependent_reads_a_second"] / single,
        "reads_in_a_batch": machine["independent_reads_a_second"] / batch,
        # A scan reads all fingerprints for each query, at best as fast as memory is read.
        "batch_by_scan": batch * n * 8 / machine["scanned_bytes_a_second"],
    }


def _of_radii(generator: np.random.Generator, n: int) -> list[dict[str, Any]]:
    fingerprints = generator.integers(0, 2**64, n, dtype=np.uint64)
    queries = generator.integers(0, 2**64, _WIDE_QUERIES, dtype=np.uint64)
    # Sums over many words are normal.
    margins = np.abs(generator.normal(0, 1000, (_WIDE_QUERIES, 64))).astype(np.int64)
    plans = {f"exact {radius}": ProbePlan(DESIGN, radius, radius, weak_bits=0) for radius in _RADII}
    plans["the defaults"] = plan_of(DedupSettings())
    rows: list[dict[str, Any]] = []
    for name, plan in plans.items():
        index = MemoryIndex(plan)
        index.add_many(np.arange(n), fingerprints)
        found = len(index.query_many(queries, margins).distances) / len(queries)
        per_second = max(_rate(lambda: index.query_many(queries, margins), len(queries)) for _ in range(_ROUNDS))  # noqa: B023 -- called at once
        rows.append({"radius": name, "per_second": per_second, "found": found})
    return [row | {"time_by_exact_3": rows[0]["per_second"] / row["per_second"]} for row in rows]


def _rate(work: Callable[[], object], count: int) -> float:
    started = time.process_time()
    work()
    return count / max(time.process_time() - started, 1e-9)
