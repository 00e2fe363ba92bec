"""Bounds of time and memory: they end with their block, and the earlier of two holds."""

from __future__ import annotations

import resource
import signal
import sys

import pytest

from dedup.limits import memory_limit, time_limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits hold on Linux alone")


def seconds_left() -> float:
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_of_two_limits_of_time_the_earlier_one_holds() -> None:
    with time_limit(600):
        for inner, most in ((60, 60), (6_000, 600)):
            with time_limit(inner):
                assert most - 30 < seconds_left() <= most
            assert 570 < seconds_left() <= 600
    assert seconds_left() == 0


def test_what_asks_for_more_memory_fails_in_the_block_alone() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(50 << 20), pytest.raises(MemoryError):
        bytearray(200 << 20)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(bytearray(200 << 20)) == 200 << 20
