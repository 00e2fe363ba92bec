"""Waiting for what a test has set going: as long as it takes, but not for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import psutil

HANG = 600.0
"""Seconds after which something counts as hanging; nothing that works comes near, however busy the machine is."""

_PAUSE = 0.05


def wait_until(condition: Callable[[], bool], seconds: float = HANG) -> None:
    """Return once a condition holds; what does not come about fails the test."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(_PAUSE)


def brief_pause(patience: float, pauses: int, requested: float | None, chance: float) -> float:
    """Return for how long a host that fails is left alone: a moment, or as long as it says itself."""
    return requested or 0.01


def same_pace(delay: float) -> float:
    """Return the seconds between two requests to a host that sends some away: as many as before."""
    return delay


@contextmanager
def days_from_now(days: float) -> Iterator[None]:
    """Let the clock of this process show another day; a negative number: an earlier one."""
    now = time.time
    with patch("time.time", lambda: now() + days * 86_400):
        yield


def left_over(group: int) -> list[psutil.Process]:
    """Return the processes of a process group that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found
