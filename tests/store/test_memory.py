"""DEDUP_MEMORY = a time: documents that no run has seen for so long are forgotten when a run is opened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.rules.documents import Verdict
from dedup.store.cancelling import cancel_run
from tests.databases import few_at_once
from tests.deciding import Crawl
from tests.texts import document, edited
from tests.waiting import days_from_now

NEW, UNCHANGED = Verdict.NEW, Verdict.UNCHANGED
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE
TEXT, OTHER = document(120, "memory"), document(120, "other")
COPY = edited(TEXT, 3)


class Times(Crawl):
    """A crawl whose runs start on days that are given."""

    def on_day(self, day: int, run: str, *, ends: bool = True) -> None:
        """End the run and start another one, or go on with one, by another process."""
        if ends:
            self.deduplicator.close_run(self.run, "finished")
        with days_from_now(day):
            self.reopen(run)


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[..., Times]]:
    crawls: list[Times] = []

    def starter(**values: Any) -> Times:
        crawl = Times(database_url, **({"memory": "30d"} | values))
        crawl.on_day(0, "first")
        crawls.append(crawl)
        return crawl

    yield starter
    for crawl in crawls:
        crawl.database.close()


@pytest.mark.parametrize(("day", "verdicts"), [(29, [NEAR, UNCHANGED]), (31, [NEW, NEAR])])
def test_what_was_not_seen_for_so_long_is_forgotten(
    start: Callable[..., Times], day: int, verdicts: list[Verdict]
) -> None:
    crawl = start()
    crawl.show("a", TEXT)
    crawl.show("b", OTHER)
    crawl.on_day(day, "later")
    crawl.assert_consistent()
    assert [crawl.show("c", COPY).verdict, crawl.show("a", TEXT).verdict] == verdicts
    crawl.assert_consistent()


def test_for_ever_nothing_is_forgotten(start: Callable[..., Times]) -> None:
    crawl = start(memory="for ever")
    crawl.show("a", TEXT)
    crawl.on_day(10_000, "later")
    assert crawl.show("a", TEXT).verdict is UNCHANGED


def test_what_was_seen_again_stays_and_the_log_says_how_many_went(
    start: Callable[..., Times], caplog: pytest.LogCaptureFixture
) -> None:
    crawl = start()
    crawl.show("a", TEXT)
    crawl.show("b", OTHER)
    crawl.on_day(20, "second")
    crawl.show("a", TEXT)
    with caplog.at_level(logging.INFO, "dedup"):
        crawl.on_day(40, "third")
    assert caplog.messages == ["forgotten: 1 document not seen for 30d (DEDUP_MEMORY)"]
    assert [crawl.show("a", TEXT).verdict, crawl.show("b", OTHER).verdict] == [UNCHANGED, NEW]


def test_what_a_run_that_has_not_ended_has_seen_stays(start: Callable[..., Times]) -> None:
    crawl = start()
    crawl.show("a", TEXT)
    crawl.on_day(50, "second", ends=False)
    assert crawl.show("a", TEXT).verdict is UNCHANGED


def test_a_run_that_goes_on_forgets_nothing_of_its_own(start: Callable[..., Times]) -> None:
    crawl = start()
    crawl.show("a", TEXT)
    crawl.on_day(50, "first")
    assert crawl.show("a", TEXT).verdict is UNCHANGED


@pytest.mark.parametrize("at_once", [1, 500])
def test_a_cluster_goes_with_its_leader_and_an_old_member_alone(start: Callable[..., Times], at_once: int) -> None:
    crawl = start()
    for key, text in (("a", TEXT), ("a copy", COPY), ("b", OTHER), ("b copy", OTHER), ("b twin", OTHER)):
        crawl.show(key, text)
    crawl.on_day(20, "second")
    crawl.show("a copy", COPY)
    crawl.show("b", OTHER)
    with few_at_once(at_once):
        crawl.on_day(40, "third")
    crawl.assert_consistent()
    assert crawl.there() - crawl.undecided() == {"b"}
    assert crawl.show("a copy", COPY).verdict is NEW
    # The verdicts that speak of them stand.
    assert crawl.runs() == {"test": 0, "first": 5, "second": 2, "third": 1}
    crawl.deduplicator.close_run(crawl.run, "finished")
    for run in ("second", "third", "first"):
        cancel_run(crawl.database, run)
        crawl.assert_consistent()


law = settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])
seen = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([TEXT, COPY, OTHER, document(5, 1)])), max_size=6)


@law
@given(days=st.lists(st.tuples(st.integers(0, 40), st.booleans(), seen), min_size=2, max_size=5))
@pytest.mark.slow
def test_whatever_is_forgotten_what_is_left_holds_together(
    tmp_path_factory: pytest.TempPathFactory, days: list[tuple[int, bool, list[tuple[str, str]]]]
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    crawl = Times(f"sqlite:///{folder / 'test.db'}", memory="30d")
    today = 0
    # Which run has seen a document last, and on which day it began.
    last: dict[str, tuple[int, int]] = {}
    ended: set[int] = set()
    for number, (days_later, ends, documents) in enumerate(days):
        today += days_later
        ended |= {number - 1} if ends else set()
        crawl.on_day(today, f"run {number}", ends=ends)
        crawl.assert_consistent()
        assert crawl.undecided() >= {key for key, (run, day) in last.items() if run in ended and day < today - 30}
        for key, text in documents:
            crawl.show(key, text, size=ord(key))
            last[key] = number, today
        crawl.assert_consistent()
    crawl.database.close()
