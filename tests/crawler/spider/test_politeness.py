"""What a site asks of crawlers is honoured, can be switched off, and rel=canonical loses no page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from crawler.pages.extraction import read_robots_header
from settings import default
from tests.crawling import ROOT, Outcome, ask, crawl, crawl_site_here, environment
from tests.localsite import HTML, LocalSite, Reply, article

pytestmark = pytest.mark.slow

TEXT = {"Content-Type": "text/plain"}


class Crawling:
    """Crawls a site and says which paths were stored."""

    def __init__(self, database: Path, site: LocalSite) -> None:
        self.database = database
        self.site = site

    def __call__(self, settings: Mapping[str, Any] | None = None, **arguments: object) -> Outcome:
        return crawl_site_here(self.database, settings, **{"url": f"{self.site.url}/", **arguments})

    @property
    def kept(self) -> list[str]:
        rows = ask(f"sqlite:///{self.database}", "SELECT url FROM pages")
        return sorted(row["url"].removeprefix(self.site.url) for row in rows)

    def column(self, name: str) -> dict[str, Any]:
        rows = ask(f"sqlite:///{self.database}", f"SELECT url, {name} FROM pages")
        return {row["url"].removeprefix(self.site.url): row[name] for row in rows}


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite({"/": article("front", ["/page"]), "/next": article("next")}) as site:
        yield site


@pytest.fixture
def crawling(tmp_path: Path, site: LocalSite) -> Crawling:
    return Crawling(tmp_path / "crawl.db", site)


def robots(*lines: str) -> Reply:
    return Reply("\n".join(lines).encode(), headers=TEXT)


def with_header(body: str, *values: str) -> Reply:
    return Reply(body.encode(), headers=[("Content-Type", HTML), *(("X-Robots-Tag", value) for value in values)])


def with_meta(content: str, name: str = "robots") -> str:
    return article("page", ["/next"], head=f'<meta name="{name}" content="{content}">')


# robots.txt


@pytest.mark.parametrize("agent", ["*", "neardup", "Neardup"])
def test_page_that_robots_txt_forbids_is_not_fetched(agent: str, crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {"/robots.txt": robots(f"User-agent: {agent}", "Disallow: /page"), "/page": article("page")}
    outcome = crawling()
    assert (crawling.kept, site.hits["/page"]) == (["/"], 0)
    assert outcome.count("crawler/skipped/robots_txt") == 1
    assert any(f"skipped {site.url}/page: robots txt" in message for message in outcome.messages)


def test_rules_for_another_crawler_do_not_count(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {"/robots.txt": robots("User-agent: otherbot", "Disallow: /"), "/page": article("page")}
    crawling()
    assert crawling.kept == ["/", "/page"]


def test_robots_txt_is_asked_for_once_and_before_the_first_page(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = article("page", ["/next"])
    crawling()
    assert [asked.path for asked in site.asked] == ["/robots.txt", "/", "/page", "/next"]


def test_robots_txt_can_be_switched_off(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {"/robots.txt": robots("User-agent: *", "Disallow: /"), "/page": article("page")}
    crawling({"ROBOTSTXT_OBEY": False})
    assert crawling.kept == ["/", "/page"]
    assert site.hits["/robots.txt"] == 0


def test_target_of_a_redirect_is_checked_too(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {
        "/robots.txt": robots("User-agent: *", "Disallow: /next"),
        "/page": Reply(status=302, headers={"Location": "/next"}),
    }
    crawling()
    assert (crawling.kept, site.hits["/next"]) == (["/"], 0)


def test_site_that_forbids_everything_ends_with_status_1_and_says_why(tmp_path: Path, site: LocalSite) -> None:
    site.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /")
    result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert (result.status, result.errors) == (1, ["nothing was fetched: robots txt"])
    assert result.skipped == {"robots_txt": 1}
    assert result.summed_up("kept") == 0


# noindex and nofollow


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("noindex", ["/", "/next"]),
        ("nofollow", ["/", "/page"]),
        ("none", ["/"]),
        ("noindex,nofollow", ["/"]),
        (" NoIndex , NOFOLLOW ", ["/"]),
        ("index, follow", ["/", "/next", "/page"]),
        ("all", ["/", "/next", "/page"]),
        ("noarchive, max-snippet:20", ["/", "/next", "/page"]),
        ("noindexed", ["/", "/next", "/page"]),
        ("", ["/", "/next", "/page"]),
    ],
)
def test_meta_robots_and_the_header_are_obeyed(
    content: str, kept: list[str], crawling: Crawling, site: LocalSite
) -> None:
    site.pages["/page"] = with_meta(content)
    crawling()
    assert crawling.kept == kept
    site.pages["/page"] = with_header(article("page", ["/next"]), content)
    crawling.database = crawling.database.with_name("header.db")
    crawling()
    assert crawling.kept == kept


def test_page_with_noindex_is_counted_and_named_and_leaves_no_trace_in_the_tables(
    crawling: Crawling, site: LocalSite
) -> None:
    site.pages["/page"] = with_meta("noindex")
    outcome = crawling()
    assert outcome.count("crawler/skipped/noindex") == 1
    assert f"skipped {site.url}/page: noindex" in outcome.messages
    keys = ask(f"sqlite:///{crawling.database}", "SELECT key FROM dedup_documents")
    assert {row["key"] for row in keys} == {f"{site.url}/", f"{site.url}/next"}


def test_copy_of_a_page_with_noindex_is_kept(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {"/page": with_meta("noindex"), "/next": article("page")}
    crawling()
    assert crawling.kept == ["/", "/next"]


def test_page_that_gets_noindex_later_is_not_updated(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = article("page")
    crawling()
    site.pages["/page"] = article("other", head='<meta name="robots" content="noindex">')
    outcome = crawling()
    assert outcome.count("crawler/skipped/noindex") == 1
    assert outcome.count("dedup/updated") == 0


def test_meta_for_another_crawler_does_not_count(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_meta("none", name="googlebot")
    crawling()
    assert crawling.kept == ["/", "/next", "/page"]


def test_meta_and_header_for_this_crawler_count(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_header(with_meta("noindex", name="Neardup"), "neardup: nofollow")
    crawling()
    assert crawling.kept == ["/"]


@pytest.mark.parametrize(
    ("values", "directives"),
    [
        (["googlebot: noindex, nofollow"], (False, False)),
        (["googlebot: noindex", "nofollow"], (False, True)),
        (["googlebot: noindex, NearDup: nofollow"], (False, True)),
        (["neardup: noindex, nofollow"], (True, True)),
        (["max-snippet: 20, noindex"], (True, False)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, none"], (True, True)),
        (["googlebot: max-snippet: 20, noindex"], (False, False)),
    ],
)
def test_header_names_the_crawler_that_it_is_for(values: list[str], directives: tuple[bool, bool]) -> None:
    assert read_robots_header(values, "neardup") == directives


def test_name_of_the_meta_element_may_be_in_capitals(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_meta("none", name="ROBOTS")
    crawling()
    assert crawling.kept == ["/"]


def test_several_meta_elements_add_up(crawling: Crawling, site: LocalSite) -> None:
    head = '<meta name="robots" content="noindex"><meta name="robots" content="nofollow">'
    site.pages["/page"] = article("page", ["/next"], head=head)
    crawling()
    assert crawling.kept == ["/"]


def test_several_headers_add_up(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_header(article("page", ["/next"]), "noindex", "nofollow")
    crawling()
    assert crawling.kept == ["/"]


def test_header_and_meta_element_add_up(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_header(with_meta("noindex"), "nofollow")
    crawling()
    assert crawling.kept == ["/"]


def test_header_for_another_crawler_does_not_count(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_header(article("page", ["/next"]), "googlebot: noindex")
    crawling()
    assert crawling.kept == ["/", "/next", "/page"]


def test_noindex_can_be_switched_off(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = with_header(with_meta("noindex"), "noindex")
    crawling({"CRAWLER_OBEY_META_ROBOTS": False})
    assert crawling.kept == ["/", "/next", "/page"]


@pytest.mark.parametrize("by_header", [False, True])
def test_nofollow_of_a_page_can_be_switched_off(by_header: bool, crawling: Crawling, site: LocalSite) -> None:
    plain = article("page", ["/next"])
    site.pages["/page"] = with_header(plain, "nofollow") if by_header else with_meta("nofollow")
    crawling({"CRAWLER_OBEY_META_ROBOTS": False})
    assert crawling.kept == ["/", "/next", "/page"]


@pytest.mark.parametrize("relation", ["nofollow", "external nofollow", "NoFollow", "noopener\nnofollow"])
def test_link_with_rel_nofollow_is_not_followed(relation: str, crawling: Crawling, site: LocalSite) -> None:
    site.pages["/"] = article("front", foot=f'<a rel="{relation}" href="/next">next</a>')
    crawling()
    assert (crawling.kept, site.hits["/next"]) == (["/"], 0)


def test_link_with_rel_nofollow_is_followed_if_another_one_leads_there(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/"] = article("front", ["/next"], foot='<a rel="nofollow" href="/next">next</a>')
    crawling()
    assert crawling.kept == ["/", "/next"]


def test_rel_nofollow_can_be_switched_off(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/"] = article("front", foot='<a rel="nofollow" href="/next">next</a>')
    crawling({"CRAWLER_OBEY_META_ROBOTS": False})
    assert crawling.kept == ["/", "/next"]


# who crawls


def test_user_agent_names_the_program_and_the_contact() -> None:
    program = "from settings import default; print(default.USER_AGENT)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**environment(), "CRAWLER_CONTACT": "you@example.com"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "neardup/0.1 (+you@example.com)\n"


def test_user_agent_is_sent_with_every_request(crawling: Crawling, site: LocalSite) -> None:
    crawling()
    assert {asked.headers["User-Agent"] for asked in site.asked} == {default.USER_AGENT}
    assert default.USER_AGENT.startswith("neardup/0.1 (+")


def test_user_agent_can_be_replaced(crawling: Crawling, site: LocalSite) -> None:
    crawling({"USER_AGENT": "house-bot (+https://example.com/bot)"}, url=f"{site.url}/next")
    assert {asked.headers["User-Agent"] for asked in site.asked} == {"house-bot (+https://example.com/bot)"}


def test_autothrottle_is_on_unless_switched_off() -> None:
    assert default.AUTOTHROTTLE_ENABLED is True
    assert default.ROBOTSTXT_OBEY is True


# rel=canonical


def canonical(href: str, before: str = "") -> str:
    return article("page", head=f'{before}<link rel="canonical" href="{href}">')


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("/page", "/page"),
        ("page", "/page"),
        ("", None),
        ("#top", "/page"),
        ("/page#top", "/page"),
        ("?", "/page"),
        ("/other", "/other"),
        ("https://[broken", None),
        ("javascript:void(0)", None),
    ],
)
def test_canonical_is_stored_as_an_absolute_address_and_the_page_is_kept(
    href: str, target: str | None, crawling: Crawling, site: LocalSite
) -> None:
    site.pages["/page"] = canonical(href)
    crawling()
    assert crawling.kept == ["/", "/page"]
    stored = crawling.column("canonical")["/page"]
    assert stored in ((site.url + target, f"{site.url}{target}?") if target else (None,))


def test_canonical_of_another_host_is_stored_and_not_fetched(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = canonical("https://origin.example/story")
    crawling()
    assert crawling.column("canonical") == {"/": None, "/page": "https://origin.example/story"}


def test_canonical_is_relative_to_the_base_element(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = canonical("story", before='<base href="/archive/">')
    crawling()
    assert crawling.column("canonical")["/page"] == f"{site.url}/archive/story"


def test_pages_that_name_each_other_as_canonical_are_both_kept(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {
        "/": article("front", ["/one", "/two"]),
        "/one": article("one", head='<link rel="canonical" href="/two">'),
        "/two": article("two", head='<link rel="canonical" href="/one">'),
    }
    crawling()
    assert crawling.column("canonical") == {"/": None, "/one": f"{site.url}/two", "/two": f"{site.url}/one"}


def test_page_whose_canonical_was_never_fetched_is_kept(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = canonical("/missing")
    crawling()
    assert crawling.kept == ["/", "/page"]
    assert site.hits["/missing"] == 0


def test_canonical_with_control_characters_is_stored_clean(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/page"] = canonical("/a\x1b[31m&#x202e;b")
    crawling()
    stored = crawling.column("canonical")["/page"]
    assert stored is not None
    assert stored.startswith(f"{site.url}/a")
    assert not set(stored) & {"\x1b", "\u202e"}
