"""What becomes of a run's addresses when its processes end, one after the other; the order of addresses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from scrapy import Request

from crawler.frontier.known_runs import find_unfinished, give_up
from crawler.frontier.store import FrontierStore
from crawler.request_meta import AGAIN, KIND
from dedup.errors import DedupError
from dedup.store.database import Database
from dedup.store.processes import is_gone, worker_name
from tests.crawler.frontier.driving import Frontier, Page, through_the_frontier


@pytest.fixture
def frontier(sqlite_url: str) -> Iterator[Frontier]:
    with closing(Frontier(sqlite_url)) as each:
        yield each


def pages(*numbers: int) -> list[Page]:
    return [Page(number) for number in numbers]


class Maker:
    """A spider, as far as the frontier needs one."""

    def make_request(self, kind: str, url: str, depth: int) -> Request:
        return Request(url, cb_kwargs={"depth": depth} if kind == "page" else {}, meta={KIND: kind})


@pytest.mark.parametrize(
    "meta",
    [
        {"depth": 3},
        {"depth": 5},
        {"depth": 3, "retry_times": 1},
        {"depth": 3, "redirect_times": 1, "redirect_ttl": 9, "redirect_urls": ["https://a.example/"]},
    ],
)
def test_request_is_the_same_after_its_way_through_the_frontier(meta: dict[str, object], sqlite_url: str) -> None:
    request = Maker().make_request("page", "https://a.example/b?c=d", 3)
    request.priority = -4
    request.headers["Referer"] = "https://a.example/"
    request.meta.update(meta, download_latency=0.5)
    found = through_the_frontier(request, Maker(), sqlite_url)
    assert (found.url, found.priority, found.cb_kwargs) == (request.url, -4, {"depth": 3})
    assert found.headers == request.headers
    assert {name: value for name, value in found.meta.items() if name in {KIND, *meta, "download_latency"}} == {
        KIND: "page",
        **meta,
    }


def test_children_and_their_parents_end_are_written_together_with_what_is_taken_next(frontier: Frontier) -> None:
    process = frontier.begin()
    process.find(Page(1))
    assert process.take() == [1]
    assert process.exchange(5, found=pages(2, 1), done=[1]) == (1, [2], False, 0)


def test_of_a_long_list_all_are_found_though_a_process_dies_after_the_first_ones(frontier: Frontier) -> None:
    process = frontier.begin()
    process.find(Page(0))
    process.take()
    assert process.exchange(found=pages(1, 2, 3, 4, 5), done=[0], most=2).new == 2
    frontier.kill(process)
    process = frontier.begin()
    assert (process.opened.queued, process.opened.done) == (3, 0)
    assert process.take() == [0, 1, 2]
    assert process.exchange(found=pages(1, 2, 3, 4, 5), done=[0]).new == 3
    assert process.take() == [3, 4, 5]


def test_what_was_done_is_fetched_once_more_where_it_is_asked_for_again(frontier: Frontier) -> None:
    process = frontier.begin()
    process.find(*pages(1, 2))
    assert process.take(1) == [1]
    process.exchange(done=[1])
    again = [Page(number, kind=AGAIN, depth=2) for number in (1, 2, 3)]
    # What still waits is fetched anyhow, and what was never found is found.
    assert process.find(*again) == 2
    assert process.take() == [2, 1, 3]
    assert process.held[1].kind == AGAIN
    process.exchange(dropped=[1, 2, 3])
    assert process.leave(is_finished=True).left == 0


def test_what_is_left_of_parked_hosts_ends_no_run_and_waits_for_the_next_process(frontier: Frontier) -> None:
    process = frontier.begin()
    hosts = [f"{number:02}.example" for number in range(70)]
    process.find(*(Page(number, host=host) for number, host in enumerate(hosts)))
    # Behind those that are looked at at once.
    assert process.exchange(5, parked=hosts[:69]).taken == [69]
    last = process.exchange(5, dropped=[69], parked=hosts[:69])
    assert (last.taken, last.is_left) == ([], False)
    assert process.exchange(5, found=[Page(99, host=hosts[0])], parked=hosts[:69]).is_left is False
    left = process.leave(is_finished=True, parked=hosts[:69])
    assert (left.left, left.parked["00.example"], len(left.parked)) == (70, 2, 69)
    process.end()
    frontier.kill(process)
    again = frontier.begin()
    assert again.opened.queued == 70
    assert len(again.take(1)) == 64


def test_a_run_has_one_process_and_others_are_left_alone(frontier: Frontier) -> None:
    one = frontier.begin()
    one.find(*pages(1, 2))
    one.take()
    with pytest.raises(DedupError, match=rf"run 'run' is under way in another process \({one.name}\)"):
        frontier.begin()
    other = frontier.begin("another run")
    assert other.find(Page(1)) == 1
    frontier.kill(one)
    assert frontier.begin().take() == [1, 2]
    assert other.take() == [1]


def test_finished_run_is_forgotten_and_its_name_begins_anew(
    frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.frontier.store.DELETED_AT_ONCE", 3)
    frontier.begin("another run").find(Page(1))

    def finish(numbers: range) -> None:
        process = frontier.begin()
        assert process.opened == (0, 0, 0, [], False)
        assert process.find(*map(Page, numbers)) == len(numbers)
        process.exchange(done=process.take(99))
        process.leave(is_finished=True)
        process.end()

    finish(range(10))
    assert frontier.unfinished() == {"another run": 1}
    # As if the process had been killed while the run was forgotten.
    with monkeypatch.context() as patched:
        patched.setattr(FrontierStore, "delete_finished", lambda self: None)
        finish(range(2))
    finish(range(1, 4))


def test_a_run_that_is_given_up_is_forgotten(frontier: Frontier) -> None:
    process = frontier.begin()
    process.find(*pages(1, 2))
    process.exchange(done=process.take(1))
    process.leave()
    process.end()
    with closing(Database(frontier.database_url)) as database:
        [run] = find_unfinished(database, worker_name())
        assert (run.name, run.left, run.kept) == ("run", 1, 1)
        give_up(database, run)
    assert frontier.unfinished() == {}
    assert frontier.begin().opened == (0, 0, 0, [], False)


def test_worker_is_gone_only_if_its_process_on_this_machine_is() -> None:
    me = worker_name()
    host, number, _ = me.split(":")
    assert is_gone(me, me) is False
    assert is_gone(f"{host}:{number}:before", me)
    assert is_gone(f"{host}:999999999:other", me)
    assert not is_gone(f"{host}:1:init", me)
    assert is_gone("elsewhere:999999999:other", me) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell")
def test_process_that_has_ended_unnoticed_by_its_parent_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        me = worker_name()
        host = me.split(":")[0]
        assert is_gone(f"{host}:{process.pid}:x", me)
        assert not is_gone(f"{host}:{os.getppid()}:x", me)


def test_of_pages_at_one_depth_likely_better_addresses_come_first(frontier: Frontier) -> None:
    addresses = ["/deep", "/a?print=1", "/long/way/to/it", "/b", "/named?page=7"]
    deep, printed, long, short, named = (
        Page(number, path=path, depth=2 if path == "/deep" else 1) for number, path in enumerate(addresses)
    )
    process = frontier.begin()
    process.find(deep, printed, long, short, named)
    # What waits no more, or was never found, cannot come first.
    names = [named, Page(9, path="/unknown")]
    taken = process.exchange(5, named=names).taken
    assert taken == [page.number for page in (named, short, long, printed, deep)]
    assert process.exchange(5, named=names).taken == []
