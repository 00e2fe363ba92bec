"""The links that are taken from a page: absolute, as browsers send them, and each once."""

from __future__ import annotations

from html import escape
from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.pages.extraction import LinkRules, extract_links, extract_page

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


def test_links_are_relative_to_the_first_base_that_the_page_names() -> None:
    assert links("/a", "b", base="https://www.example.com/x/y") == [
        "https://www.example.com/a",
        "https://www.example.com/x/b",
    ]
    assert links("/a", base="HTTPS://WWW.example.com/x/y") == ["https://WWW.example.com/a"]
    for first, expected in (("/x/", "/x/b"), ("", "/a/b"), ("data:,x", "/a/b")):
        head = f'<base target="_top"><link rel="canonical" href="b"><base href="{first}"><base href="/last/">'
        found = extract_page(f'<html><head>{head}</head><a href="b">.</a>'.encode(), BASES[0], RULES, with_text=False)
        assert [found.canonical, *found.links] == [f"http://example.com{expected}"] * 2


@pytest.mark.parametrize(
    ("charset", "href", "expected"),
    [
        ("iso-8859-7", "/find?q=γέφυρα&n=1", "/find?q=%E3%DD%F6%F5%F1%E1&n=1"),
        ("euc-kr", "?q=다리", "/a/b?q=%B4%D9%B8%AE"),
        ("shift_jis", "//www.example.com/橋?q=橋", "//www.example.com/%E6%A9%8B?q=%8B%B4"),
        ("windows-1252", "c?q=Brücke", "/a/c?q=Br%FCcke"),
        # As browsers send what a charset lacks.
        ("windows-1252", "c?a=1&q=мост&b=2", "/a/c?a=1&q=%26%231084%3B%26%231086%3B%26%231089%3B%26%231090%3B&b=2"),
        ("utf-8", "c?q=Brücke", "/a/c?q=Brücke"),
        ("windows-1251", "/мост", "/%D0%BC%D0%BE%D1%81%D1%82"),
    ],
)
def test_queries_are_sent_in_the_charset_of_the_page(charset: str, href: str, expected: str) -> None:
    page = f'<html><head><meta charset="{charset}"></head><body><a href="{escape(href)}">.</a></body></html>'
    found = extract_page(page.encode(charset, "xmlcharrefreplace"), BASES[0], RULES, with_text=False).links
    assert found == [urljoin(BASES[0], expected)]


@pytest.mark.parametrize("tags", ["<frameset>{}</frameset>", "<body><p>x</p>{}</body>"])
def test_frames_are_links(tags: str) -> None:
    tag = "frame" if "frameset" in tags else "iframe"
    sources = ("menu.html", "/main.html#top", "http://example.org/", "about:blank", "")
    frames = "".join(f'<{tag} src="{source}"></{tag}>' for source in sources)
    found = extract_page(f"<html>{tags.format(frames)}</html>".encode(), BASES[0], RULES, with_text=False)
    assert found.links == ["http://example.com/a/menu.html", "http://example.com/main.html"]


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


def test_links_of_a_page_that_cannot_be_analysed_are_those_of_any_other() -> None:
    head = '<meta name=robots content=noindex><link rel=canonical href="/own"><base href="/d/"><link rel=next href=2>'
    body = """
        <a data-x='"' title="a > b" href='q?a=1&amp;b=2\x01'>.</a><A\nHREF=upper>.<abbr>.</abbr><a rel=nofollow href=no>
        <area href="//www.example.com/x"><iframe src=f></iframe><object type="text/html" data=o></object><a name=here>
        <script>"<a href=script>"</script><!-- <a href=comment> --><a href="é">
    """
    html = f"<html><head>{head}</head><body>{body}</body></html>".encode()
    plain = extract_page(html, BASES[0], RULES, with_text=False)
    alone = extract_links(html, BASES[0], RULES, "too large", None, with_links=True)
    assert len(alone.links) == 7
    assert (alone.links, alone.canonical, alone.noindex) == (plain.links, plain.canonical, True)
    assert alone.problem == "too large"
