"""What is taken from a page: its letters, as its server and it say they are, and its links, absolute and each once."""

from __future__ import annotations

from html import escape
from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.pages.extraction import LinkRules, decode_page, extract_page

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy"
POLISH = "Zażółć gęślą jaźń"
JAPANESE = "吾輩は猫である。名前はまだ無い。"
CHINESE = "今天天气很好，我们去公园散步。"
RUSSIAN = "Съешь же ещё этих мягких французских булок"

SHORT = [
    (CZECH, "iso-8859-2"),
    (CZECH, "windows-1250"),
    (POLISH, "iso-8859-2"),
    (POLISH, "windows-1250"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc-jp"),
    (JAPANESE, "iso-2022-jp"),
    (CHINESE, "gb2312"),
    (CHINESE, "gb18030"),
    ("今天天氣很好", "big5"),
    (RUSSIAN, "koi8-r"),
    (RUSSIAN, "windows-1251"),
    ("Γειά σου Κόσμε", "iso-8859-7"),
    ("안녕하세요 세계", "euc-kr"),
]


def page(text: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}<title>x</title></head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(("text", "charset"), SHORT)
def test_header_says_what_the_bytes_mean(text: str, charset: str) -> None:
    assert decode_page(page(text).encode(charset), f'text/html; charset="{charset.upper()}"') == page(text)


@pytest.mark.parametrize(("text", "charset"), SHORT)
def test_meta_element_says_it_where_the_header_does_not(text: str, charset: str) -> None:
    html = page(text, f'<meta charset="{charset}">')
    assert decode_page(html.encode(charset), "text/html") == html
    assert decode_page(html.encode(charset), "text/html; charset=no-such-thing") == html


def test_byte_order_mark_comes_before_the_header_and_that_before_the_meta_element() -> None:
    assert decode_page(page(CZECH).encode("utf-8-sig"), "text/html; charset=iso-8859-2") == page(CZECH)
    assert decode_page(page(CZECH).encode("utf-16"), "text/html; charset=utf-8") == page(CZECH)
    html = page(CZECH, '<meta charset="iso-8859-1">')
    assert decode_page(html.encode("iso-8859-2"), "text/html; charset=iso-8859-2") == html


def test_header_that_is_wrong_does_not_count() -> None:
    html = page(CHINESE, '<meta charset="gbk">')
    assert decode_page(html.encode("gbk"), "text/html; charset=utf-8") == html
    for others in (page(CZECH).encode(), page(CHINESE).encode("gbk"), page(RUSSIAN).encode("koi8-r")):
        assert decode_page(others, "text/html; charset=iso-8859-1") == others
    french = page("Où êtes-vous allés cet été ?")
    assert decode_page(french.encode("latin-1"), "text/html; charset=iso-8859-1") == french


def test_one_broken_letter_does_not_make_the_header_wrong() -> None:
    html = page(JAPANESE * 20).encode("shift_jis").replace(b"</p>", b"\x81</p>")
    assert decode_page(html, "text/html; charset=shift_jis") == page(JAPANESE * 20).replace("</p>", "\ufffd</p>")


@pytest.mark.parametrize("content_type", [None, "", "text/html", "text/html; charset=", "text/html; charset=utf-8"])
def test_bytes_of_which_nothing_true_is_said_stay_as_they_are(content_type: str | None) -> None:
    html = page(CZECH).encode("iso-8859-2")
    assert decode_page(html, content_type) == html


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
