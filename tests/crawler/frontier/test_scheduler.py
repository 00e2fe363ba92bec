"""Crawls on the frontier: every URL ends, what was interrupted goes on, and memory does not grow."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from crawler.frontier import scheduler as scheduler_module
from crawler.frontier.scheduler import BATCH, MOST_RETURNS, FrontierScheduler
from crawler.frontier.schema import TakenUrl, to_entry, to_request
from crawler.frontier.store import FrontierStore
from crawler.politeness.pausing import MOST_FAILURES
from crawler.request_meta import KIND, ROW
from crawler.spider.site import SiteSpider
from tests.crawling import ask, crawl_command, crawl_site_here, finish, start
from tests.localsite import Asked, EndlessSite, LocalSite, Page, Reply, article, redirect


@pytest.fixture
def unforgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of finished runs stay, for the test to look at."""
    monkeypatch.setattr(FrontierStore, "delete_finished", lambda self: None)


def states(database: Path) -> dict[str, str]:
    rows = ask(f"sqlite:///{database}", "SELECT url, state FROM frontier")
    return {re.sub("^https?://[^/]+", "", row["url"]): row["state"] for row in rows}


def fails_once(body: str) -> Any:
    asked = Counter[str]()

    def answer(request: Asked) -> Reply:
        asked[request.path] += 1
        return Reply(body.encode(), 503 if asked[request.path] == 1 else 200)

    return answer


def ends() -> dict[str, Page]:
    """Every way in which a request can end, each but four linked from the front page."""
    return {
        "/kept": article("kept", ["/child"]),
        "/child": article("child"),
        "/copy": article("kept", ["/child"]),
        "/gone": Reply(b"gone", 404),
        "/empty": b" ",
        "/picture": Reply(b"\x89PNG" * 20_000, headers={"Content-Type": "image/png"}),
        "/hang-up": Reply(hang_up=True),
        "/always-503": Reply(b"", 503),
        "/once-503": fails_once(article("once")),
        "/noindex": article("noindex", head='<meta name="robots" content="noindex">'),
        "/forbidden": article("forbidden"),
        "/moved": redirect("/kept"),
        "/moved-twice": redirect("/moved-once"),
        "/moved-once": redirect("/target"),
        "/target": article("target"),
        "/itself": redirect("/itself"),
        "/there": redirect("/back"),
        "/back": redirect("/there"),
        "/endless-1": redirect("/endless-2"),
        "/endless-2": redirect("/endless-3"),
        "/endless-3": redirect("/endless-4"),
        "/offsite": redirect("https://elsewhere.example/"),
        "/mail": redirect("mailto:a@example.com"),
        "/breaks": article("breaks"),
        "/robots.txt": Reply(b"User-agent: *\nDisallow: /forbidden\n", headers={"Content-Type": "text/plain"}),
    }


NOT_LINKED = {"/child", "/target", "/back", "/robots.txt"}


@pytest.mark.usefixtures("unforgotten")
@pytest.mark.slow
def test_every_way_in_which_a_request_can_end_is_done_but_a_fault_of_the_spider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    parse = SiteSpider.parse

    async def break_on_one(self: SiteSpider, response: TextResponse, depth: int = 0) -> Any:
        async for output in parse(self, response, depth):
            if response.url.endswith("/breaks"):
                raise ValueError("a fault of the spider")
            yield output

    monkeypatch.setattr(SiteSpider, "parse", break_on_one)
    pages = ends()
    linked = sorted(set(pages) - NOT_LINKED)
    with LocalSite({"/": article("front", linked), **pages}) as site:
        outcome = crawl_site_here(database_url, {"REDIRECT_MAX_TIMES": 3}, url=f"{site.url}/")
        hits = site.hits
    rows = ask(database_url, "SELECT url, state FROM frontier")
    known = {row["url"].removeprefix(site.url): row["state"] for row in rows}
    assert {path for path, state in known.items() if state != "done"} == {"/breaks"}
    assert set(known) >= {"/", *linked, "/child", "/target", "/back"}
    assert (hits["/once-503"], hits["/always-503"], hits["/kept"]) == (2, MOST_FAILURES, 1)
    assert outcome.stats["finish_reason"] == "finished"
    # And /itself is followed to itself.
    again = outcome.count("crawler/put_back") + MOST_RETURNS
    assert outcome.count("scheduler/enqueued") == outcome.count("scheduler/dequeued") == len(rows) + again
    assert sum("redirect loop" in message for message in outcome.messages) == 2
    assert (outcome.stats["frontier/left"], outcome.stats["dedup/failed"]) == (1, "page_error")


@pytest.mark.slow
def test_finished_run_is_forgotten_and_its_name_begins_anew(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/": article("front"), "/a": article("a", ["/b"]), "/b": article("b")}
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    with LocalSite(pages) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url}/sitemap.xml".encode()
        site.pages["/sitemap.xml"] = f'<urlset xmlns="{namespace}"><url><loc>{site.url}/a</loc></url></urlset>'
        for verdict in ("new", "unchanged"):
            settings = {"DEDUP_RUN": "again"}
            outcome = crawl_site_here(tmp_path / "crawl.db", settings, url=f"{site.url}/", sitemap="auto")
            assert outcome.count(f"dedup/{verdict}") == 3
            depths = {item.url.removeprefix(site.url): item.depth for item in outcome.items}
            assert depths == {"/": 0, "/a": 0, "/b": 1}
            assert states(tmp_path / "crawl.db") == {}
            assert ask(f"sqlite:///{tmp_path / 'crawl.db'}", "SELECT * FROM frontier_runs") == []


