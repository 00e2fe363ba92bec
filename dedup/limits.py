"""Bounds of time and memory for what libraries make of what anybody has written; they hold on Linux."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "linux":
    import resource


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Have the process killed, wherever it is, if the block takes longer; None: as long as it takes.

    Within another limit the earlier one of both holds. Threads must not use it at the same time.
    """
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    started = time.monotonic()
    # The default action of the signal ends the process, in a C library too.
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    if 0 < left < seconds:
        signal.setitimer(signal.ITIMER_REAL, left)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 0.001) if left else 0)


def limit_memory(size: int) -> None:
    """Let the process take so many bytes more than it has from now on; what asks for more fails."""
    if sys.platform == "linux":
        most = _used() + size
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


@contextmanager
def memory_limit(size: int) -> Iterator[None]:
    """Let the process take so many bytes more than it has in the block, or less if it may not take as many anyway."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _used() + size
    resource.setrlimit(resource.RLIMIT_DATA, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _used() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
