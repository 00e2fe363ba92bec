"""A frontier that several workers share: hosts, leases, and one end of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.frontier.leases import LEASE_SECONDS, MOST_HOSTS, RENEWAL_SECONDS, TURN_SECONDS
from crawler.frontier.schema import Changes, Entry, ExchangeResult, LeaveResult, OpenResult, TakenUrl, WorkerState
from crawler.frontier.store import MAX_ATTEMPTS, FrontierStore
from dedup.sql.database import Database
from tests.crawler.frontier.test_store import DELAY, Workers, new_databases
from tests.crawler.frontier.test_store import entry as entry_of
from tests.crawling import ask


def entry(host: str, number: int, priority: int = 0) -> Entry:
    return entry_of(number, priority, host)


class Worker:
    """A worker as the scheduler is one: it knows what it holds."""

    def __init__(self, crew: Crew, name: str) -> None:
        self.name = name
        self.crew = crew
        self.held: dict[int, TakenUrl] = {}
        self.store, self.opened = crew.begin(name)
        self.counts: dict[str, int] = {}
        self.leaving: frozenset[str] = frozenset()

    @property
    def state(self) -> WorkerState:
        return WorkerState(frozenset(self.held), counts=self.counts)

    def exchange(self, changes: Changes | None = None, limit: int = 0) -> ExchangeResult:
        result = self.store.exchange(changes or Changes(), limit, self.state)
        for row in result.lost:
            del self.held[row]
        self.held |= {taken.id: taken for taken in result.taken}
        self.leaving = result.leaving
        return result

    def take(self, limit: int = 10) -> list[str]:
        return [taken.url.removeprefix("https://") for taken in self.exchange(limit=limit).taken]

    def find(self, *entries: Entry) -> ExchangeResult:
        return self.exchange(Changes(found=list(entries)))

    def finish(self, *rows: int) -> ExchangeResult:
        for row in rows:
            del self.held[row]
        return self.exchange(Changes(done=[(row, True) for row in rows]))

    def finish_all(self) -> ExchangeResult:
        return self.finish(*self.held)

    def leave(self, *, is_finished: bool = True) -> LeaveResult:
        self.held.clear()
        return self.store.leave(Changes(), self.state, is_finished=is_finished)


class Crew(Workers):
    """Workers of one run on one database."""

    def __init__(self, database_url: str) -> None:
        super().__init__(database_url, is_shared=True)
        self.workers: dict[str, Worker] = {}

    def start(self, name: str) -> Worker:
        self.workers[name] = Worker(self, name)
        return self.workers[name]

    def kill(self, name: str) -> None:
        self.ended.add(name)
        self.workers.pop(name).store.close()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in ask(self.database_url, query)]


@pytest.fixture
def crew(sqlite_url: str) -> Iterator[Crew]:
    with closing(Crew(sqlite_url)) as each:
        yield each


# Hosts


def test_hosts_are_shared_evenly_whoever_comes_first_and_an_only_one_belongs_to_one(crew: Crew) -> None:
    one, two, three = crew.start("one"), crew.start("two"), crew.start("three")
    three.leave(is_finished=False)
    one.find(*(entry(host, number) for host in "abcd" for number in range(3)))
    assert {url[0] for url in one.take(64)} == {"a", "b"}
    assert {url[0] for url in two.take(64)} == {"c", "d"}
    late = crew.start("late").exchange(limit=20)
    assert (late.taken, late.is_left) == ([], True)


def test_worker_that_joins_gets_hosts_once_nothing_of_them_is_under_way(crew: Crew) -> None:
    one = crew.start("one")
    one.find(*(entry(host, number) for host in "abcd" for number in range(9)))
    assert {url[0] for url in one.take(16)} == set("abcd")
    two = crew.start("two")
    assert two.take() == []
    one.exchange()
    leaving = one.leaving
    assert len(leaving) == 2
    assert {url[0] for url in one.take(64)} == set("abcd") - leaving
    assert two.take() == []
    one.finish(*[row for row, taken in one.held.items() if taken.host in leaving])
    one.exchange()
    assert two.take() == [], "the delay of the hosts holds for who gets them"
    crew.now += DELAY
    assert {url[0] for url in two.take()} == leaving


def test_what_was_taken_and_is_given_back_goes_with_its_host(crew: Crew) -> None:
    one = crew.start("one")
    one.find(*(entry(host, 1) for host in "ab"))
    one.take()
    two = crew.start("two")
    one.exchange()
    [leaving] = one.leaving
    [row] = [row for row, taken in one.held.items() if taken.host == leaving]
    del one.held[row]
    one.exchange(Changes(back=[row]))
    crew.now += DELAY
    assert two.take() == [f"{leaving}/1"]
    assert [taken.attempts for taken in two.held.values()] == [0]


def test_learned_delay_goes_with_the_host(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1), entry("a", 2))
    one.take()
    one.held.clear()
    one.store.leave(Changes(), replace(one.state, delays={"a": 7.0}), is_finished=False)
    assert two.take() == []
    crew.now += 7.0
    result = two.exchange(limit=5)
    assert (len(result.taken), result.delays) == (2, {"a": 7.0})


def test_no_host_crowds_out_the_others(crew: Crew) -> None:
    one = crew.start("one")
    one.find(*(entry("a", number) for number in range(50)), *(entry("b", number, -1) for number in range(3)))
    urls = one.take(10)
    assert [url[0] for url in urls].count("b") == 3
    assert [url[0] for url in one.take(10)].count("a") <= 10


def test_hosts_take_turns_where_there_are_more_than_workers_can_have(crew: Crew) -> None:
    one = crew.start("one")
    names = [f"h{number:02}" for number in range(MOST_HOSTS + 1)]
    one.find(*(entry(name, number) for name in names for number in range(100)))
    first = {url.split("/")[0] for url in one.take(MOST_HOSTS)}
    assert len(first) == MOST_HOSTS
    one.finish_all()
    assert one.leaving == frozenset()
    crew.now += TURN_SECONDS + 1
    one.exchange()
    [leaving] = one.leaving
    one.exchange()
    second = {url.split("/")[0] for url in one.take(64)}
    assert second == set(names) - {leaving}


def test_highest_priority_comes_first_and_then_the_earliest_found(crew: Crew) -> None:
    one = crew.start("one")
    one.find(entry("a", 1, -2), entry("b", 2, -1), entry("a", 3, -1), entry("b", 4, 0))
    assert one.take(10) == ["b/4", "b/2", "a/3", "a/1"]


# Workers that end


def test_urls_and_hosts_of_a_dead_process_come_back_with_an_attempt(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1), entry("a", 2))
    one.take()
    crew.kill("one")
    two.exchange()
    crew.now += DELAY
    assert two.take() == ["a/1", "a/2"]
    assert [taken.attempts for taken in two.held.values()] == [1, 1]


def test_urls_of_a_silent_worker_come_back_when_its_lease_ends_and_it_learns_what_it_has_lost(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1), entry("a", 2))
    one.take()
    crew.now += LEASE_SECONDS - 1
    two.exchange()
    assert two.take() == []
    crew.now += RENEWAL_SECONDS
    two.exchange()
    crew.now += DELAY
    assert two.take() == ["a/1", "a/2"]
    result = one.exchange(limit=5)
    assert (len(result.lost), result.taken, result.is_left) == (2, [], True)


def test_url_that_kills_is_given_up_and_the_others_are_not(crew: Crew) -> None:
    given_up: list[str] = []
    other = crew.start("other")
    other.find(entry("a", 1), entry("a", 2))
    other.leave(is_finished=False)
    deaths = 0
    while not given_up:
        deaths += 1
        worker = crew.start(f"worker {deaths}")
        given_up = worker.opened.given_up
        for _ in range(3):
            crew.now += DELAY
            worker.exchange(limit=5)
            if "https://a/1" in {taken.url for taken in worker.held.values()}:
                break
            worker.finish_all()
        crew.kill(f"worker {deaths}")
    assert given_up == ["https://a/1"]
    assert deaths == MAX_ATTEMPTS + 1


def test_worker_that_starts_right_after_an_outage_takes_nothing_from_the_others(crew: Crew) -> None:
    one = crew.start("one")
    one.find(entry("a", 1))
    one.take()
    crew.now += 10 * LEASE_SECONDS  # in which no worker could renew anything
    two = crew.start("two")
    assert two.take() == []
    result = one.store.exchange(Changes(), 5, replace(one.state, is_after_outage=True))
    assert result.lost == frozenset()
    crew.now += RENEWAL_SECONDS
    assert two.take() == []


# Outages


def test_exchange_that_was_committed_before_the_connection_broke_counts_once(crew: Crew) -> None:
    one = crew.start("one")
    one.find(entry("a", 1), entry("a", 2), entry("a", 3))
    one.take(1)
    [row] = one.held
    changes, state = Changes(found=[entry("a", 4)], done=[(row, True)]), WorkerState()
    one.store.exchange(changes, 2, state)  # nobody heard of this
    result = one.store.exchange(changes, 2, replace(state, is_after_outage=True))
    assert [taken.url for taken in result.taken] == ["https://a/2", "https://a/3"]
    assert [taken.attempts for taken in result.taken] == [0, 0]
    assert crew.rows("SELECT state, count(*) FROM frontier GROUP BY state ORDER BY state") == [
        ("done", 1),
        ("queued", 1),
        ("taken", 2),
    ]


# The end of a run


def test_worker_with_nothing_to_do_waits_for_what_others_may_find(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1))
    one.take()
    assert two.exchange(limit=5).is_left
    [row] = one.held
    del one.held[row]
    one.exchange(Changes(found=[entry("b", 2, -1)], done=[(row, True)]))
    assert two.exchange(limit=5).is_left
    assert one.take() == ["b/2"]
    one.finish_all()
    assert not one.exchange(limit=5).is_left
    assert not two.exchange(limit=5).is_left


def test_first_worker_that_finds_nothing_left_ends_the_run_and_tells_of_all(crew: Crew) -> None:
    one, two, three = crew.start("one"), crew.start("two"), crew.start("three")
    one.counts, two.counts = {"crawler/fetched": 2, "dedup/new": 1}, {"crawler/fetched": 3}
    one.find(entry("a", 1), entry("b", 1))
    one.take(1)
    two.take(1)
    one.finish_all()
    two.finish_all()
    crew.now += 30
    departures = [worker.leave() for worker in (two, one, three)]
    assert [departure.goes_on for departure in departures] == [False, True, True]
    told = departures[0]
    assert (told.left, told.workers, told.seconds) == (0, 3, 30)
    assert told.counts == {"crawler/fetched": 5, "dedup/new": 1}
    two.store.end()
    assert crew.rows("SELECT count(*) FROM frontier") == [(0,)]
    assert crew.rows("SELECT count(*) FROM frontier_hosts") == [(0,)]


def test_last_worker_of_a_run_that_was_stopped_tells_of_all_and_leaves_the_rest(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1), entry("a", 2))
    one.take(1)
    assert one.leave(is_finished=False).goes_on
    told = two.leave(is_finished=False)
    assert (told.goes_on, told.left) == (False, 2)
    three = crew.start("three")
    crew.now += DELAY
    assert three.take() == ["a/1", "a/2"]


def test_run_that_has_finished_stays_so_for_workers_that_come_late_and_a_single_one_begins_it_anew(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1))
    one.take()
    one.finish_all()
    assert not one.leave().goes_on
    # The same again, as the connection broke after the commit.
    assert not one.store.leave(Changes(), WorkerState(is_after_outage=True), is_finished=True).goes_on
    result = two.find(entry("a", 1), entry("a", 2))
    assert (result.added, result.is_left) == (0, False)
    three = crew.start("three")
    assert three.opened.is_over
    one.store.end()
    assert three.store.is_over()
    assert crew.rows("SELECT count(*) FROM frontier") == [(0,)]
    with closing(FrontierStore(Database(crew.database_url), "run", "alone")) as alone:
        assert alone.open() == OpenResult(0, 0, 0, [])
    assert crew.rows("SELECT count(*) FROM frontier_workers") == [(0,)]


def test_run_whose_worker_dies_as_it_ends_it_is_ended_by_the_next_one(crew: Crew) -> None:
    one, two = crew.start("one"), crew.start("two")
    one.find(entry("a", 1))
    one.take()
    one.finish_all()
    assert [worker.leave().goes_on for worker in (one, two)] == [False, True]
    for _ in range(2):
        crew.now += LEASE_SECONDS - 1
        one.store.renew()
    assert crew.start("late").opened.is_over
    crew.kill("one")
    three = crew.start("three")
    assert (three.opened.is_over, three.opened.done, three.take()) == (False, 1, [])
    assert not three.leave().goes_on
    three.store.end()
    assert crew.start("four").store.is_over()


def test_workers_go_on_with_what_a_single_one_began(crew: Crew) -> None:
    alone = FrontierStore(Database(crew.database_url), "run", "alone")
    alone.open()
    [first, _] = [entry("a", 1), entry("a", 2)]
    alone.exchange(Changes(found=[first, entry("a", 2)]), 0)
    [taken] = alone.exchange(Changes(), 1).taken
    alone.exchange(Changes(done=[(taken.id, True)]), 0)
    alone.close()
    one = crew.start("one")
    assert (one.opened.queued, one.opened.done, one.opened.kept) == (1, 1, 1)
    result = one.exchange(limit=5)
    assert ([each.url for each in result.taken], result.kept_elsewhere) == (["https://a/2"], 1)
    one.finish_all()
    assert crew.start("two").exchange().kept_elsewhere == 2


# The law

NAMES = ("one", "two", "three")
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("find"), st.sampled_from(NAMES), st.tuples(st.sampled_from("abcde"), st.integers(0, 5))),
        st.tuples(st.just("take"), st.sampled_from(NAMES), st.integers(1, 6)),
        st.tuples(st.just("finish"), st.sampled_from(NAMES), st.integers(0, 4)),
        st.tuples(st.just("kill"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("leave"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("sleep"), st.sampled_from(NAMES), st.sampled_from([1.0, 30.0, 70.0])),
    ),
    max_size=20,
)


class Played:
    """Workers that come and go at random; what must hold is checked after every step."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.count = 0
        self.found: set[str] = set()
        self.done: list[str] = []
        self.by_role = {role: self._start(role) for role in NAMES}

    def _start(self, role: str) -> Worker:
        self.count += 1
        return self.crew.start(f"{role} {self.count}")

    def step(self, action: str, role: str, argument: object) -> None:
        worker = self.by_role[role]
        if action == "find":
            host, number = argument  # type: ignore[misc]
            worker.find(entry(host, number))
            self.found.add(f"https://{host}/{number}")
        elif action == "take":
            worker.exchange(limit=argument)  # type: ignore[arg-type]
        elif action == "finish":
            rows = list(worker.held)[: argument + 1]  # type: ignore[operator]
            self.done += [worker.held[row].url for row in rows]
            worker.finish(*rows)
        elif action == "kill":
            self.crew.kill(worker.name)
            self.by_role[role] = self._start(role)
        elif action == "leave":
            worker.leave(is_finished=False)
            worker.store.close()
            del self.crew.workers[worker.name]
            self.by_role[role] = self._start(role)
        else:
            self.crew.now += argument  # type: ignore[operator]
            for each in self.by_role.values():
                each.exchange()
        self.check()

    def check(self) -> None:
        rows = self.crew.rows("SELECT host, count(DISTINCT worker) FROM frontier WHERE state = 'taken' GROUP BY host")
        assert all(workers == 1 for _, workers in rows), "two workers ask one host"
        owners = self.crew.rows(
            "SELECT count(*) FROM frontier f JOIN frontier_hosts h ON h.run_id = f.run_id AND h.host = f.host "
            "WHERE f.state = 'taken' AND h.worker IS DISTINCT FROM f.worker"
        )
        assert owners == [(0,)], "a URL was taken of a host of somebody else"

    def finish(self) -> None:
        """Everybody works until nothing is left, and one of them ends the run."""
        for _ in range(100):
            self.crew.now += DELAY
            is_left = []
            for worker in self.by_role.values():
                self.done += [taken.url for taken in worker.held.values()]
                worker.finish_all()
                is_left.append(worker.exchange(limit=3).is_left)
                self.check()
            if not any(is_left) and not any(worker.held for worker in self.by_role.values()):
                break
        else:
            raise AssertionError("it does not end")
        failed = self.crew.rows("SELECT url FROM frontier WHERE state = 'failed'")
        assert set(self.done) | {url for (url,) in failed} == self.found
        assert len(self.done) == len(set(self.done))
        ends = [worker.leave() for worker in self.by_role.values()]
        assert [end.goes_on for end in ends] == [False, True, True]


def play(database_url: str, actions: list[tuple[str, str, object]]) -> None:
    with closing(Crew(database_url)) as crew:
        played = Played(crew)
        for action in actions:
            played.step(*action)
        played.finish()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_url_is_done_once_and_no_host_is_asked_by_two(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    new_url = new_databases(kind, request, tmp_path)

    @settings(max_examples=12 if kind == "sqlite" else 3)
    @given(ACTIONS)
    def check(actions: list[tuple[str, str, object]]) -> None:
        play(new_url(), actions)

    check()
