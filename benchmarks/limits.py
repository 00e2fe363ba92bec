"""What the machine itself can do: reading memory in its order, and here and there."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled

BYTES_A_FINGERPRINT = 32
"""About what an index in memory takes."""

_READS = 2_000_000
_ROUNDS = 3


def limits(n: int) -> dict[str, float]:
    """Measure on one core, in memory as large as an index of n fingerprints.

    Returns:
        Bytes a second that are read in their order; words a second that are read here and there, all
        places known beforehand; words a second where each says where the next one is.
    """
    generator = np.random.default_rng(1)
    words = max(1024, n * BYTES_A_FINGERPRINT // 8)
    memory = np.ones(words, np.int64)
    places = generator.integers(0, words, _READS)
    read = words * 8 / _seconds(lambda: _add_up(memory))
    independent = _READS / _seconds(lambda: _add_up_at(memory, places))
    # One walk through all of the memory.
    order = generator.permutation(words)
    memory[order] = np.roll(order, -1)
    dependent = _READS / _seconds(lambda: _follow(memory, _READS))
    return {
        "scanned_bytes_a_second": read,
        "independent_reads_a_second": independent,
        "dependent_reads_a_second": dependent,
    }


def _seconds(work: Callable[[], object]) -> float:
    work()  # compiles
    spent = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return max(min(spent), 1e-9)


@compiled
def _add_up(memory: NDArray[np.int64]) -> int:
    total = 0
    for place in range(len(memory)):
        total += memory[place]
    return total


@compiled
def _add_up_at(memory: NDArray[np.int64], places: NDArray[np.int64]) -> int:
    total = 0
    for place in places:
        total += memory[place]
    return total


@compiled
def _follow(memory: NDArray[np.int64], steps: int) -> int:
    at = 0
    for _ in range(steps):
        at = memory[at]
    return at
