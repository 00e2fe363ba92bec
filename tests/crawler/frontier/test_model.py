"""The frontier does what a simple model does, whatever a crawl finds, in whatever order its processes end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.frontier.store import MAX_ATTEMPTS
from tests.crawler.frontier.driving import Frontier, Page

HOSTS = ("a.example", "b.example")
SUSPICIOUS = 2
"""What so many processes died with is fetched when nothing else is that they died with."""


@dataclass
class Model:
    """What is known of a run, by the numbers of its pages."""

    found: dict[int, int] = field(default_factory=dict)  # with their priorities, in order
    state: dict[int, str] = field(default_factory=dict)
    died_with: dict[int, int] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)

    def in_state(self, state: str) -> list[int]:
        return [number for number, each in self.state.items() if each == state]

    def find(self, page: Page) -> bool:
        if page.number in self.found:
            return False
        self.found[page.number], self.state[page.number], self.died_with[page.number] = page.priority, "queued", 0
        return True

    def next(self, limit: int, not_now: str) -> dict[str, list[int]]:
        """What is to be fetched, by host."""
        order = list(self.found)
        queued = [number for number in self.in_state("queued") if host_of(number) != not_now and limit]
        queued.sort(key=lambda number: (-self.found[number], order.index(number)))
        taken = defaultdict(list)
        suspects = [number for number in queued if self.died_with[number] >= SUSPICIOUS]
        if suspects and not any(self.died_with[number] >= SUSPICIOUS for number in self.in_state("taken")):
            first = min(suspects, key=self.died_with.__getitem__)
            taken[host_of(first)].append(first)
        for host in HOSTS:
            others = [number for number in queued if host_of(number) == host and number not in suspects]
            taken[host] += others[:limit]
        return {host: numbers for host, numbers in taken.items() if numbers}


def host_of(number: int) -> str:
    return HOSTS[number % 2]


class Played:
    """A crawl and the model, doing the same."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self.model = Model()
        self.process = frontier.begin()

    def exchange(self, found: list[tuple[int, int]], limit: int, turn: int, not_now: str, is_lost: bool) -> None:
        """End some of what was taken, each in the next way, find some, and take some."""
        model, held = self.model, list(self.process.held)
        ways: dict[str, list[int]] = {"done": [], "dropped": [], "back": [], "passed": [], "again": []}
        for place, number in enumerate(held, turn):
            way = [*ways, ""][place % (len(ways) + 1)]
            if way:
                ways[way].append(number)
        again = dict.fromkeys(ways.pop("again"), -1 - limit)
        model.state |= dict.fromkeys([*ways["done"], *ways["dropped"]], "done")
        model.state |= dict.fromkeys([*ways["back"], *again], "queued") | dict.fromkeys(ways["passed"], "passed")
        model.kept |= set(ways["done"])
        model.found |= again
        pages = [Page(number, priority, host_of(number)) for number, priority in found]
        new = sum(map(model.find, pages))
        expected = model.next(limit, not_now)
        told = self.process.exchange(limit, found=pages, again=again, not_now=[not_now], is_lost=is_lost, **ways)
        assert told.new == new or is_lost
        self._take(told.taken, expected)
        assert told.is_left == ("queued" in model.state.values())

    def _take(self, taken: list[int], expected: dict[str, list[int]]) -> None:
        found = defaultdict(list)
        for number in taken:
            found[host_of(number)].append(number)
            assert self.process.held[number].attempts == self.model.died_with[number]
        assert found == expected
        self.model.state |= dict.fromkeys(taken, "taken")

    def fall(self) -> None:
        self.model.state |= dict.fromkeys(self.model.in_state("passed"), "queued")
        self.process.exchange(has_fallen=True)

    def crash(self) -> None:
        self._take(self.process.take(3), self.model.next(3, ""))
        given_up = []
        for number in self.model.in_state("taken"):
            self.model.died_with[number] += 1
            is_last = self.model.died_with[number] == MAX_ATTEMPTS
            self.model.state[number] = "given up" if is_last else "queued"
            given_up += [number] * is_last
        self.frontier.kill(self.process)
        self._go_on(given_up)

    def stop(self, *, is_finished: bool = False) -> None:
        model = self.model
        model.state |= dict.fromkeys(model.in_state("taken"), "queued")
        left = self.process.leave(is_finished=is_finished)
        assert (left.left, left.passed) == (len(model.in_state("queued")), len(model.in_state("passed")))
        self.process.end()
        if is_finished and not left.left:
            self.model = Model()
        assert self.frontier.unfinished().get("run", 0) == len(self.model.in_state("queued"))
        self._go_on([])

    def finish(self) -> None:
        self.stop(is_finished=True)

    def _go_on(self, given_up: list[int]) -> None:
        self.process = self.frontier.begin()
        # Its rules may be others.
        self.model.state |= dict.fromkeys(self.model.in_state("passed"), "queued")
        opened, states = self.process.opened, list(self.model.state.values())
        assert (opened.queued, opened.done) == (states.count("queued"), states.count("done"))
        assert (opened.kept, sorted(self.process.given_up)) == (len(self.model.kept), sorted(given_up))

    def to_the_end(self) -> None:
        """Whatever has happened, each page comes to an end, and the run with the last."""
        self.fall()
        # Of those that processes died with there is one at a time.
        for _ in range(len(self.model.found) + 1):
            held = list(self.process.held)
            self.model.state |= dict.fromkeys(held, "done")
            self.model.kept |= set(held)
            expected = self.model.next(9, "")
            self._take(self.process.exchange(9, done=held).taken, expected)
        self.finish()
        assert self.model == Model()
        assert self.frontier.unfinished() == {}


FOUND = st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 1)), max_size=5)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(FOUND, st.integers(0, 4), st.integers(0, 5), st.sampled_from(["", "", *HOSTS]), st.booleans()),
        st.sampled_from([Played.crash, Played.crash, Played.stop, Played.fall, Played.finish]),
    ),
    max_size=25,
)


def new_databases(kind: str, request: pytest.FixtureRequest, folder: Path) -> Callable[[], str]:
    """Return what makes the URL of a new database of a kind."""
    if kind == "postgresql":
        return request.getfixturevalue("postgresql_server")().create_database  # type: ignore[no-any-return]
    return map("sqlite:///{}/{}.db".format, repeat(folder), count()).__next__


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_run_goes_as_in_the_model(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    new_url = new_databases(kind, request, tmp_path)

    @given(ACTIONS)
    def check(actions: list[object]) -> None:
        with closing(Frontier(new_url())) as frontier:
            played = Played(frontier)
            for action in actions:
                if isinstance(action, tuple):
                    played.exchange(*action)
                else:
                    action(played)  # type: ignore[operator]
            played.to_the_end()

    check()
