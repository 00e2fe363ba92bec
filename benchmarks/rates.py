"""How often a second something can be done, by CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

# CPU time of a method in a round, at least: the fastest need a thousandth of it for a pass.
_LEAST_SECONDS = 0.2


def rate(work: Callable[[T], object], values: Sequence[T]) -> float:
    """Return for how many values a second something is done.

    Args:
        work: what is done for one.
        values: the values, taken again and again until enough time has passed.
    """
    # CPU time of all threads: a second core gains nothing, and waiting for a busy one costs nothing.
    started = time.process_time()
    spent, passes = 0.0, 0
    while spent < _LEAST_SECONDS:
        for value in values:
            work(value)
        passes += 1
        spent = time.process_time() - started
    return passes * len(values) / spent
