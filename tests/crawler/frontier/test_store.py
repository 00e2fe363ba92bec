"""The frontier's table against a simple model, and what becomes of URLs whose worker ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha1
from itertools import count, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request

from crawler.frontier.schema import (
    NAMED,
    Changes,
    Entry,
    ExchangeResult,
    OpenResult,
    TakenUrl,
    WorkerState,
    rank_of,
    to_entry,
)
from crawler.frontier.store import MAX_ATTEMPTS, FrontierStore, Part, is_gone, worker_name
from crawler.request_meta import ARCHIVED
from dedup.errors import DedupError
from dedup.store.database import Database
from tests.crawling import ask


def entry(number: int, priority: int = 0, host: str = "a.example") -> Entry:
    url = f"https://{host}/{number}"
    return Entry(url, sha1(url.encode()).digest(), host, "page", 1, priority, 0, None, None)


def test_long_list_is_written_in_parts_and_its_page_is_done_with_the_last() -> None:
    changes = Changes(list(map(entry, range(5))), done=[(1, True)], again=[(2, 0, 0, None)], back=[3], named=[b"4"])
    first, rest = changes.split(2)
    assert first == Changes(changes.found[:2], again=changes.again, back=[3])
    second, rest = rest.split(2)
    assert second == Changes(changes.found[2:4])
    assert rest.split(2) == (Changes(changes.found[4:], done=[(1, True)], named=[b"4"]), Changes())


def test_what_was_passed_over_waits_again_once_a_rule_has_fallen(tmp_path: Path) -> None:
    with closing(Database(f"sqlite:///{tmp_path / 'crawl.db'}")) as database:
        store = FrontierStore(database, "run", worker_name())
        store.open()
        taken = store.exchange(Changes(list(map(entry, range(3)))), 3).taken
        assert not store.exchange(
            Changes(done=[(taken[0].id, True)], passed=[each.id for each in taken[1:]]), 3
        ).is_left
        again = store.exchange(Changes(has_fallen=True), 3).taken
        assert numbers(again) == numbers(taken[1:])
        left = store.leave(Changes(passed=[again[0].id]), WorkerState(), is_finished=True)
        assert (left.passed, left.left) == (1, 1)


def numbers(taken: list[TakenUrl]) -> list[int]:
    return [int(each.url.rpartition("/")[2]) for each in taken]


def new_databases(kind: str, request: pytest.FixtureRequest, folder: Path) -> Callable[[], str]:
    """Return what makes the URL of a new database of a kind."""
    if kind == "postgresql":
        return request.getfixturevalue("postgresql_server")().create_database  # type: ignore[no-any-return]
    return map("sqlite:///{}/{}.db".format, repeat(folder), count()).__next__


class Workers:
    """Workers that come and go, one after the other or at the same time, on one database."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self.now = 1000.0
        self.ended: set[str] = set()
        self.nobody_knows = False
        self._stores: list[FrontierStore] = []

    def begin(self, name: str, run: str = "run", part: Part = Part()) -> tuple[FrontierStore, OpenResult]:  # noqa: B008
        store = FrontierStore(
            Database(self.database_url),
            run,
            name,
            part=part,
            has_ended=lambda worker, me: None if self.nobody_knows else worker in self.ended,
            clock=lambda: self.now,
        )
        self._stores.append(store)
        return store, store.open()

    def close(self) -> None:
        for store in self._stores:
            store.close()

    def states(self) -> dict[int, str]:
        rows = ask(self.database_url, "SELECT url, state FROM frontier")
        return {int(row["url"].rpartition("/")[2]): row["state"] for row in rows}


@pytest.fixture
def workers(sqlite_url: str) -> Iterator[Workers]:
    with closing(Workers(sqlite_url)) as each:
        yield each


def take(store: FrontierStore, limit: int, *, suspect: bool = True) -> list[TakenUrl]:
    return store.exchange(Changes(), limit, WorkerState(has_suspect=not suspect)).taken


def add(store: FrontierStore, *entries: Entry) -> ExchangeResult:
    return store.exchange(Changes(found=list(entries)), 0)


def finish(store: FrontierStore, *taken: TakenUrl) -> None:
    store.exchange(Changes(done=[(each.id, True) for each in taken]), 0)


def test_queued_url_is_taken_once_and_comes_back_as_it_was_or_for_a_retry(workers: Workers) -> None:
    store, _ = workers.begin("one")
    whole = Entry("https://a.example/7", b"7" * 20, "a.example", "sitemap", 3, -3, 5, "https://a.example/", '{"a":1}')
    assert add(store, whole).added == 1
    [taken] = take(store, 5)
    assert (taken.url, taken.kind, taken.depth, taken.priority) == (whole.url, "sitemap", 3, -3)
    assert (taken.referrer, taken.meta, taken.attempts) == (whole.referrer, whole.meta, 0)
    assert take(store, 5) == []
    store.exchange(Changes(again=[(taken.id, -7, 5, '{"retry_times":1}')]), 0)
    assert take(store, 5) == [taken._replace(priority=-7, meta='{"retry_times":1}')]
    other, _ = workers.begin("one", "another run")
    assert add(other, whole).added == 1


