"""A run in parts: each host belongs to one, no process waits for another, and the run has one end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.frontier.schema import part_of
from crawler.frontier.store import SILENT_SECONDS
from crawler.settings import CrawlerSettings, Part
from dedup.errors import DedupError, SettingsError
from tests.crawler.frontier.driving import ELSEWHERE, Frontier, Page, Process

COUNT = 4
# By the part that crawls it.
HOSTS = {part_of(f"host{number}.example", COUNT): f"host{number}.example" for number in range(40)}


def of_part(part: int, number: int) -> Page:
    return Page(number, host=HOSTS[part])


@pytest.fixture
def frontier(database_url: str) -> Iterator[Frontier]:
    with closing(Frontier(database_url)) as each:
        yield each


def begin(frontier: Frontier, part: int, of: str = "") -> Process:
    return frontier.begin(part=Part(part, COUNT), of=of)


@given(st.text(max_size=30), st.integers(1, 1000))
def test_each_host_belongs_to_one_part(host: str, count: int) -> None:
    assert part_of(host, count) == part_of(host, count)
    assert 0 <= part_of(host, count) < count


def test_parts_have_about_as_many_hosts_each() -> None:
    hosts = Counter(part_of(f"www.site{number}.example", COUNT) for number in range(4000))
    assert all(900 < count < 1100 for count in hosts.values())


@pytest.mark.parametrize("value", ["", "2", "0/4", "5/4", "-1/4", "1/1001", "a/b", 2])
def test_what_is_no_part_is_refused(value: object) -> None:
    assert CrawlerSettings.read({"CRAWLER_PART": " 2/4 "}.get).part == Part(1, 4)
    with pytest.raises(SettingsError, match=r"CRAWLER_PART = .*: expected the number of this process and of all"):
        CrawlerSettings.read({"CRAWLER_PART": value}.get)


def test_each_takes_the_urls_of_its_own_hosts_whoever_has_found_them(frontier: Frontier) -> None:
    processes = [begin(frontier, part) for part in range(COUNT)]
    assert processes[0].find(*(of_part(part, part) for part in range(COUNT))) == COUNT
    assert processes[3].find(of_part(1, 1)) == 0
    assert [process.take() for process in processes] == [[0], [1], [2], [3]]


def test_who_has_nothing_to_do_waits_for_what_others_may_find_and_no_longer(frontier: Frontier) -> None:
    one = begin(frontier, 0)
    one.find(of_part(0, 1))
    one.take()
    two = begin(frontier, 1)
    for _ in range(3):
        frontier.now += SILENT_SECONDS / 2
        one.exchange()
        assert two.exchange(5).is_left
    # It was killed, and nobody has started it again.
    frontier.now += SILENT_SECONDS + 1
    assert not two.exchange(5).is_left
    assert two.leave(is_finished=True).left == 1


def test_at_the_start_parts_that_are_not_there_yet_are_waited_for(frontier: Frontier) -> None:
    one = begin(frontier, 0)
    one.find(of_part(2, 1))
    assert one.exchange(5).is_left
    frontier.now += SILENT_SECONDS + 1
    assert not one.exchange(5).is_left


def test_nobody_waits_for_what_others_have_parked_and_who_ends_tells_of_all(frontier: Frontier) -> None:
    one, two = begin(frontier, 0), begin(frontier, 1)
    one.find(of_part(0, 1), of_part(1, 2), of_part(1, 3))
    frontier.now += SILENT_SECONDS + 1
    two.exchange(5)
    assert one.exchange(5, parked=[HOSTS[0]]).is_left
    two.exchange(back=[2, 3], parked=[HOSTS[1]])
    assert not one.exchange(5, parked=[HOSTS[0]]).is_left
    assert two.leave(is_finished=True, parked=[HOSTS[1]]).goes_on
    assert one.leave(is_finished=True, parked=[HOSTS[0]]).parked == {HOSTS[0]: 1, HOSTS[1]: 2}


def test_a_killed_process_that_is_started_again_goes_on_and_the_others_meanwhile(frontier: Frontier) -> None:
    one, two = begin(frontier, 0), begin(frontier, 1)
    one.find(of_part(0, 1), of_part(0, 2), of_part(1, 3))
    assert one.take() == [1, 2]
    one.exchange(done=[1])
    frontier.kill(one)
    assert two.take() == [3]
    again = begin(frontier, 0)
    assert (again.opened.done, again.opened.kept) == (1, 1)
    assert again.take() == [2]
    assert again.held[2].attempts == 1


def test_a_part_has_one_process(frontier: Frontier) -> None:
    begin(frontier, 1)
    with pytest.raises(DedupError, match="part 2/4 of run 'run' is under way in another process"):
        begin(frontier, 1)


def test_a_process_elsewhere_that_was_not_heard_of_for_long_has_ended(frontier: Frontier) -> None:
    begin(frontier, 1, ELSEWHERE)
    with pytest.raises(DedupError, match="is under way in another process"):
        begin(frontier, 1)
    frontier.now += SILENT_SECONDS + 1
    begin(frontier, 1)


def test_a_run_goes_on_in_as_many_parts_as_it_has_begun_in(frontier: Frontier) -> None:
    begin(frontier, 1)
    for part in (Part(), Part(1, 2)):
        with pytest.raises(DedupError, match="was begun in 4 parts: go on with CRAWLER_PART = 1/4 to 4/4"):
            frontier.begin(part=part)


def test_the_first_that_finds_nothing_left_ends_the_run_and_tells_of_all(frontier: Frontier) -> None:
    one, two = begin(frontier, 0), begin(frontier, 1)
    one.find(of_part(0, 1), of_part(1, 2))
    for process in (one, two):
        process.take()
    frontier.now += SILENT_SECONDS + 1
    counts = {"crawler/fetched": 1}
    for process in (one, two):
        process.exchange(done=list(process.held), counts=counts)
    assert one.exchange(counts=counts).kept_elsewhere == 1
    ending = one.leave(is_finished=True, counts=counts)
    assert (ending.left, ending.goes_on, ending.counts, ending.parts) == (0, False, {"crawler/fetched": 2}, COUNT)
    assert two.leave(is_finished=True, counts=counts).goes_on
    assert not two.is_over()
    one.end()
    assert two.is_over()
    assert frontier.unfinished() == {}
    assert begin(frontier, 2).opened.is_over


def test_a_run_whose_process_dies_as_it_ends_it_is_ended_by_the_next_one(frontier: Frontier) -> None:
    one = begin(frontier, 0)
    one.find(of_part(0, 1))
    one.exchange(done=one.take())
    frontier.now += SILENT_SECONDS + 1
    assert not one.leave(is_finished=True).goes_on
    frontier.kill(one)
    again = begin(frontier, 0)
    frontier.now += SILENT_SECONDS + 1
    assert not again.exchange(5).is_left
    assert not again.leave(is_finished=True).goes_on
    again.end()
    assert again.is_over()


def test_the_last_of_a_run_that_was_stopped_tells_of_all_and_leaves_the_rest(frontier: Frontier) -> None:
    one, two = begin(frontier, 0), begin(frontier, 1)
    one.find(of_part(0, 1), of_part(1, 2))
    one.take()
    frontier.now += SILENT_SECONDS / 2
    two.exchange()
    first = one.leave()
    frontier.now += SILENT_SECONDS
    last = two.leave()
    assert (first.goes_on, last.goes_on, last.left) == (True, False, 2)
    two.end()
    later = begin(frontier, 0)
    assert (later.opened.is_over, later.opened.queued) == (False, 2)
