"""Sites that limit, fail and come back: every page is stored, none is asked for in vain over and over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crawler.frontier.driving import unfinished
from tests.crawling import Outcome, crawl, crawl_site_here, pages_in
from tests.localsite import Asked, LocalSite, Reply, article

pytestmark = pytest.mark.slow

PAGES = 16
BUSY = Reply(b"busy", 503)


class FailingSite(LocalSite):
    """A front page and `PAGES` others; some requests, by their number, are answered otherwise.

    Args:
        failing: returns the answer to the request of this number, from 0, or None for the page that is there.
    """

    def __init__(self, failing: Callable[[int, Asked], Reply | None]) -> None:
        paths = [f"/{number}" for number in range(PAGES)]
        super().__init__({"/": article("front", paths), **{path: article(path) for path in paths}})
        self._failing = failing

    def _answer(self, asked: Asked) -> Reply:
        if asked.is_made_up:
            return super()._answer(asked)
        number = len(self.asked)
        reply = self._failing(number, asked) or super()._answer(asked)
        if len(self.asked) == number:
            self.asked.append(asked)
        return reply


def kept(database: Path) -> int:
    return len(pages_in(f"sqlite:///{database}"))


def crawl_one_by_one(database: Path, site: LocalSite, **settings: Any) -> Outcome:
    # The site counts requests, of which there is one after the other.
    return crawl_site_here(database, {"CONCURRENT_REQUESTS": 1, **settings}, url=f"{site.url}/")


def test_retry_after_is_waited_for_then_robots_txt_is_asked_for_and_a_pace_is_learnt(tmp_path: Path) -> None:
    limited = Reply(b"", 429, {"Retry-After": "1"})
    with FailingSite(lambda number, _: limited if number == 9 else None) as site:
        # Of start URLs none is compared with what a made-up address brings: no other request is under way.
        starts = ",".join(site.url + path for path in site.pages)
        crawl_site_here(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 1}, url=starts)
    assert kept(tmp_path / "crawl.db") == PAGES + 1
    assert [asked.path for asked in site.asked[:2]] == ["/robots.txt", "/"]
    assert site.asked[10].path == "/robots.txt"
    assert site.asked[10].time - site.asked[9].time >= 1.0
    assert site.hits.total() == PAGES + 1 + 2 + 1
    times = [asked.time for asked in site.asked[11:]]
    # Not the least time between two of them: on a busy machine one may be noted late.
    assert times[-1] - times[0] > 0.05 * (len(times) - 1)


@pytest.mark.parametrize(("failure", "times"), [(BUSY, 6), (Reply(hang_up=True), 10), (Reply(b"", 500), 10)])
def test_failures_of_all_pages_are_those_of_the_host_which_is_asked_rarely(
    failure: Reply, times: int, tmp_path: Path
) -> None:
    with FailingSite(lambda number, _: failure if 6 <= number < 6 + times else None) as site:
        outcome = crawl_one_by_one(tmp_path / "crawl.db", site)
    assert kept(tmp_path / "crawl.db") == PAGES + 1
    assert outcome.count("crawler/put_back") >= 1
    assert not [name for name in outcome.stats if name.startswith("crawler/skipped/")]


def test_all_that_waits_for_its_turn_goes_back(tmp_path: Path) -> None:
    with FailingSite(lambda number, _: BUSY if number == 6 else None) as site:
        settings = {"CONCURRENT_REQUESTS": 16, "DOWNLOAD_SLOTS": {f"127.0.0.1:{site.port}": {"delay": 0.05}}}
        crawl_one_by_one(tmp_path / "crawl.db", site, **settings)
    assert kept(tmp_path / "crawl.db") == PAGES + 1
    # Some may have been sent before the answer was read, but not all fifteen.
    assert "/robots.txt" in [asked.path for asked in site.asked[7:12]]


# Hosts that fail for long

IMPATIENT = {"crawler.politeness.hosts.PATIENCE": 0.3}


def test_host_that_fails_for_long_is_parked_told_and_continued(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    is_down = [True]
    with FailingSite(lambda number, _: BUSY if number >= 6 and is_down[0] else None) as site:
        result = crawl(database, {"CONCURRENT_REQUESTS": 1}, constants=IMPATIENT, url=f"{site.url}/")
        stored = len(result.pages)
        assert (result.status, stored) == (0, 5)
        left = PAGES + 1 - stored
        assert result.summary["given up"] == f"127.0.0.1:{site.port}: robots.txt: http 503, {left} pages left"
        assert "scrapy crawl site -a" in result.summary["continue"]
        assert result.says(f"127.0.0.1:{site.port} has failed", "robots.txt: http 503", "WARNING")
        is_down[0] = False
        again = crawl(database)
    assert again.status == 0, again.stderr
    assert len(again.pages) == PAGES + 1
    assert unfinished(f"sqlite:///{database}") == {}


def test_other_hosts_and_ports_go_on_while_one_is_parked(tmp_path: Path) -> None:
    away = {"/robots.txt": Reply(b"", 503)}
    with LocalSite(away) as down, FailingSite(lambda number, _: None) as site:
        # At another port of the same machine.
        url = f"{site.url}/,{down.url}/"
        result = crawl(tmp_path / "crawl.db", constants=IMPATIENT, url=url)
    assert len(result.pages) == PAGES + 1
    assert result.summary["given up"] == f"127.0.0.1:{down.port}: robots.txt: http 503, 1 page left"
    assert down.hits.keys() == {"/robots.txt"}
