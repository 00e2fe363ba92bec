"""Pages that only lead elsewhere are told from pages that say something; those without content say why."""

from __future__ import annotations

import pytest

from crawler.pages.extraction import Extraction, LinkRules, extract_page
from crawler.pages.moves import Refresh, find_in_scripts, read_refresh, read_script
from tests.localsite import article
from tests.texts import document

HERE = "http://example.com/a/b"
THERE = "http://example.com/there"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=/there", Refresh(0, "/there")),
        ("0; /there", Refresh(0, "/there")),
        ("5 /there", Refresh(5, "/there")),
        (" 12 , URL = 'there' or not", Refresh(12, "there")),
        ('2.9;url="/a?b=c;d=e', Refresh(2, "/a?b=c;d=e")),
        (".5;\turl=/there ", Refresh(0, "/there")),
        ("0;urls/of/there", Refresh(0, "urls/of/there")),
        ("9" * 400 + ";/there", Refresh(999_999_999, "/there")),
        ("0", None),
        ("300;", None),
        ("0;url=", None),
        ("0url=/there", None),
        (";url=/there", None),
        ("٣;/there", None),
        ("soon; url=/there", None),
    ],
)
def test_refresh_is_read_as_browsers_read_it(content: str, expected: Refresh | None) -> None:
    assert read_refresh(content) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('location = "/there"', Refresh(0, "/there")),
        ("<!--\nwindow.top.location.href='/there';\n//-->", Refresh(0, "/there")),
        ("document.location.replace(`/there`);", Refresh(0, "/there")),
        ('self.location.assign( "https:\\/\\/example.com\\/there" )', Refresh(0, "https://example.com/there")),
        ("location.href = '/there' + window.location.search + location.hash", Refresh(0, "/there")),
        ("setTimeout(function () { location.href = '/there'; }, 2500);", Refresh(2.5, "/there")),
        ("window.onload = () => { location = '/there' }", Refresh(0, "/there")),
        ("setTimeout(\"location.replace('/there')\", 3000)", Refresh(3, "/there")),
        ("if (old) location = '/there'", None),
        ("function go() { location = '/there' }", None),
        ("const go = () => location = '/there';", None),
        ("location.hash = '#there'", None),
        ("allocation = '/there'", None),
        ("location = '/there?from=' + location.href", None),
        ("location = `/there/${id}`", None),
        ("", None),
    ],
)
def test_script_that_does_nothing_else_is_read(script: str, expected: Refresh | None) -> None:
    assert read_script(script) == expected


def test_one_address_of_scripts_is_found_whatever_it_depends_on() -> None:
    assert find_in_scripts(["track()", "if (a) {\n location.href = '/there' }"]) == "/there"
    assert find_in_scripts(["if (a) location = '/there'; else location = '/here'"]) is None
    assert find_in_scripts(["location = '/there'", "//" + "x" * 2_000]) is None


@pytest.mark.parametrize(
    "hostile", ["window." * 250, "<!--" * 400, "location=" * 200, " " * 1_999, "setTimeout(" * 180]
)
def test_hostile_scripts_are_read_in_no_time(hostile: str) -> None:
    assert read_script(hostile) is find_in_scripts([hostile]) is None


def extracted(html: str, refresh: str = "") -> Extraction:
    return extract_page(html.encode(), HERE, LinkRules(("example.com",)), with_text=True, refresh=refresh)


def meta(content: str) -> str:
    return f'<meta http-equiv="refresh" content="{content}">'


