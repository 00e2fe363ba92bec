"""A run in parts: each host belongs to one, no process waits for another, and the run has one end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.frontier.schema import Changes, Entry, TakenUrl, WorkerState, part_of
from crawler.frontier.store import SILENT_SECONDS, FrontierStore, Part
from dedup.errors import DedupError, SettingsError
from tests.crawler.frontier.test_store import Workers, add, entry, finish, numbers, take
from tests.crawling import ask

COUNT = 4
# By the part that crawls it.
HOSTS = {part_of(f"host{number}.example", COUNT): f"host{number}.example" for number in range(40)}


def of_part(part: int, number: int) -> Entry:
    return entry(number, host=HOSTS[part])


@pytest.fixture
def workers(database_url: str) -> Iterator[Workers]:
    with closing(Workers(database_url)) as each:
        yield each


def begin(workers: Workers, part: int, name: str = "") -> FrontierStore:
    store, _ = workers.begin(name or f"worker {part}", part=Part(part, COUNT))
    return store


@given(st.text(max_size=30), st.integers(1, 1000))
def test_each_host_belongs_to_one_part(host: str, count: int) -> None:
    assert part_of(host, count) == part_of(host, count)
    assert 0 <= part_of(host, count) < count


def test_parts_have_about_as_many_hosts_each() -> None:
    hosts = Counter(part_of(f"www.site{number}.example", COUNT) for number in range(4000))
    assert all(900 < count < 1100 for count in hosts.values())


@pytest.mark.parametrize("value", ["", "2", "0/4", "5/4", "-1/4", "1/1001", "a/b", 2])
def test_what_is_no_part_is_refused(value: object) -> None:
    assert Part.parse("CRAWLER_PART", " 2/4 ") == Part(1, 4)
    with pytest.raises(SettingsError, match=r"CRAWLER_PART = .*: expected the number of this process and of all"):
        Part.parse("CRAWLER_PART", value)


def test_each_takes_the_urls_of_its_own_hosts_whoever_has_found_them(workers: Workers) -> None:
    stores = [begin(workers, part) for part in range(COUNT)]
    assert add(stores[0], *(of_part(part, part) for part in range(COUNT))).added == COUNT
    assert add(stores[3], of_part(1, 1)).added == 0
    assert [numbers(take(store, 5)) for store in stores] == [[0], [1], [2], [3]]


def test_who_has_nothing_to_do_waits_for_what_others_may_find_and_no_longer(workers: Workers) -> None:
    one = begin(workers, 0)
    add(one, of_part(0, 1))
    [taken] = take(one, 5)
    two = begin(workers, 1)
    for _ in range(3):
        workers.now += SILENT_SECONDS / 2
        one.exchange(Changes(), 0, WorkerState(frozenset({taken.id})))
        assert two.exchange(Changes(), 5).is_left
    # It was killed, and nobody has started it again.
    workers.now += SILENT_SECONDS + 1
    assert not two.exchange(Changes(), 5).is_left
    assert two.leave(Changes(), WorkerState(), is_finished=True).left == 1


def test_at_the_start_parts_that_are_not_there_yet_are_waited_for(workers: Workers) -> None:
    one = begin(workers, 0)
    add(one, of_part(2, 1))
    assert one.exchange(Changes(), 5).is_left
    workers.now += SILENT_SECONDS + 1
    assert not one.exchange(Changes(), 5).is_left


def test_a_killed_process_that_is_started_again_goes_on_and_the_others_meanwhile(workers: Workers) -> None:
    one, two = begin(workers, 0), begin(workers, 1)
    add(one, of_part(0, 1), of_part(0, 2), of_part(1, 3))
    first, _ = take(one, 2)
    one.exchange(Changes(done=[(first.id, True)]), 0)
    workers.ended.add("worker 0")
    assert numbers(take(two, 5)) == [3]
    again, opened = workers.begin("again", part=Part(0, COUNT))
    assert (opened.done, opened.kept) == (1, 1)
    taken = take(again, 5)
    assert (numbers(taken), [each.attempts for each in taken]) == ([2], [1])


def test_a_part_has_one_process(workers: Workers) -> None:
    begin(workers, 1)
    with pytest.raises(DedupError, match="part 2/4 of run 'run' is under way in another process"):
        begin(workers, 1, "second")


def test_a_process_elsewhere_that_was_not_heard_of_for_long_has_ended(workers: Workers) -> None:
    begin(workers, 1)
    workers.nobody_knows = True
    with pytest.raises(DedupError, match="is under way in another process"):
        begin(workers, 1, "second")
    workers.now += SILENT_SECONDS + 1
    begin(workers, 1, "second")


def test_a_run_goes_on_in_as_many_parts_as_it_has_begun_in(workers: Workers) -> None:
    begin(workers, 1)
    for part in (Part(), Part(1, 2)):
        with pytest.raises(DedupError, match="was begun in 4 parts: go on with CRAWLER_PART = 1/4 to 4/4"):
            workers.begin("other", part=part)


def test_the_first_that_finds_nothing_left_ends_the_run_and_tells_of_all(workers: Workers) -> None:
    one, two = begin(workers, 0), begin(workers, 1)
    add(one, of_part(0, 1), of_part(1, 2))
    done: dict[FrontierStore, TakenUrl] = {store: take(store, 5)[0] for store in (one, two)}
    workers.now += SILENT_SECONDS + 1
    for store, taken in done.items():
        store.exchange(Changes(done=[(taken.id, True)]), 0, WorkerState(counts={"crawler/fetched": 1}))
    assert one.exchange(Changes(), 0).kept_elsewhere == 1
    state = WorkerState(counts={"crawler/fetched": 1})
    ending = one.leave(Changes(), state, is_finished=True)
    assert (ending.left, ending.goes_on, ending.counts, ending.parts) == (0, False, {"crawler/fetched": 2}, COUNT)
    assert two.leave(Changes(), state, is_finished=True).goes_on
    assert not two.is_over()
    one.end()
    assert two.is_over()
    assert ask(workers.database_url, "SELECT url FROM frontier") == []
    _, opened = workers.begin("late", part=Part(2, COUNT))
    assert opened.is_over


def test_a_run_whose_process_dies_as_it_ends_it_is_ended_by_the_next_one(workers: Workers) -> None:
    one = begin(workers, 0)
    add(one, of_part(0, 1))
    finish(one, *take(one, 1))
    workers.now += SILENT_SECONDS + 1
    assert not one.leave(Changes(), WorkerState(), is_finished=True).goes_on
    workers.ended.add("worker 0")
    again = begin(workers, 0, "again")
    workers.now += SILENT_SECONDS + 1
    assert not again.exchange(Changes(), 5).is_left
    assert not again.leave(Changes(), WorkerState(), is_finished=True).goes_on
    again.end()
    assert again.is_over()


def test_the_last_of_a_run_that_was_stopped_tells_of_all_and_leaves_the_rest(workers: Workers) -> None:
    one, two = begin(workers, 0), begin(workers, 1)
    add(one, of_part(0, 1), of_part(1, 2))
    take(one, 1)
    workers.now += SILENT_SECONDS / 2
    two.exchange(Changes(), 0)
    first = one.leave(Changes(), WorkerState(), is_finished=False)
    workers.now += SILENT_SECONDS
    last = two.leave(Changes(), WorkerState(), is_finished=False)
    assert (first.goes_on, last.goes_on, last.left) == (True, False, 2)
    two.end()
    _, opened = workers.begin("later", part=Part(0, COUNT))
    assert (opened.is_over, opened.queued) == (False, 2)
