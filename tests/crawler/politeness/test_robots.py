"""robots.txt by RFC 9309, and how fast it lets a site be asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import Settings

from crawler.politeness import robots
from crawler.politeness.hosts import Hosts
from settings import default
from tests.crawler.conftest import Crawling
from tests.crawling import crawl, crawl_site_here, pages_in
from tests.localsite import Asked, LocalSite, Reply, article, gzipped, redirect

pytestmark = pytest.mark.slow


PLAIN = {"Content-Type": "text/plain"}


def rules(text: str, encoding: str = "utf-8") -> Reply:
    return Reply(text.encode(encoding), headers=PLAIN)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    pages = {"/": article("front", ["/private", "/page"]), "/private": article("private"), "/page": article("page")}
    with LocalSite(pages) as site:
        yield site


@pytest.mark.parametrize("failure", [Reply(b"", 500), Reply(b"", 429), Reply(hang_up=True)])
def test_nothing_is_fetched_until_robots_txt_is_answered(failure: Reply, crawling: Crawling, site: LocalSite) -> None:
    def answer(asked: Asked) -> Reply:
        return failure if site.hits["/robots.txt"] < 6 else rules("User-agent: *\nDisallow: /private\n")

    # One that has never answered at all is not waited for.
    site.pages["/robots.txt"] = lambda asked: rules("") if site.hits["/robots.txt"] == 1 else answer(asked)
    site.pages["/"] = lambda _: Reply(b"", 503) if site.hits["/"] == 1 else article("front", ["/private", "/page"])
    crawling(site)
    assert crawling.kept == ["/", "/page"]
    paths = [asked.path for asked in site.asked]
    assert paths[:2] == ["/robots.txt", "/"]
    assert paths[2:7] == ["/robots.txt"] * 5
    assert set(paths[7:]) == {"/", "/page"}


def test_all_that_wait_for_robots_txt_obey_it(tmp_path: Path, site: LocalSite) -> None:
    # All start at once: the others wait for what the first has asked for.
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /private/\n", headers=PLAIN, stall=0.5)
    starts = [f"{site.url}/private/{number}" for number in range(5)]
    crawl_site_here(tmp_path / "crawl.db", url=",".join(starts))
    assert [request.path for request in site.asked] == ["/robots.txt"]


def test_robots_txt_at_another_port_is_obeyed(crawling: Crawling, site: LocalSite) -> None:
    with LocalSite({"/robots.txt": rules(PRIVATE)}) as other:
        site.pages["/robots.txt"] = redirect(f"{other.url}/robots.txt", 301)
        crawling(site)
    assert crawling.kept == ["/", "/page"]


@pytest.mark.parametrize("is_packed", [False, True])
def test_of_a_large_robots_txt_the_beginning_is_obeyed(is_packed: bool, tmp_path: Path, site: LocalSite) -> None:
    text = (PRIVATE + "# nothing\n" * (2 << 20)).encode()
    site.pages["/robots.txt"] = gzipped(text, "text/plain") if is_packed else Reply(text, headers=PLAIN)
    result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert (result.status, result.paths(site.url)) == (0, ["/", "/page"])


PRIVATE = "User-agent: *\nDisallow: /private\n"
OTHERS = "".join(f"User-agent: {other}\nDisallow: /\n\n" for other in ("near", "example", "neardup-images", "com"))


@pytest.mark.parametrize(
    ("answers", "is_private"),
    [
        ({"": Reply(b"User-agent: *\nDisallow: /\n", 403)}, False),
        ({"-5": rules(PRIVATE)}, True),
        ({"": redirect("/robots.txt", 301)}, False),
        ({"": rules(OTHERS + PRIVATE, "utf-16")}, True),
    ],
    ids=["not there", "redirects to another host", "redirects without an end", "names of others, UTF-16"],
)
def test_what_robots_txt_says_is_obeyed(
    answers: dict[str, Reply], is_private: bool, crawling: Crawling, site: LocalSite
) -> None:
    site.pages |= {f"/robots-{number}": redirect(f"/robots-{number + 1}", 301) for number in range(5)}
    site.pages |= {f"/robots{name or '.txt'}": reply for name, reply in answers.items()}
    if "-5" in answers:
        site.pages["/robots.txt"] = redirect(f"{site.other_url}/robots-0", 301)
    crawling(site, {"USER_AGENT": "neardup/0.1 (+you@example.com)"})
    assert crawling.kept == ["/", "/page"] + ["/private"] * (not is_private)


def test_rules_that_are_not_kept_are_fetched_again_and_obeyed(
    crawling: Crawling, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots, "MOST_KEPT_BYTES", 0)
    monkeypatch.setattr(robots, "_IN_A_MOMENT", 0)  # nor are they read at once
    site.pages["/robots.txt"] = rules("User-agent: *\nDisallow: /private\n")
    crawling(site, url=f"{site.url}/,{site.other_url}/")
    assert {each["url"].rpartition("/")[2] for each in pages_in(crawling.database_url)} == {"", "page"}
    assert site.hits["/robots.txt"] > 2


def test_what_is_under_way_in_a_pause_does_not_ask_for_robots_txt_again(tmp_path: Path, site: LocalSite) -> None:
    busy = [Reply(b"", 503)]
    site.pages["/busy"] = lambda _: busy.pop() if busy else Reply(article("busy").encode())
    # The first page besides the start, for which an address is made up and asked for at once.
    site.pages["/slow"] = Reply(article("slow").encode(), stall=0.2)
    site.pages["/"] = article("front", ["/busy", "/slow"])
    pausing = {"PATIENCE": 300.0, "pause_seconds": "crawler.politeness.hosts.pause_seconds"}
    constants = {f"crawler.politeness.hosts.{name}": value for name, value in pausing.items()}
    result = crawl(tmp_path / "crawl.db", constants=constants, url=f"{site.url}/")
    assert len(result.pages) == 3
    assert site.made_up
    assert site.hits["/robots.txt"] == 2


def test_crawl_delay_is_obeyed_and_said(tmp_path: Path, site: LocalSite) -> None:
    site.pages["/robots.txt"] = rules("User-agent: *\nCrawl-delay: 0.3\n")
    outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
    assert f"127.0.0.1:{site.port} asks for 0.3 s between two requests (Crawl-delay)" in outcome.messages
    times = [asked.time for asked in site.asked]
    # What the server sees may be closer together by what the network takes.
    assert min(later - sooner for sooner, later in pairwise(times)) > 0.2
    assert len(times) == 4


def test_crawl_delay_of_hours_is_cut_and_said(tmp_path: Path, site: LocalSite) -> None:
    site.pages["/robots.txt"] = rules("User-agent: *\nCrawl-delay: 7200\nDisallow: /\n")
    outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
    assert f"127.0.0.1:{site.port} asks for 7200 s between two requests (Crawl-delay); it gets 30" in outcome.messages


def test_least_delay_of_the_command_line_holds_for_a_fast_server_too(tmp_path: Path, site: LocalSite) -> None:
    settings = {"DOWNLOAD_DELAY": 0.3, "AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0}
    result = crawl(tmp_path / "crawl.db", settings, url=f"{site.url}/")
    assert len(result.pages) == 3
    assert min(later.time - sooner.time for sooner, later in pairwise(site.asked)) > 0.2


def test_default_delay_is_a_second_and_not_for_this_machine(tmp_path: Path, site: LocalSite) -> None:
    assert (default.DOWNLOAD_DELAY, default.DOWNLOAD_DELAY_JITTER) == (1.0, 0.0)
    crawler = AsyncCrawlerRunner(Settings({"DOWNLOAD_DELAY": 1.0}, "project")).create_crawler(Spider)
    hosts = Hosts.of(crawler)
    assert [hosts.least_delay(host) for host in ("example.com", "127.0.0.1:8000", "localhost")] == [1.0, 0.0, 0.0]