NOTE = "<html><title>{}</title><body><p>{} <a href='/there'>{}</a>.</p></body></html>"
SHORT = f"<p>{document(30, 'stub')}</p>"
MOVES = {
    "at once": article("x", head=meta("0;url=/there")),
    "after a while": f"<html><head>{meta('5; /there')}</head><body>{SHORT}</body></html>",
    "in the body": f"<html><body>{SHORT}{meta('1;/there')}</body></html>",
    "in capitals": '<HTML><HEAD><META CONTENT="0;URL=../there" HTTP-EQUIV=REFRESH></HEAD></HTML>',
    "nothing but": meta("0;url=/there"),
    "by base": f'<html><head><base href="/"><base href="/x/">{meta("0;url=there")}</head></html>',
    "script": "<script>location.href = '/there'</script>",
    "script beside a text": article("x", head="<script>location='/there'</script>"),
    "script on a condition": "<html><body><script>if (!out) { location.replace('/there') }</script></body></html>",
    "script, later": f"<html><body>{SHORT}<script>setTimeout(() => location='/there', 4000)</script></body></html>",
    "script with a name": "<html><body><script>var to = '/there'; location.href = to;</script></body></html>",
    "script in a frame": f"<html><body><nav>Home</nav>{SHORT}<script>location = '/there'</script></body></html>",
    "as it is loaded": "<html><body onload=\"window.location='/there'\"></body></html>",
    "note": NOTE.format("302 Found", "The document has moved", "here"),
    "note of a framework": NOTE.format("", "You are being", "redirected"),
    "note in German": NOTE.format("Umgezogen", "Diese Seite wurde verschoben", "hierher"),
    "note in Chinese": NOTE.format("", "页面正在跳转到", "新地址"),
}
LATER = meta("600;url=/there")
PAGES = {
    "reloads": article("x", head=meta("300")),
    "reloads by its own address": article("x", head=meta("0;url=/a/b#top")),
    "for browsers without scripts": article("x", head=f"<noscript>{meta('0;url=/there')}</noscript>"),
    "in a template": article("x", foot=f"<template>{meta('0;url=/there')}</template>"),
    "no page": article("x", head=meta("0;url=javascript:alert(1)")),
    "no port": article("x", head=meta("0;url=http://example.com:port/")),
    "script on a click": article("x", foot="<script>function go() { location = '/there' }</script>"),
    "few words and a script": f"<html><body>{SHORT}<script>const a = () => location='/there'</script></body></html>",
    "a link": NOTE.format("Welcome", "I am a baker. I write about", "bread"),
    "about moving": NOTE.format("Removals", "Have you moved? We have moved pianos since 1990", "Prices"),
    "two links in a frame": f"<body>{SHORT}<p>Moved to <a href='/a'>a</a> or <a href='/b'>b</a>.</p></body>",
    "one link among others": NOTE.format("x", "This page has moved <a href='/'>home</a>", "here"),
}
FRAMED = f"<html><body><header><a href='/'>Home</a></header>{SHORT}{{}}<footer>Imprint</footer></body></html>"
SLOW_PAGES = {
    "with a text": article("x", head=meta("8;url=/there")),
    "with a picture": f"<html><head>{meta('8;url=/there')}</head><body><img src=1.jpg>{SHORT}</body></html>",
    "note in a frame": FRAMED.format(
        "<p>This page has moved. <a href='/there'>Go on</a> if you are not redirected.</p>"
    ),
    "very late": f"<html><head>{LATER}</head><body>{SHORT}</body></html>",
}


@pytest.mark.parametrize("html", MOVES.values(), ids=MOVES)
def test_what_only_leads_elsewhere_is_no_page(html: str) -> None:
    found = extracted(html)
    assert (found.is_move, found.leads_to, found.signature) == (True, THERE, None)


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_what_says_something_is_a_page(html: str) -> None:
    found = extracted(html)
    assert (found.is_move, found.leads_to, found.problem, bool(found.text)) == (False, None, None, True)


@pytest.mark.parametrize("html", SLOW_PAGES.values(), ids=SLOW_PAGES)
def test_page_that_is_to_be_read_before_it_leads_elsewhere_is_one(html: str) -> None:
    found = extracted(html)
    assert (found.is_move, found.leads_to, bool(found.text)) == (False, THERE, True)


def test_header_asks_for_a_refresh() -> None:
    html = f"<html><body>{SHORT}</body></html>"
    assert [extracted(html, value).is_move for value in ("0; url=/there", "3;/there", "600;/there")] == [
        True,
        True,
        False,
    ]
    assert extracted(html, "600;/there").leads_to == THERE


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "no text at all"),
        ("<div> </div>", "no text at all"),
        ('<a href="/"></a>', "no text at all"),
        ('<img src="/bridge.jpg" alt="The bridge">', "no text but pictures"),
        ("<svg><path d='M0 0'/></svg>", "no text but pictures"),
        ('<iframe src="/inner"></iframe>', "no text but frames"),
        ('<iframe src="/inner">No frames here.</iframe>', "no text but frames"),
        ('<object data="/inner" type="text/html">No objects here.</object>', "no text but pictures"),
        ("<noscript>This site needs JavaScript.</noscript>", "no text but a note on JavaScript"),
        ("<footer>Imprint</footer>", "its text cannot be told from its frame"),
        ("<p>Closed on Mondays.</p>", None),
    ],
)
def test_page_without_content_says_so_and_is_not_signed(body: str, problem: str | None) -> None:
    found = extracted(f"<html><head><title>Bridge</title></head><body>{body}</body></html>")
    assert (found.problem, found.signature is None) == (problem, problem is not None)
    assert (found.title, found.is_move) == ("Bridge", False)