def test_children_and_their_parents_end_are_written_together_with_what_is_taken_next(workers: Workers) -> None:
    store, _ = workers.begin("one")
    add(store, entry(1))
    [parent] = take(store, 1)
    result = store.exchange(Changes(found=[entry(2, -1), entry(1)], done=[(parent.id, True)]), 5)
    assert (result.added, numbers(result.taken), result.is_left) == (1, [2], False)
    assert workers.states() == {1: "done", 2: "taken"}


def test_continued_run_knows_what_is_done_and_kept_and_queues_the_rest(workers: Workers) -> None:
    store, opened = workers.begin("one")
    assert opened == OpenResult(0, 0, 0, [])
    add(store, *map(entry, range(6)))
    first, second, *_ = take(store, 4)
    store.exchange(Changes(done=[(first.id, True), (second.id, False)]), 0)
    workers.ended.add("one")
    store, opened = workers.begin("two")
    assert opened == OpenResult(4, 2, 1, [])
    assert numbers(take(store, 10)) == [2, 3, 4, 5]


def test_what_another_process_is_at_is_left_alone_until_that_has_ended(workers: Workers) -> None:
    one, _ = workers.begin("one")
    add(one, entry(1), entry(2))
    take(one, 2)
    with pytest.raises(DedupError, match=r"run 'run' is under way in another process \(one\)"):
        workers.begin("two")
    workers.ended.add("one")
    two, opened = workers.begin("two")
    assert (opened.queued, numbers(take(two, 5))) == (2, [1, 2])


def test_suspects_are_taken_one_at_a_time(workers: Workers) -> None:
    for name in ("one", "two"):
        store, _ = workers.begin(name)
        add(store, *map(entry, range(3)))
        take(store, 3)
        workers.ended.add(name)
    store, _ = workers.begin("three")
    add(store, entry(9, -5))
    assert numbers(take(store, 5)) == [0, 9]
    assert take(store, 5, suspect=False) == []
    assert numbers(take(store, 5)) == [1]
    result = store.exchange(Changes(), 5)
    assert (numbers(result.taken), result.is_left) == ([2], False)


def test_finished_run_is_forgotten_and_its_name_begins_anew(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.frontier.store.DELETED_AT_ONCE", 3)
    other, _ = workers.begin("other", "another run")
    add(other, entry(1))
    store, _ = workers.begin("one")
    add(store, *map(entry, range(10)))
    finish(store, *take(store, 10))
    store.leave(Changes(), WorkerState(), is_finished=True)
    assert len(workers.states()) == 10
    store.end()
    assert ask(workers.database_url, "SELECT name FROM frontier_runs") == [{"name": "another run"}]
    assert workers.states() == {1: "queued"}
    store, opened = workers.begin("two")
    assert opened == OpenResult(0, 0, 0, [])
    assert add(store, entry(1), entry(2)).added == 2
    # As if the process had been killed while the run was forgotten.
    finish(store, *take(store, 2))
    with closing(Database(workers.database_url)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE frontier_runs SET finished = 1 WHERE name = 'run'")
    store, opened = workers.begin("three")
    assert (opened.done, add(store, entry(1)).added) == (0, 1)


def test_worker_is_gone_only_if_its_process_on_this_machine_is() -> None:
    me = worker_name()
    host, number, _ = me.split(":")
    assert is_gone(me, me) is False
    assert is_gone(f"{host}:{number}:before", me)
    assert is_gone(f"{host}:999999999:other", me)
    assert not is_gone(f"{host}:1:init", me)
    assert is_gone("elsewhere:999999999:other", me) is None


@dataclass
class Model:
    """What the table has to do, in a few lines."""

    order: list[tuple[int, int]]  # priority and number, as found
    state: dict[int, str]
    attempts: dict[int, int]

    def next(self, limit: int) -> list[int]:
        queued = [(-priority, place) for place, (priority, number) in enumerate(self.order) if self._is_free(number)]
        return [self.order[place][1] for _, place in sorted(queued)[:limit]]

    def _is_free(self, number: int) -> bool:
        return self.state[number] == "queued" and self.attempts[number] < 2

    def suspect(self) -> list[int]:
        found = [
            (self.attempts[number], -priority, place, number)
            for place, (priority, number) in enumerate(self.order)
            if self.state[number] == "queued" and self.attempts[number] >= 2
        ]
        return [min(found)[3]] if found else []


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("find"), st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 1)), max_size=5)),
        st.tuples(st.just("take"), st.integers(0, 4)),
        st.tuples(st.just("done"), st.integers(0, 3)),
        st.tuples(st.just("retry"), st.integers(-4, 0)),
        st.tuples(st.just("crash"), st.none()),
        st.tuples(st.just("stop"), st.none()),
    ),
    max_size=25,
)


