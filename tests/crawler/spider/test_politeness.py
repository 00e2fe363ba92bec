"""What a site asks of crawlers is honoured, can be switched off, and rel=canonical loses no page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.pages.directives import read_directives, read_robots_header
from crawler.pages.extraction import Extraction, LinkRules, extract_page
from settings import default
from tests.crawler.conftest import Crawling
from tests.crawling import ROOT, crawl, environment, pages_in
from tests.localsite import HTML, LocalSite, Page, Reply, article, redirect

A = "http://a.example"

# What a page asks for


def extract(page: str, *, obey_robots: bool = True) -> Extraction:
    rules = LinkRules(("a.example",), obey_robots=obey_robots, robot="neardup")
    return extract_page(page.encode(), f"{A}/page", rules, with_text=False)


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("nofollow", False, True),
        ("none", True, True),
        ("noindex,nofollow", True, True),
        (" NoIndex , NOFOLLOW ", True, True),
        ("index, follow", False, False),
        ("all", False, False),
        ("noarchive, max-snippet:20", False, False),
        ("noindexed", False, False),
        ("", False, False),
    ],
)
def test_directives_are_words_between_commas(content: str, noindex: bool, nofollow: bool) -> None:
    assert read_directives(content) == (noindex, nofollow)
    page = extract(article("page", head=f'<meta name="robots" content="{content}">'))
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("head", "directives"),
    [
        ('<meta name="ROBOTS" content="none">', (True, True)),
        ('<meta name="Neardup" content="noindex">', (True, False)),
        ('<meta name="googlebot" content="none">', (False, False)),
        ('<meta name="robots" content="noindex"><meta name="robots" content="nofollow">', (True, True)),
        ('<template><meta name="robots" content="noindex"></template>', (False, False)),
        ('<template shadowrootmode="open"><meta name="robots" content="noindex"></template>', (True, False)),
        ('<meta name="robots" content="unavailable_after: 2010-06-25, nofollow">', (True, True)),
        ('<meta name="robots" content="unavailable_after: 25-Jun-2999 15:00:00 EST">', (False, False)),
        ('<meta name="robots" content="unavailable_after: soon">', (False, False)),
    ],
)
def test_meta_elements_for_all_and_for_this_crawler_add_up(head: str, directives: tuple[bool, bool]) -> None:
    page = extract(article("page", head=head))
    assert (page.noindex, page.nofollow) == directives


@pytest.mark.parametrize(
    ("values", "directives"),
    [
        (["googlebot: noindex, nofollow"], (False, False)),
        (["googlebot: noindex", "nofollow"], (False, True)),
        (["noindex", "nofollow"], (True, True)),
        (["googlebot: noindex, NearDup: nofollow"], (False, True)),
        (["neardup: noindex, nofollow"], (True, True)),
        (["max-snippet: 20, noindex"], (True, False)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, none"], (True, True)),
        (["googlebot: max-snippet: 20, noindex"], (False, False)),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT"], (True, False)),
        (["googlebot: unavailable_after: 2010-06-25"], (False, False)),
    ],
)
def test_header_names_the_crawler_that_it_is_for(values: list[str], directives: tuple[bool, bool]) -> None:
    assert read_robots_header(values, "neardup") == directives


@pytest.mark.parametrize("relation", ["nofollow", "external nofollow", "NoFollow", "noopener\nnofollow"])
def test_link_with_rel_nofollow_is_none_unless_another_one_leads_there(relation: str) -> None:
    link = f'<a rel="{relation}" href="/next">next</a>'
    assert extract(article("front", foot=link)).links == []
    assert extract(article("front", ["/next"], foot=link)).links == [f"{A}/next"]
    assert extract(article("front", foot=link), obey_robots=False).links == [f"{A}/next"]


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
        ("\\other\\sub?a\\b", "/other/sub?a\\b"),
        ("/a\x1b[31m&#x202e;b", "/a[31mb"),
    ],
)
def test_canonical_is_an_absolute_address(href: str, target: str | None) -> None:
    found = extract(article("page", head=f'<link rel="canonical" href="{href}">')).canonical
    assert found in ((A + target, f"{A}{target}?") if target else (None,))


# Crawls


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite({"/": article("front", ["/page"]), "/next": article("next")}) as site:
        yield site


def robots(*lines: str) -> Reply:
    return Reply("\n".join(lines).encode(), headers={"Content-Type": "text/plain"})


def with_header(body: str, *values: str) -> Reply:
    return Reply(body.encode(), headers=[("Content-Type", HTML), *(("X-Robots-Tag", value) for value in values)])


@pytest.mark.slow
def test_robots_txt_is_asked_for_once_and_first_and_obeyed_and_can_be_switched_off(
    crawling: Crawling, site: LocalSite
) -> None:
    site.pages |= {
        "/robots.txt": robots("User-agent: *", "Disallow: /page", "Disallow: /target"),
        "/": article("front", ["/page", "/moved", "/next"]),
        "/moved": redirect("/target"),
        "/page": article("page"),
    }
    outcome = crawling(site)
    assert crawling.kept == ["/", "/next"]
    assert [asked.path for asked in site.asked[:2]] == ["/robots.txt", "/"]
    assert site.hits == dict.fromkeys(("/robots.txt", "/", "/moved", "/next"), 1)
    assert outcome.count("crawler/skipped/robots_txt") == 2
    assert any(f"skipped {site.url}/page: robots txt" in message for message in outcome.messages)
    assert {asked.headers["User-Agent"] for asked in site.asked} == {default.USER_AGENT}
    site.asked.clear()
    crawling(site, {"ROBOTSTXT_OBEY": False, "USER_AGENT": "house-bot (+https://example.com/bot)"})
    assert crawling.kept == ["/", "/next", "/page"]
    assert site.hits["/robots.txt"] == 0
    assert {asked.headers["User-Agent"] for asked in site.asked} == {"house-bot (+https://example.com/bot)"}


@pytest.mark.slow
def test_site_that_forbids_everything_ends_with_status_1_and_says_why(tmp_path: Path, site: LocalSite) -> None:
    site.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /")
    result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
    assert (result.status, result.errors) == (1, ["nothing was fetched: robots txt"])
    assert result.skipped == {"robots_txt": 1}
    assert result.summed_up("kept") == 0


# Each leads to a page of its own.
ASKING: dict[str, tuple[list[str], list[str]]] = {
    "noindex": (["noindex"], []),
    "nofollow": (["nofollow"], []),
    "header-noindex": ([], ["noindex"]),
    "header-nofollow": ([], ["nofollow"]),
    "both": (["noindex"], ["nofollow"]),
    "of-another": ([], ["googlebot: noindex, nofollow"]),
}
OBEYED = ["/", "/header-nofollow", "/nofollow", "/of-another"] + [
    f"/to/{name}" for name in ("header-noindex", "noindex", "of-another")
]


def asking_pages() -> dict[str, Page]:
    links = [f"/{name}" for name in ASKING]
    pages: dict[str, Page] = {"/": article("front", links, foot='<a rel="nofollow" href="/by-link">next</a>')}
    pages["/by-link"] = article("by link")
    for name, (metas, headers) in ASKING.items():
        head = "".join(f'<meta name="robots" content="{content}">' for content in metas)
        pages[f"/{name}"] = with_header(article(name, [f"/to/{name}"], head=head), *headers)
        pages[f"/to/{name}"] = article(f"to {name}")
    return pages


@pytest.mark.slow
def test_noindex_and_nofollow_are_obeyed_and_can_be_ignored(crawling: Crawling, site: LocalSite) -> None:
    site.pages = asking_pages()
    outcome = crawling(site)
    assert crawling.kept == sorted(OBEYED)
    assert site.hits["/by-link"] == 0
    assert outcome.count("crawler/skipped/noindex") == 3
    assert f"skipped {site.url}/noindex: noindex" in outcome.messages
    assert outcome.count("dedup/new") == len(OBEYED)
    crawling(site, {"ROBOTSTXT_OBEY": False})
    assert crawling.kept == sorted(site.pages)


@pytest.mark.slow
def test_copy_of_a_noindex_page_is_kept_and_a_later_noindex_updates_nothing(
    crawling: Crawling, site: LocalSite
) -> None:
    noindex = '<meta name="robots" content="noindex">'
    site.pages |= {"/page": article("page", ["/next"], head=noindex), "/next": article("page")}
    crawling(site)
    assert crawling.kept == ["/", "/next"]
    site.pages["/next"] = article("other", head=noindex)
    outcome = crawling(site)
    assert (outcome.count("crawler/skipped/noindex"), outcome.count("dedup/updated")) == (2, 0)


@pytest.mark.slow
def test_pages_with_a_canonical_are_kept_and_it_is_stored_and_not_fetched(crawling: Crawling, site: LocalSite) -> None:
    named = {"/one": "/two", "/two": "/one", "/three": "/missing", "/four": "https://origin.example/story"}
    site.pages = {"/": article("front", named)}
    site.pages |= {path: article(path, head=f'<link rel="canonical" href="{named[path]}">') for path in named}
    crawling(site)
    stored = {row["url"]: row["canonical"] for row in pages_in(crawling.database_url)}
    absolute = {path: target if "://" in target else site.url + target for path, target in named.items()}
    assert stored == {f"{site.url}/": None, **{site.url + path: target for path, target in absolute.items()}}
    assert site.hits["/missing"] == 0


# Who crawls


def test_user_agent_names_the_program_and_the_contact() -> None:
    program = "from settings import default; print(default.USER_AGENT)"
    environ = {**environment(), "CRAWLER_CONTACT": "you@example.com"}
    told = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, env=environ, text=True)
    assert told == "neardup/0.1 (+you@example.com)\n"
    assert default.USER_AGENT.startswith("neardup/0.1 (+")
    assert (default.AUTOTHROTTLE_ENABLED, default.ROBOTSTXT_OBEY) == (True, True)
