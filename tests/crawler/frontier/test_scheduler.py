"""Crawls on the frontier: every URL ends, what was interrupted goes on, and memory does not grow."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import TextResponse

from crawler.frontier.scheduler import IN_FLIGHT_EACH, MOST_OF_HOST
from crawler.frontier.store import FrontierStore
from crawler.politeness.pausing import MOST_FAILURES
from crawler.spider.site import SiteSpider
from tests.crawler.frontier.driving import counting_what_is_held, unfinished
from tests.crawling import crawl_command, crawl_site_here, finish, start
from tests.localsite import Asked, EndlessSite, LocalSite, Page, Reply, article, redirect


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


@pytest.mark.slow
def test_every_way_in_which_a_request_can_end_is_done_but_a_fault_of_the_spider(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = SiteSpider.parse

    async def break_on_one(self: SiteSpider, response: TextResponse, depth: int = 0) -> Any:
        async for output in parse(self, response, depth):
            if response.url.endswith("/breaks"):
                raise ValueError("a fault of the spider")
            yield output

    pages = ends()
    settings = {"REDIRECT_MAX_TIMES": 3, "DEDUP_RUN": "x"}
    with LocalSite({"/": article("front", sorted(set(pages) - NOT_LINKED)), **pages}) as site:
        with monkeypatch.context() as patched:
            patched.setattr(SiteSpider, "parse", break_on_one)
            outcome = crawl_site_here(sqlite_url, settings, url=f"{site.url}/")
        hits = site.hits
        assert unfinished(sqlite_url) == {"x": 1}
        assert pages.keys() <= hits.keys() | {"/forbidden"}
        assert (hits["/once-503"], hits["/always-503"], hits["/kept"]) == (2, MOST_FAILURES, 1)
        assert outcome.stats["finish_reason"] == "finished"
        assert outcome.count("scheduler/enqueued") == outcome.count("scheduler/dequeued")
        assert sum("redirect loop" in message for message in outcome.messages) == 2
        assert (outcome.stats["frontier/left"], outcome.stats["dedup/failed"]) == (1, "page_error")
        # That page alone is fetched by who goes on.
        again = crawl_site_here(sqlite_url, settings, url=f"{site.url}/")
        assert site.hits - hits == {"/breaks": 1, "/robots.txt": 1}
    assert [item.url.removeprefix(site.url) for item in again.items] == ["/breaks"]
    assert unfinished(sqlite_url) == {}


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
            assert unfinished(f"sqlite:///{tmp_path / 'crawl.db'}") == {}


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


@pytest.mark.slow
def test_memory_holds_a_batch_and_what_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locations = "".join(f"<url><loc>SITE/{number}</loc></url>" for number in range(500))
    held = counting_what_is_held(monkeypatch)
    with LocalSite() as site:
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
        site.pages["/sitemap.xml"] = sitemap.replace("SITE", site.url)
        outcome = crawl_site_here(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 4}, sitemap=f"{site.url}/sitemap.xml")
        assert len(site.hits) == 502
    assert outcome.count("scheduler/dequeued") == 501
    assert max(held) <= 2 * MOST_OF_HOST + IN_FLIGHT_EACH * 4


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