@pytest.mark.slow
def test_crawl_that_was_killed_after_its_last_page_has_nothing_to_fetch_and_succeeds(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    with LocalSite({"/": article("front")}) as site:
        with pytest.MonkeyPatch.context() as patched:
            leave = FrontierStore.leave
            patched.setattr(FrontierStore, "leave", lambda *args, is_finished: leave(*args, is_finished=False))
            crawl_site_here(database, {"DEDUP_RUN": "x"}, url=f"{site.url}/")
        outcome = crawl_site_here(database, {"DEDUP_RUN": "x"}, url=f"{site.url}/")
        assert site.hits["/"] == 1
    assert outcome.stats["finish_reason"] == "finished"
    assert not [message for message in outcome.messages if "nothing was fetched" in message]


class CountingScheduler(FrontierScheduler):
    """Notes how many requests it holds, and how many more than the engine are under way, as each is taken."""

    ready: ClassVar[list[int]] = []
    more_than_engine: ClassVar[list[int]] = []

    def next_request(self) -> Request | None:
        held = len(self._ready)
        request = super().next_request()
        if request is not None:
            self.ready.append(held)
            self.more_than_engine.append(len(self._in_flight) - 1 - len(self._crawler.engine._slot.inprogress))
        return request


@pytest.mark.slow
def test_memory_holds_a_batch_and_what_the_engine_holds(tmp_path: Path) -> None:
    ready, more_than_engine = CountingScheduler.ready, CountingScheduler.more_than_engine
    locations = "".join(f"<url><loc>SITE/{number}</loc></url>" for number in range(700))
    with LocalSite() as site:
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
        site.pages["/sitemap.xml"] = sitemap.replace("SITE", site.url)
        settings = {"SCHEDULER": CountingScheduler}
        outcome = crawl_site_here(tmp_path / "crawl.db", settings, sitemap=f"{site.url}/sitemap.xml")
    assert outcome.count("scheduler/dequeued") == len(ready) == 701
    assert max(ready) <= BATCH + 1
    assert max(more_than_engine) <= 0


@pytest.mark.slow
def test_process_that_takes_too_much_memory_ends_its_crawl_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.runtime._CHECK_SECONDS", 0.1)
    with EndlessSite() as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", {"MEMUSAGE_LIMIT_MB": 1}, url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == outcome.stats["dedup/failed"] == "memory"
    assert sum("MEMUSAGE_LIMIT_MB allows 1" in message for message in outcome.messages) == 1


@pytest.mark.slow
def test_failing_frontier_ends_the_crawl_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(FrontierStore, "exchange", fail)
    with LocalSite({"/": article("front")}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
    assert outcome.stats["finish_reason"] == "database_error"
    assert sum("the frontier failed: RuntimeError: out of order" in message for message in outcome.messages) == 1
    assert outcome.tracebacks == []


@pytest.mark.thorough
@pytest.mark.slow
def test_page_that_ends_the_process_again_and_again_is_given_up_and_named(tmp_path: Path) -> None:
    processes: list[int] = []

    def kill_who_asks(asked: Asked) -> Reply:
        os.killpg(processes[-1], signal.SIGKILL)
        return Reply(hang_up=True)

    settings = {"DEDUP_RUN": "x", "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'crawl.db'}"}
    with LocalSite({"/": article("front", ["/fatal", "/a"]), "/a": article("a"), "/fatal": kill_who_asks}) as site:
        for _ in range(6):
            process = start(crawl_command({"url": f"{site.url}/"}, settings))
            processes.append(process.pid)
            result = finish(process, database_url=settings["DEDUP_DATABASE_URL"])
        assert (site.hits["/fatal"], len(processes)) == (5, 6)
    assert (result.status, result.skipped["gave_up"]) == (0, 1)
    assert result.says("/fatal", "gave up", "5 processes")
    assert result.paths(site.url) == ["/", "/a"]


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
def test_request_is_the_same_after_its_way_through_the_table(meta: dict[str, Any]) -> None:
    request = Maker().make_request("page", "https://a.example/b?c=d", 3)
    request.priority = -4
    request.headers["Referer"] = "https://a.example/"
    request.meta.update(meta, download_latency=0.5)
    kept = to_entry(request, b"digest")
    assert kept.host == "a.example"
    taken = TakenUrl(7, kept.url, kept.kind, kept.depth, kept.priority, kept.referrer, kept.meta, 0)
    rebuilt = to_request(taken, Maker())
    assert (rebuilt.url, rebuilt.priority, rebuilt.cb_kwargs) == (request.url, -4, {"depth": 3})
    assert rebuilt.headers == request.headers
    assert rebuilt.meta == {KIND: "page", ROW: 7, **meta}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "POLL_SECONDS", 0.2)
