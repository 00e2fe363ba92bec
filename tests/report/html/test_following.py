"""`dedup review --follow`: what a crawl is at, from before it begins to after its end, and who may ask."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler.frontier.leases import LEASE_SECONDS, worker_name
from crawler.frontier.schema import Changes
from crawler.frontier.store import FrontierStore
from dedup import DedupSettings
from dedup.errors import DatabaseError
from dedup.ledger.deduplicator import Deduplicator
from dedup.ledger.runs import cancel_run
from dedup.report.html import following
from dedup.report.html.following import SILENT_SECONDS, Follower
from dedup.report.html.serving import HTML
from dedup.report.queries import read_totals
from dedup.sql.database import Database
from tests.commands import run_dedup
from tests.crawler.frontier.test_store import entry
from tests.crawls import document, text_of
from tests.report.html.browsing import Seen, in_chromium
from tests.report.html.reviewing import serving
from tests.report.html.test_review import ask
from tests.waiting import HANG

HOSTILE = "https://evil.example/<img src=x onerror=\"document.title='owned'\">/\u202egnp.exe?a=%E6%B8%AF&b='#c"


class Crawl:
    """A crawl that decides and queues what a test says."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self.deduplicator = Deduplicator(DedupSettings(database_url=database_url))
        self.run_id = 0

    def begin(self, run: str) -> None:
        self.run_id = self.deduplicator.open_run(run)

    def decide(self, *keys: str, seed: int = 1) -> None:
        self.deduplicator.decide([document(key, text_of(seed)) for key in keys], self.run_id)

    def queue(self, run: str, count: int, taken: int = 0) -> None:
        with closing(Database(self.database_url)) as database:
            store = FrontierStore(database, run, worker_name())
            store.open()
            store.exchange(Changes(found=[entry(number) for number in range(count)]), taken)

    def end(self, outcome: str = "finished") -> None:
        self.deduplicator.close_run(self.run_id, outcome)


@pytest.fixture
def crawl(sqlite_url: str) -> Iterator[Crawl]:
    crawl = Crawl(sqlite_url)
    with closing(crawl.deduplicator.database):
        yield crawl


@contextmanager
def follower_of(url: str, run: str = "", later: float = 0.0) -> Iterator[Follower]:
    with closing(Follower(lambda: url, run, lambda: time.time() + later)) as follower:
        yield follower


# What is told


def test_crawl_is_followed_from_before_its_beginning_to_its_end(database_url: str) -> None:
    with follower_of(database_url) as follower:
        waiting = follower.look()
        assert (waiting["state"], waiting["latest"]) == ("waiting", [])
        assert "run a crawl first" in waiting["told"]
        crawl = Crawl(database_url)
        with closing(crawl.deduplicator.database):
            assert follower.look()["told"] == "no crawl has begun"
            crawl.begin("monday")
            crawl.decide("https://a.example/0", "https://a.example/1")
            crawl.queue("monday", 5, taken=2)
            state = follower.look()
            assert (state["state"], state["run"], state["told"]) == ("going on", "monday", "")
            assert state["counts"] == {"decided": 2, "kept": 1, "exact": 1, "near": 0, "similar": 0, "marked": 0}
            assert state["rate"] > 0
            queue = {"left": 5, "is_more": False, "counted": 5, "hosts": [["a.example", 5]], "host_count": 1}
            assert state["queue"] == queue
            [row] = state["latest"]
            assert (row["key"], row["original"]) == ("https://a.example/1", "https://a.example/0")
            crawl.end("shutdown")
            ended = follower.look()
            assert (ended["state"], ended["rate"], ended["told"]) == ("ended", None, "how it ended: shutdown")
            crawl.begin("tuesday")
            assert follower.look()["run"] == "tuesday"


def test_named_run_is_waited_for(crawl: Crawl) -> None:
    crawl.begin("monday")
    with follower_of(crawl.database_url, "tuesday") as follower:
        assert follower.look()["told"] == "run 'tuesday' has not begun"
        crawl.begin("tuesday")
        assert follower.look()["run"] == "tuesday"