class Played:
    """The store and the model, doing the same."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.count = 0
        self.model = Model([], {}, {})
        self.taken: dict[int, TakenUrl] = {}
        self.store, _ = workers.begin("worker 0")

    def find(self, found: list[tuple[int, int]]) -> None:
        result = add(self.store, *(entry(number, priority) for number, priority in found))
        new = 0
        for number, priority in found:
            if number not in self.model.state:
                new += 1
                self.model.order.append((priority, number))
                self.model.state[number], self.model.attempts[number] = "queued", 0
        assert result.added == new

    def take(self, limit: int) -> None:
        expected = (self.model.suspect() if limit else []) + self.model.next(limit)
        result = self.store.exchange(Changes(), limit)
        assert numbers(result.taken) == expected
        for each, number in zip(result.taken, expected, strict=True):
            self.taken[number] = each
            self.model.state[number] = "taken"
            assert each.attempts == self.model.attempts[number]
        if not result.is_left:
            assert "queued" not in self.model.state.values()

    def done(self, choice: int) -> None:
        for number in list(self.taken)[choice : choice + 2]:
            finish(self.store, self.taken.pop(number))
            self.model.state[number] = "done"

    def retry(self, priority: int) -> None:
        for number in list(self.taken)[:1]:
            self.store.exchange(Changes(again=[(self.taken.pop(number).id, priority, 0, None)]), 0)
            place = [known for _, known in self.model.order].index(number)
            self.model.order[place] = (priority, number)
            self.model.state[number] = "queued"

    def crash(self, _: object) -> None:
        for number in self.taken:
            self.model.attempts[number] += 1
            self.model.state[number] = "failed" if self.model.attempts[number] >= MAX_ATTEMPTS else "queued"
        self.workers.ended.add(f"worker {self.count}")
        self._reopen()

    def stop(self, _: object) -> None:
        for number in self.taken:
            self.model.state[number] = "queued"
        self.store.leave(Changes(), WorkerState(), is_finished=False)
        self.workers.ended.add(f"worker {self.count}")
        self._reopen()

    def _reopen(self) -> None:
        self.taken.clear()
        self.count += 1
        self.store.close()
        self.store, opened = self.workers.begin(f"worker {self.count}")
        states = list(self.model.state.values())
        assert (opened.queued, opened.done) == (states.count("queued"), states.count("done"))


def play(database_url: str, actions: list[tuple[str, object]]) -> None:
    with closing(Workers(database_url)) as workers:
        played = Played(workers)
        for name, argument in actions:
            getattr(played, name)(argument)
            assert workers.states() == played.model.state
        (played.crash if played.taken else played.stop)(None)
        while "queued" in played.model.state.values():
            played.take(4)
            played.done(0)
        assert set(played.model.state.values()) <= {"done", "taken", "failed"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_table_does_what_the_model_does(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    new_url = new_databases(kind, request, tmp_path)

    @settings(max_examples=40 if kind == "sqlite" else 10)
    @given(ACTIONS)
    def check(actions: list[tuple[str, object]]) -> None:
        play(new_url(), actions)

    check()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell")
@pytest.mark.slow
def test_process_that_has_ended_unnoticed_by_its_parent_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        me = worker_name()
        host = me.split(":")[0]
        assert is_gone(f"{host}:{process.pid}:x", me)
        assert not is_gone(f"{host}:{os.getppid()}:x", me)


def test_of_pages_at_one_depth_likely_better_addresses_come_first(workers: Workers) -> None:
    store, _ = workers.begin("a")
    addresses = ["/a?print=1", "/long/way/to/it", "/b", "/named?page=7", "/deep"]
    entries = [
        to_entry(request_for(f"https://a.example{path}", depth=2 if path == "/deep" else 1), path.encode().rjust(20))
        for path in addresses
    ]
    add(store, *entries)
    # What waits no more, or was never found, cannot come first.
    named = [b"/named?page=7".rjust(20), b"/unknown".rjust(20)]
    taken = store.exchange(Changes(named=named), 5).taken
    paths = [each.url.removeprefix("https://a.example") for each in taken]
    assert paths == ["/named?page=7", "/b", "/long/way/to/it", "/a?print=1", "/deep"]
    assert store.exchange(Changes(named=named), 5).taken == []


def test_rank_ignores_the_host_and_keeps_the_order_of_archives() -> None:
    short, long = (rank_of(request_for(f"https://{host}/a")) for host in ("a.example", "a.very.long.example"))
    assert short == long
    assert rank_of(request_for("https://a.example/a?b=c", kind=ARCHIVED)) == NAMED


def request_for(url: str, *, kind: str = "page", depth: int = 1) -> Request:
    return Request(url, meta={"kind": kind}, cb_kwargs={"depth": depth})
