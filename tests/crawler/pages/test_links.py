"""The links of a page: absolute, on the site, each once, as joining would make them."""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.pages.extraction import LinkRules, extract_page
from tests.crawling import crawl_site_here
from tests.localsite import LocalSite, article

RULES = LinkRules(("example.com",))
BASES = ["http://example.com/a/b?c", "https://example.com", "http://example.com:80/x/../y", "http://example.com/;p?q"]


def links(*hrefs: str, url: str = BASES[0], base: str = "") -> list[str]:
    body = "".join(f'<a href="{escape(href)}">.</a>' for href in hrefs)
    page = f'<html><head><base href="{escape(base)}"></head><body>{body}</body></html>'.encode()
    return extract_page(page, url, RULES, with_text=False).links


@given(st.text("/.?;:=&%a@ é文+", max_size=12), st.sampled_from(BASES))
@example("a/./b", BASES[0])
@example("a?", BASES[0])
@example("a//b/", BASES[0])
@example("...", BASES[0])
def test_a_path_is_joined_as_urljoin_joins_it(path: str, url: str) -> None:
    expected = urljoin(url, f"/{path}".strip())
    is_link = expected.startswith("http") and RULES.is_on_site(expected)
    assert links(f"/{path}", url=url) == ([expected] if is_link else [])


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/a/b", "http://example.com/a/b"),
        ("c", "http://example.com/a/c"),
        ("?x=1", "http://example.com/a/b?x=1"),
        ("../c", "http://example.com/c"),
        ("//www.example.com/c", "http://www.example.com/c"),
        (" /a\tb\n/c ", "http://example.com/ab/c"),
        ("/a\x01b", "http://example.com/ab"),
        ("/a#part", "http://example.com/a"),
    ],
)
def test_links_become_absolute(href: str, expected: str) -> None:
    assert links(href) == [expected]


def test_links_are_relative_to_the_base_that_the_page_names() -> None:
    assert links("/a", "b", base="https://www.example.com/x/y") == [
        "https://www.example.com/a",
        "https://www.example.com/x/b",
    ]
    assert links("/a", base="HTTPS://WWW.example.com/x/y") == ["https://WWW.example.com/a"]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('rel="next" href="?page=2"', ["http://example.com/a/b?page=2"]),
        ('rel="alternate" hreflang="de" href="/de/b"', ["http://example.com/de/b"]),
        ('rel="Alternate" hreflang="x-default" type="text/html" href="/"', ["http://example.com/"]),
        ('rel="next nofollow" href="?page=2"', []),
        ('rel="alternate" type="application/rss+xml" hreflang="de" href="/feed"', []),
        ('rel="alternate" media="print" href="/print"', []),
        ('rel="alternate stylesheet" href="/dark.css"', []),
        ('rel="prefetch" href="/c"', []),
        ('rel="canonical next" href="/c"', []),
    ],
)
def test_link_elements_lead_to_the_next_page_and_to_translations(link: str, expected: list[str]) -> None:
    page = f"<html><head><link {link}></head><body><p>x</p></body></html>".encode()
    assert extract_page(page, BASES[0], RULES, with_text=False).links == expected
    assert extract_page(page, BASES[0], RULES, with_text=False, with_links=False).links == []


@pytest.mark.parametrize(
    "href", ["#part", "javascript:x()", "mailto:a@example.com", "http://example.org/", "http://[", "/" * 3000]
)
def test_what_is_no_page_of_the_site_is_no_link(href: str) -> None:
    assert links(href) == []


def test_each_link_comes_once_in_the_order_of_the_page() -> None:
    assert links("/b", "/a#1", "/b", "/a#2") == ["http://example.com/b", "http://example.com/a"]


@pytest.mark.slow
def test_pages_that_only_link_elements_lead_to_are_crawled(tmp_path: Path) -> None:
    pages = {f"/{at}": article(at, head=f'<link rel="next" href="/{at + 1}">') for at in range(5)}
    translated = '<link rel="alternate" hreflang="de" href="/de/5">'
    with LocalSite({**pages, "/5": article(5, head=translated), "/de/5": article("de 5")}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/0")
    assert outcome.count("dedup/new") == 7
