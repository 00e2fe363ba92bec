"""Processes that crawl a run, as the frontier sees them; only here do the tests speak its language.

A process that is at work is a real one, that sleeps; tests kill it.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from hashlib import sha1
from itertools import count
from typing import Any, NamedTuple

import pytest
from scrapy import Request

from crawler.frontier.known_runs import find_unfinished
from crawler.frontier.requests import to_entry, to_request
from crawler.frontier.schema import SUSPECT, Changes, TakenUrl, WorkerState
from crawler.frontier.store import FrontierStore
from crawler.request_meta import KIND, PAGE
from crawler.settings import Part
from dedup.store.database import Database
from dedup.store.processes import worker_name

ELSEWHERE = "elsewhere.example:1"
"""A process on another machine."""


class Page(NamedTuple):
    """A page that a crawl finds."""

    number: int
    priority: int = 0
    host: str = "a.example"
    path: str = ""
    depth: int = 1
    kind: str = PAGE

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.path or f'/{self.number:03}'}"


class Exchanged(NamedTuple):
    """What a process is told: how many pages were new, which ones to fetch now, whether to wait for more."""

    new: int
    taken: list[int]
    is_left: bool
    kept_elsewhere: int


class Process:
    """A process at work on a part of a run, and the numbers of the pages that it has taken and not finished with."""

    def __init__(self, frontier: Frontier, run: str, name: str, part: Part) -> None:
        self.name = name
        self.held: dict[int, TakenUrl] = {}
        self._frontier = frontier
        self._store = FrontierStore(
            Database(frontier.database_url), run, name, part=part, clock=lambda: self._frontier.now
        )
        frontier.stores.append(self._store)
        self.opened = self._store.open()
        self.given_up = [frontier.numbers[url] for url in self.opened.given_up]

    @property
    def has_suspect(self) -> bool:
        return any(each.attempts >= SUSPECT for each in self.held.values())

    def exchange(
        self,
        limit: int = 0,
        *,
        found: Iterable[Page] = (),
        done: Collection[int] = (),
        dropped: Collection[int] = (),
        again: Mapping[int, int] | None = None,
        back: Collection[int] = (),
        passed: Collection[int] = (),
        named: Iterable[Page] = (),
        has_fallen: bool = False,
        not_now: Collection[str] = (),
        parked: Collection[str] = (),
        counts: Mapping[str, float] | None = None,
        most: int = 1_000,
        is_lost: bool = False,
    ) -> Exchanged:
        """Tell of pages by their numbers, and take others.

        Args:
            limit: how many of each host.
            found: pages that may be new.
            done: those that were kept.
            dropped: those that are dealt with and were not kept.
            again: those to be fetched once more, with their new priority.
            back: those that are not fetched now.
            passed: those that are passed over.
            named: what pages name as their own addresses.
            has_fallen: whether the rule has fallen by which some were passed over.
            not_now: hosts of which nothing is to be taken now.
            parked: those of which nothing is to be taken any more.
            counts: the stats so far.
            most: how many found ones are written at most, as in the first of several exchanges.
            is_lost: whether the connection breaks after it, so that it is made again.
        """
        again = again or {}
        changes = Changes(
            found=[self._frontier.entry(page) for page in found],
            done=[(self.held[number].id, number in done) for number in (*done, *dropped)],
            again=[(self.held[number].id, priority, _RANK, None) for number, priority in again.items()],
            back=[self.held[number].id for number in back],
            passed=[self.held[number].id for number in passed],
            has_fallen=has_fallen,
            named=[self._frontier.entry(page).url_digest for page in named],
        )
        before = frozenset(each.id for each in self.held.values())
        for number in (*done, *dropped, *again, *back, *passed):
            del self.held[number]
        state = replace(self._state(not_now, counts), parked=frozenset(parked))
        changes, _ = changes.split(most)
        result = self._store.exchange(changes, limit, state)
        if is_lost:
            assert before >= state.held
            result = self._store.exchange(changes, limit, replace(state, is_after_outage=True))
        taken = {self._frontier.numbers[each.url]: each for each in result.taken}
        assert len(taken) == len(result.taken)
        assert not taken.keys() & self.held.keys()
        self.held |= taken
        return Exchanged(result.added, list(taken), result.is_left, result.kept_elsewhere)

    def _state(self, not_now: Collection[str] = (), counts: Mapping[str, float] | None = None) -> WorkerState:
        return WorkerState(
            frozenset(each.id for each in self.held.values()),
            self.has_suspect,
            counts=counts or {},
            pauses=dict.fromkeys(not_now, 1.0),
        )

    def find(self, *pages: Page) -> int:
        return self.exchange(found=pages).new

    def take(self, limit: int = 5) -> list[int]:
        return self.exchange(limit).taken

    def leave(
        self, *, is_finished: bool = False, counts: Mapping[str, float] | None = None, parked: Collection[str] = ()
    ) -> Any:
        self.held.clear()
        state = replace(self._state(counts=counts), parked=frozenset(parked))
        return self._store.leave(Changes(), state, is_finished=is_finished)

    def end(self) -> None:
        self._store.end()

    def is_over(self) -> bool:
        return self._store.is_over()


_RANK = 0


class Frontier:
    """A database in which runs are crawled, a clock, and the processes that are at work."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self.now = 1000.0
        self.numbers: dict[str, int] = {}
        self.stores: list[FrontierStore] = []
        self._asleep: dict[int, subprocess.Popen[bytes]] = {}
        self._names = count()

    def begin(self, run: str = "run", part: Part = Part(), of: str = "") -> Process:  # noqa: B008
        """Start a process; of: the host and number of one that is not to be started."""
        if not of:
            asleep = subprocess.Popen(["sleep", "1000"])
            self._asleep[asleep.pid] = asleep
            of = f"{socket.gethostname()}:{asleep.pid}"
        return Process(self, run, f"{of}:{next(self._names)}", part)

    def kill(self, process: Process) -> None:
        asleep = self._asleep.pop(int(process.name.split(":")[1]))
        asleep.kill()
        asleep.wait()

    def entry(self, page: Page) -> Any:
        self.numbers[page.url] = page.number
        request = Request(page.url, priority=page.priority, meta={KIND: page.kind}, cb_kwargs={"depth": page.depth})
        entry = to_entry(request, sha1(page.url.encode()).digest())
        return entry if page.path else entry._replace(rank=_RANK)

    def unfinished(self) -> dict[str, int]:
        return unfinished(self.database_url)

    def close(self) -> None:
        for store in self.stores:
            store.close()
        for asleep in self._asleep.values():
            asleep.kill()
            asleep.wait()


def unfinished(database_url: str) -> dict[str, int]:
    """Return the runs that have not ended, with how many pages are left of each."""
    with closing(Database(database_url)) as database:
        return {run.name: run.left for run in find_unfinished(database, worker_name())}


def through_the_frontier(request: Request, spider: Any, database_url: str) -> Request:
    """Return a request as it comes out again."""
    with closing(FrontierStore(Database(database_url), "run", worker_name())) as store:
        store.open()
        store.exchange(Changes(found=[to_entry(request, b"digest")]), 0)
        [taken] = store.exchange(Changes(), 1).taken
        return to_request(taken, spider)


def counting_what_is_held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many addresses the process of a crawl holds after each exchange with the frontier, as it goes on."""
    exchange = FrontierStore.exchange
    held = [0]

    def count_it(self: FrontierStore, changes: Changes, limit: int, worker: WorkerState) -> Any:
        result = exchange(self, changes, limit, worker)
        finished = (changes.done, changes.again, changes.back, changes.passed)
        held.append(held[-1] + len(result.taken) - sum(map(len, finished)))
        return result

    monkeypatch.setattr(FrontierStore, "exchange", count_it)
    return held
