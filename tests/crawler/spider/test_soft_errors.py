"""Pages that are answered with 200 and hold nothing: soft 404s, and walls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawler.spider import soft_errors
from tests.crawler.conftest import Crawling
from tests.crawling import crawl, pages_in
from tests.localsite import Asked, LocalSite, Reply, article, redirect
from tests.texts import document

SORRY = (
    "Sorry, the page {path} is not there. It may have moved, or perhaps it has never been here at all. Try the search."
)

MAINTENANCE = "We are down for maintenance. Our site is being improved, please come back in an hour. Thank you."


def texts_of(crawling: Crawling) -> dict[str, str]:
    return {page["url"]: page["text"] for page in pages_in(crawling.database_url)}


def sorry(path: str, status: int = 200, title: str = "Not here") -> Reply:
    body = f"<html><head><title>{title}</title></head><body><main><p>{SORRY.format(path=path)}</p></main></body></html>"
    return Reply(body.encode(), status=status)


def site_with_soft_404s(missing: Callable[[Asked], Reply]) -> LocalSite:
    lost = [f"/lost/{number}" for number in range(8)]
    return LocalSite({"/": article("front", ["/a", "/b", *lost]), "/a": article("a"), "/b": article("b")}, missing)


def test_what_is_answered_like_a_made_up_address_is_not_found(crawling: Crawling) -> None:
    with site_with_soft_404s(lambda asked: sorry(asked.path)) as site:
        # A page of another title is no error.
        site.pages["/c"] = sorry("/c", title="Photographs of the harbour")
        site.pages["/b"] = article("b", ["/c"])
        outcome = crawling(site)
        assert set(crawling.kept) == {"/", "/a", "/b", "/c"}
        assert outcome.count("crawler/skipped/not_found") == 8
        assert outcome.count("crawler/made_up_asked") == len(site.made_up) == 1


@pytest.mark.parametrize("is_early", [True, False])
def test_site_that_is_down_for_maintenance_loses_no_page(
    is_early: bool, crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = article("Maintenance", text=MAINTENANCE, head='<meta name="robots" content="noindex">' * is_early)
    pages = [f"/{name}" for name in "abcdef"]
    is_down = is_early

    def missing(asked: Asked) -> Reply:
        # What is said of a made-up address before the site goes down says nothing of later.
        nonlocal is_down
        before, is_down = is_down, True
        return Reply(down.encode()) if before else Reply(b"", 404)

    with LocalSite({"/": article("front", pages)} | {path: article(path) for path in pages}) as site:
        crawling(site)
        before = texts_of(crawling)
        site.missing = missing
        site.pages |= dict.fromkeys(pages[1:], down)
        monkeypatch.setattr(soft_errors, "_PROBED_AGAIN_SECONDS", 0.0)
        outcome = crawling(site, {"CRAWLER_GONE": "delete"}, recrawl=True)
        assert texts_of(crawling) == before
        assert outcome.count("crawler/skipped/maybe_gone") == 5
        assert any("is it down" in line for line in outcome.messages)


def test_host_that_answers_as_it_should_is_taken_at_its_word(crawling: Crawling) -> None:
    with site_with_soft_404s(lambda asked: sorry(asked.path, 410)) as site:
        site.pages["/about-404"] = sorry("/x")
        site.pages["/a"] = article("a", ["/about-404"])
        crawling(site)
        assert "/about-404" in crawling.kept


def test_site_that_answers_everything_with_its_front_page_keeps_it(crawling: Crawling) -> None:
    front = article("front", ["/a", "/lost"])
    with LocalSite({"/": front, "/a": article("a")}, lambda asked: front) as site:
        crawling(site)
        assert set(crawling.kept) == {"/", "/a"}


LEADS = {
    "redirect": redirect,
    "moved for good": lambda target: redirect(target, 301),
    "temporary": lambda target: redirect(target, 307),
    "refresh": lambda target: f'<html><head><meta http-equiv="refresh" content="0; url={target}"></head></html>',
    "script": lambda target: f'<html><body><script>window.location.href = "{target}"</script></body></html>',
}


@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
@pytest.mark.parametrize("front", ["/en/", "/index.php", "/"])
def test_site_whose_front_page_is_shown_for_unknown_addresses_keeps_its_pages(
    lead: Callable[[str], Any], front: str, crawling: Crawling
) -> None:
    pages = [f"/{number}" for number in range(6)]
    with LocalSite(
        {"/": lead(front), front: article("front", [*pages, "/lost"])} | {path: article(path) for path in pages},
        lambda _: lead(front),
    ) as site:
        outcome = crawling(site)
        assert set(crawling.kept) == {front, *pages}
    assert outcome.count("crawler/failed") == 0


def test_pages_at_which_redirects_of_unknown_addresses_end_are_kept_with_their_links(crawling: Crawling) -> None:
    hub = article("hub", ["/deep", "/lost", "/hub?lost"], title="All stories")
    with LocalSite(
        {"/": article("front", ["/hub", "/gone"]), "/hub": hub, "/deep": article("deep")}, lambda _: redirect("/hub")
    ) as site:
        crawling(site)
        assert set(crawling.kept) == {"/", "/hub", "/deep"}


def test_redirects_to_an_error_that_names_the_address_are_not_found(crawling: Crawling) -> None:
    def missing(asked: Asked) -> Reply:
        return sorry(asked.path) if asked.path.startswith("/sorry?") else redirect(f"/sorry?at={asked.path}")

    with site_with_soft_404s(missing) as site:
        outcome = crawling(site)
        assert set(crawling.kept) == {"/", "/a", "/b"}
    assert outcome.count("crawler/skipped/not_found") == 8


def test_article_that_is_shown_for_unknown_addresses_is_stored_once(crawling: Crawling) -> None:
    story = article("story", ["/deep"])
    with LocalSite(
        {"/": article("front", ["/lost", "/story", "/a"]), "/a": article("a"), "/deep": article("deep")}, story
    ) as site:
        outcome = crawling(site)
    assert len(crawling.kept) == 4
    assert outcome.count("dedup/exact_duplicate") + outcome.count("crawler/skipped/not_found") == 1


def test_crawl_that_stores_nothing_of_what_it_fetched_says_so(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", ["/a"], head='<meta name="robots" content="noindex">')}) as site:
        site.pages["/a"] = site.pages["/"]
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert (result.status, result.errors) == (1, ["nothing is stored of 2 pages that were fetched: noindex"])


def test_robots_txt_holds_for_made_up_addresses(crawling: Crawling) -> None:
    with site_with_soft_404s(lambda asked: sorry(asked.path)) as site:
        site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\nAllow: /$\nAllow: /a$\n"
        crawling(site)
        assert site.made_up == []


WALLS = {
    "asks_for_cookies": "Please enable cookies in your browser and load this page again.",
    "asks_whether_human": "Checking your browser. Please verify that you are human.",
    "asks_to_log_in": "You must be logged in to see this. New here? Register.",
}


def test_walls_at_many_addresses_are_named_and_one_page_about_such_things_is_content(crawling: Crawling) -> None:
    walls = {f"/{reason}/{at}": text for reason, text in WALLS.items() for at in "abcdefgh"}
    texts = {
        "/help": WALLS["asks_for_cookies"] + " " + document(300, "help"),
        "/login": f"{WALLS['asks_to_log_in']} Now.",
    }
    pages: dict[str, Any] = {"/": article("front", [*walls, *texts]), "/robots.txt": ""}
    # Of other bytes: equal ones are known without their text once one of them is decided.
    shown = {path: f"{article('wall', text=text)}<!-- {path} -->" for path, text in (walls | texts).items()}
    with LocalSite(pages | shown) as site:
        outcome = crawling(site)
        assert set(crawling.kept) >= {"/", *texts}
    # The first is kept, the second dropped.
    assert [outcome.count(f"crawler/skipped/{reason}") for reason in WALLS] == [6, 6, 6]
    assert outcome.count("dedup/exact_duplicate") == 3
    assert len([line for line in outcome.messages if "at many addresses" in line]) == 3