@pytest.mark.parametrize("share", [0, 10**9])
def test_counts_are_those_of_the_report(crawl: Crawl, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SHARE_OF_RECOUNTS", share)
    crawl.begin("before")
    crawl.decide("https://a.example/0")
    crawl.begin("monday")
    with follower_of(crawl.database_url) as follower:
        for number in range(4):
            crawl.decide(*(f"https://a.example/{number}-{copy}" for copy in range(number + 1)), seed=number)
            totals = read_totals(crawl.deduplicator.database, "monday")
            counts = follower.look()["counts"]
            assert counts["decided"] == sum(total.documents for total in totals.values())
            assert counts["exact"] == sum(total.documents for verdict, total in totals.items() if verdict.is_duplicate)


def test_what_is_taken_back_is_counted_no_more(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SHARE_OF_RECOUNTS", 0)
    crawl.begin("monday")
    crawl.decide("https://a.example/0", "https://a.example/1")
    with follower_of(crawl.database_url) as follower:
        assert follower.look()["counts"]["decided"] == 2
        cancel_run(crawl.deduplicator.database, "monday", force=True)
        assert follower.look()["state"] == "waiting"


def test_killed_crawl_is_told_once_its_leases_have_ended(crawl: Crawl) -> None:
    crawl.begin("monday")
    crawl.decide("https://a.example/0")
    crawl.queue("monday", 5, taken=2)
    with follower_of(crawl.database_url, later=LEASE_SECONDS / 2) as follower:
        assert follower.look()["state"] == "going on"
        assert "nothing was decided for 3" in follower.look()["told"]
    with follower_of(crawl.database_url, later=2 * LEASE_SECONDS) as follower:
        state = follower.look()
        assert state["state"] == "silent"
        assert "it was killed; scrapy continue goes on with it" in state["told"]


def test_slow_crawl_goes_on_as_long_as_somebody_is_at_work(crawl: Crawl) -> None:
    crawl.begin("monday")
    crawl.decide("https://a.example/0")
    crawl.queue("monday", 5, taken=2)
    later = 10 * SILENT_SECONDS
    with closing(Database(crawl.database_url)) as database, database.write() as connection:
        connection.exec_driver_sql(f"UPDATE frontier SET lease_until = {time.time() + later + 1} WHERE state = 'taken'")
    with follower_of(crawl.database_url, later=later) as follower:
        assert follower.look()["state"] == "going on"


def test_crawl_without_a_queue_is_slow_or_killed(crawl: Crawl) -> None:
    crawl.begin("monday")
    crawl.decide("https://a.example/0")
    with follower_of(crawl.database_url, later=2 * SILENT_SECONDS) as follower:
        state = follower.look()
        assert (state["state"], state["queue"]) == ("silent", None)
        assert "it is slow, or it was killed" in state["told"]


def test_long_queue_is_counted_in_part(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_QUEUED", 7)
    monkeypatch.setattr(following, "NEXT", 3)
    crawl.begin("monday")
    crawl.queue("monday", 11, taken=2)
    with follower_of(crawl.database_url) as follower:
        queue = follower.look()["queue"]
        assert queue == {"left": 9, "is_more": True, "counted": 5, "hosts": [["a.example", 5]], "host_count": 1}


def test_who_asks_at_once_gets_the_same_answer(crawl: Crawl) -> None:
    crawl.begin("monday")
    with follower_of(crawl.database_url) as follower:
        first = follower.answer()
        crawl.decide("https://a.example/0")
        assert follower.answer() == first
        assert follower.look()["counts"]["decided"] == 1


# Who is answered


def test_what_cannot_be_read_is_told_in_one_line() -> None:
    def answer() -> bytes:
        raise DatabaseError("database crawl.db holds no runs")

    with serving(answers={"report": (answer, HTML)}) as (server, _):
        assert ask(server, "GET", server.path + "report") == (503, b"database crawl.db holds no runs")


def test_options_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    for options in (["--all-runs"], ["--host", "a.example"]):
        done = run_dedup("review", "--follow", "--database", tmp_path / "crawl.db", *options, folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "leave out --all-runs and --host" in done.stderr
    done = run_dedup("review", "--database", tmp_path / "missing.db", folder=tmp_path)
    assert done.returncode == 1
    assert "run a crawl first" in done.stderr


# In Chromium


@contextmanager
def following_command(url: str) -> Iterator[str]:
    command = [sys.executable, "-m", "dedup", "review", "--follow", "--database", url, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=Path.cwd()) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def wait_for(seen: Seen, text: str) -> None:
    seen.page.wait_for_function("text => document.body.innerText.includes(text)", arg=text, timeout=HANG * 1000)


@in_chromium
def test_page_follows_a_crawl_and_leads_to_its_report(sqlite_url: str, browser: Any) -> None:
    with following_command(sqlite_url) as address:
        seen = Seen(browser.new_page())
        seen.page.goto(address)
        wait_for(seen, "Waiting for a crawl")
        crawl = Crawl(sqlite_url)
        with closing(crawl.deduplicator.database):
            crawl.begin("<b>monday</b>")
            crawl.decide("https://a.example/0", "https://a.example/1", HOSTILE)
            crawl.queue("<b>monday</b>", 5)
            wait_for(seen, "Crawling: 3 pages decided")
            told = seen.page.inner_text("body")
            for text in (
                "run <b>monday</b>",
                "a.example",
                "<img src=x",
                "gnp.exe",
                "Open the report as it is now",
            ):
                assert text in told
            assert "\u202e" not in told
            crawl.decide("https://a.example/2")
            wait_for(seen, "Crawling: 4 pages decided")
            assert seen.page.locator("#drops .path").first.inner_text() == "/2"
            assert seen.page.locator("main img, main b, header b").count() == 0
            seen.page.click("#drops a >> nth=1")
            seen.page.wait_for_selector("dialog[open]")
            assert "Pair" in seen.page.inner_text("#pair-title")
            assert "<img src=x" in seen.page.inner_text("dialog .sides section:last-child")
            seen.page.go_back()
            wait_for(seen, "Crawling: 4 pages decided")
            crawl.end()
            wait_for(seen, "The crawl has ended: 4 pages decided")
            seen.page.click("text=Load the full report")
            seen.page.wait_for_selector("html[data-ready]")
            assert seen.page.inner_text("h1").startswith("3 of 4")
        assert seen.page.title() != "owned"
        seen.page.goto(address)
        wait_for(seen, "The crawl has ended")
        assert seen.messages == []
    wait_for(seen, "is dedup review still running?")
    seen.page.close()
