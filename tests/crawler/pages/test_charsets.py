"""Pages are stored with the letters that their server and they themselves say they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler.pages.extraction import decode_page
from tests.crawling import ask, crawl_site_here
from tests.localsite import LocalSite, Reply

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


@pytest.mark.slow
def test_short_pages_are_stored_with_their_letters_and_stay_unchanged(tmp_path: Path) -> None:
    pages = {
        f"/{number}": Reply(page(text).encode(charset), headers={"Content-Type": f"text/html; charset={charset}"})
        for number, (text, charset) in enumerate(SHORT)
    }
    with LocalSite(pages) as site:
        starts = ",".join(site.url + path for path in pages)
        crawl_site_here(tmp_path / "crawl.db", {"DEDUP_SHORT_TEXTS": "pass"}, url=starts)
        again = crawl_site_here(tmp_path / "crawl.db", {"DEDUP_SHORT_TEXTS": "pass"}, url=starts)
        rows = ask(f"sqlite:///{tmp_path / 'crawl.db'}", "SELECT url, text FROM pages")
        stored = {row["url"].removeprefix(site.url): row["text"] for row in rows}
    assert stored == {f"/{number}": text for number, (text, _) in enumerate(SHORT)}
    assert again.count("crawler/stored") == len(SHORT)
