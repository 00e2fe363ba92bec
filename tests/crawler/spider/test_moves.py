"""Pages that only lead elsewhere are followed as redirects are, and pages without content are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import brotli
import pytest

from dedup.readers.responses import ONLY_BEGINNING
from tests.crawling import Outcome, crawl_site_here
from tests.localsite import HTML, LocalSite, Page, Reply, article
from tests.texts import document

pytestmark = pytest.mark.slow


def stub(target: str, seconds: int = 0) -> str:
    return f'<html><head><meta http-equiv="refresh" content="{seconds};url={target}"></head><body>Moved.</body></html>'


def stored(outcome: Outcome, site: LocalSite) -> dict[str, int]:
    return {item.url.removeprefix(site.url): item.depth for item in outcome.items}


def skipped(outcome: Outcome) -> dict[str, int]:
    prefix = "crawler/skipped/"
    return {name.removeprefix(prefix): n for name, n in outcome.stats.items() if name.startswith(prefix)}


def test_pages_that_lead_elsewhere_are_followed_as_redirects_are(tmp_path: Path) -> None:
    script = "<html><body><script>location.replace('/new/script')</script></body></html>"
    with LocalSite() as site:
        moves: dict[str, Page] = {
            **{f"/old/{number}": stub(f"/new/{number}") for number in range(3)},
            "/twice": stub("/old/0"),
            "/header": Reply(article("h").encode(), headers={"Content-Type": HTML, "Refresh": "0;url=/new/header"}),
            "/script": script,
            "/note": "<html><body>This page has moved <a href='/new/note'>here</a>.</body></html>",
            "/out": stub(f"{site.other_url}/outside"),
            "/forbidden": stub("/private/x"),
            "/gone": stub("/nowhere"),
            "/no-port": stub("http://127.0.0.1:port/"),
            "/loop": stub("/loop/1"),
            "/loop/1": stub("/loop"),
            "/chain": stub("/chain/1"),
            **{f"/chain/{number}": stub(f"/chain/{number + 1}") for number in range(1, 20)},
        }
        new = ("0", "1", "2", "header", "script", "note")
        site.pages = {
            "/robots.txt": "User-agent: *\nDisallow: /private/\n",
            "/": stub("/home"),
            "/home": article("home", [path for path in moves if not path.startswith(("/loop/", "/chain/"))]),
            **moves,
            **{f"/new/{name}": article(name, [f"/next/{name}"]) for name in new},
            **{f"/next/{name}": article(f"next {name}") for name in new},
        }
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/", max_depth=2)
        # Where a start leads is a start, and what a link leads to stays as far from it as the link.
        expected = {"/home": 0, "/no-port": 1, **{f"/new/{name}": 1 for name in new}}
        assert stored(outcome, site) == expected | {f"/next/{name}": 2 for name in new}
        assert site.hits["/chain/10"] == 1
        assert site.hits["/chain/11"] == site.hits["/outside"] == 0
    reasons = {"redirected_to_other_host": 1, "robots_txt": 1, "http_404": 1, "redirect_loop": 2}
    assert skipped(outcome) == reasons
    assert outcome.count("crawler/fetched") == len(outcome.items) + sum(reasons.values()) - reasons["robots_txt"]
    assert outcome.tracebacks == []


def test_redirects_that_are_switched_off_are_not_followed(tmp_path: Path) -> None:
    with LocalSite({"/": stub("/new"), "/new": article("new")}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", {"REDIRECT_ENABLED": False}, url=f"{site.url}/")
        assert site.hits["/new"] == 0
    assert (outcome.items, skipped(outcome)) == ([], {"http_302": 1})


def test_pages_that_may_be_read_first_are_stored_and_lead_on_even_if_they_are_copies(tmp_path: Path) -> None:
    later = '<meta http-equiv="refresh" content="9;url=/new/{}">'
    pages = {f"/old/{number}": article("frame", head=later.format(number)) for number in range(4)}
    targets = {f"/new/{number}": article(number) for number in range(4)}
    with LocalSite({"/": article("front", pages), **pages, **targets}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
        assert dict.fromkeys(targets, 2).items() < stored(outcome, site).items()
    assert outcome.count("dedup/exact_duplicate") == 3


def test_pages_without_content_are_stored_and_not_compared(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": article("front", ["/blank", "/blank-too", "/picture", "/frames"]),
        "/blank": "<html><body></body></html>",
        "/blank-too": "<html><body></body></html>",
        "/picture": '<html><body><img src="/bridge.jpg"></body></html>',
        "/frames": '<html><frameset><frame src="/menu"><frame src="/story"></frameset></html>',
        "/menu": article("menu", ["/far"]),
        "/story": article("story"),
        "/far": article("far"),
    }
    with LocalSite(pages) as site:
        first = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
        again = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
        assert stored(first, site).keys() == stored(again, site).keys() == pages.keys()
        problems = {item.url.removeprefix(site.url): item.problem for item in first.items if item.problem}
    assert problems == {
        "/blank": "no text at all",
        "/blank-too": "no text at all",
        "/picture": "no text but pictures",
        "/frames": "no text but frames",
    }
    assert {item.verdict for item in first.items if item.problem} == {None}
    assert (first.count("dedup/new"), first.count("dedup/not_examined")) == (4, 4)
    assert (again.count("dedup/unchanged"), again.count("dedup/not_examined")) == (4, 4)
    assert not [message for message in first.messages if "DEDUP_TEXT_FIELD" in message]


def test_page_that_loses_its_content_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    with LocalSite({"/": article("front"), "/story": article("story")}) as site:
        crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/,{site.url}/story")
        site.pages["/story"] = "<html><body></body></html>"
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/,{site.url}/story")
    [story] = [item for item in outcome.items if item.url.endswith("/story")]
    assert document(120, "story") in story.text


def test_frames_within_frames_that_are_all_alike_come_to_an_end(tmp_path: Path) -> None:
    with LocalSite(missing='<html><frameset><frame src="a/"><frame src="b/"></frameset></html>') as site:
        crawl_site_here(tmp_path / "crawl.db", {"ROBOTSTXT_OBEY": False}, url=f"{site.url}/")
        assert 50 < site.hits.total() < 150


def test_page_that_was_cut_off_is_named_and_does_not_take_the_place_of_a_whole_one(tmp_path: Path) -> None:
    body = article("story", text=f"{document(300, 'story')} The end")
    headers = {"Content-Type": HTML, "Content-Encoding": "gzip, br"}

    def packed(end: int | None) -> Reply:
        return Reply(brotli.compress(gzip.compress(body.encode()))[:end], headers=headers)

    with LocalSite({"/cut": packed(-60), "/whole": packed(None)}) as site:
        starts = f"{site.url}/cut,{site.url}/whole"
        first = crawl_site_here(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 1}, url=starts)
        cut, whole = sorted(first.items, key=lambda item: item.url)
        assert (cut.problem, cut.verdict) == (ONLY_BEGINNING, None)
        assert (whole.problem, whole.verdict, whole.text.endswith("The end.")) == (None, "new", True)
        assert document(100, "story")[:200] in cut.text
        assert "The end" not in cut.text
        site.pages["/whole"] = packed(-60)
        again = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/whole")
        assert [item.text for item in again.items] == [whole.text]
