"""Hosts that fail are paused, then parked, and come back as they were, by a clock of the test's own."""

from __future__ import annotations

import pytest

from crawler.politeness.hosts import FASTER_AFTER, Hosts


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> Hosts:
    return Hosts(600, lambda host: 1.0, clock, lambda: 0.5)


def test_host_that_fails_is_paused_and_no_other(hosts: Hosts, clock: Clock) -> None:
    hosts.note_failure("a", "http 503")
    assert (hosts.resting, hosts.pauses) == ({"a"}, {"a": 1.0})
    clock.now += 1.0
    assert (hosts.resting, hosts.pauses) == (set(), {})


def test_pauses_grow_until_a_page_is_served(hosts: Hosts, clock: Clock) -> None:
    lengths = []
    for _ in range(3):
        hosts.note_failure("a", "http 503")
        lengths.append(hosts.pauses["a"])
        clock.now += lengths[-1]
        hosts.note_answer("a", 0.0, is_page=False)  # of robots.txt, which may come from elsewhere
    hosts.note_answer("a", 0.0, is_page=True)
    hosts.note_failure("a", "http 503")
    assert (lengths, hosts.pauses["a"]) == ([1.0, 2.0, 4.0], 1.0)


def test_what_was_under_way_neither_ends_a_pause_nor_makes_the_next_one_longer(hosts: Hosts, clock: Clock) -> None:
    for _ in range(8):
        hosts.note_failure("a", "http 429")
    clock.now += 1.0
    hosts.note_answer("a", 5.0, is_page=True)
    hosts.note_failure("a", "http 429")
    assert hosts.pauses == {"a": 2.0}


def test_longest_retry_after_of_those_under_way_counts(hosts: Hosts) -> None:
    for seconds in (5.0, 60.0, None, 10.0):
        hosts.note_failure("a", "http 429", seconds)
    assert 60 <= hosts.pauses["a"] < 61


def test_host_that_fails_for_long_is_parked_with_the_reason(hosts: Hosts, clock: Clock) -> None:
    while not hosts.parked:
        hosts.note_failure("a", "http 503")
        clock.now += hosts.pauses.get("a", 0.0)
        assert clock.now < 1_700
    assert clock.now >= 1_600
    assert (hosts.parked, hosts.resting) == ({"a": "http 503"}, {"a"})


def test_one_bad_page_of_a_host_that_serves_others_does_not_park_it(hosts: Hosts, clock: Clock) -> None:
    for _ in range(1_000):
        hosts.note_failure("a", "http 503", of_page=5)
        clock.now += hosts.pauses["a"]
    assert not hosts.parked


def test_host_that_has_never_answered_is_not_waited_for(hosts: Hosts) -> None:
    hosts.note_failure("a", "connection refused", answers=False)
    hosts.note_answer("b", 0.0, is_page=False)
    hosts.note_failure("b", "connection refused", answers=False)
    assert (set(hosts.parked), set(hosts.pauses)) == ({"a"}, {"b"})


def test_host_teaches_how_fast_it_may_be_asked(hosts: Hosts) -> None:
    hosts.note_answer("a", 0.0, is_page=True)
    hosts.slow_down("a", 3.0)
    assert (hosts.least_delay("a"), hosts.least_delay("b")) == (6.0, 1.0)
    hosts.slow_down("a", 3.0)  # it has served nothing since
    for _ in range(FASTER_AFTER):
        assert hosts.least_delay("a") == 6.0
        hosts.note_answer("a", 0.0, is_page=True)
    assert 1.0 < hosts.least_delay("a") < 6.0


def test_greatest_of_all_delays_holds(hosts: Hosts) -> None:
    hosts["a"].crawl_delay = 5.0
    hosts.learn("a", 3.0)
    hosts.learn("b", 3.0)
    assert (hosts.least_delay("a"), hosts.least_delay("b")) == (5.0, 3.0)
