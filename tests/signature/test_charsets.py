"""The letters of a page: what its server and it say of its bytes holds as far as they bear it out."""

from __future__ import annotations

import encodings
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.charsets import decode_declared, decode_html

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


# A codec of Python's that is no text encoding, and names that it has for others, such as mbcs, are there, too.
CODECS = sorted({each.name for each in pkgutil.iter_modules(encodings.__path__)} | {*encodings.aliases.aliases})


def read(html: bytes, content_type: str | None) -> str | None:
    decoded = decode_declared(html, content_type)
    return None if decoded is None else decoded.text


def page(text: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}<title>x</title></head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(("text", "charset"), SHORT)
def test_header_says_what_the_bytes_mean(text: str, charset: str) -> None:
    assert read(page(text).encode(charset), f'text/html; charset="{charset.upper()}"') == page(text)


@pytest.mark.parametrize(("text", "charset"), SHORT)
def test_meta_element_says_it_where_the_header_does_not(text: str, charset: str) -> None:
    html = page(text, f'<meta charset="{charset}">')
    assert read(html.encode(charset), "text/html") == html
    assert read(html.encode(charset), "text/html; charset=no-such-thing") == html


def test_byte_order_mark_comes_before_the_header_and_that_before_the_meta_element() -> None:
    assert read(page(CZECH).encode("utf-8-sig"), "text/html; charset=iso-8859-2") == page(CZECH)
    assert read(page(CZECH).encode("utf-16"), "text/html; charset=utf-8") == page(CZECH)
    html = page(CZECH, '<meta charset="iso-8859-1">')
    assert read(html.encode("iso-8859-2"), "text/html; charset=iso-8859-2") == html


def test_header_that_is_wrong_does_not_count() -> None:
    html = page(CHINESE, '<meta charset="gbk">')
    assert read(html.encode("gbk"), "text/html; charset=utf-8") == html
    for others in (page(CHINESE).encode("gbk"), page(RUSSIAN).encode("koi8-r")):
        assert read(others, "text/html; charset=iso-8859-1") is None
    french = page("Où êtes-vous allés cet été ?")
    assert read(french.encode("latin-1"), "text/html; charset=iso-8859-1") == french


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), st.sampled_from(CODECS))
def test_utf_8_is_read_as_such_whatever_is_said_of_it(text: str, charset: str) -> None:
    for head, header in ((f'<meta charset="{charset}">', ""), ("", f"; charset={charset}")):
        assert read(page(text, head).encode(), f"text/html{header}") == page(text, head)


def test_utf_16_is_believed_where_it_yields_markup_and_never_by_a_page_that_says_so() -> None:
    html = page(POLISH)
    for name in ("utf-16-le", "utf-16-be"):
        assert read(html.encode(name), f"text/html; charset={name}") == html
    for head in ('<meta charset="utf-16">', '<meta http-equiv="Content-Type" content="text/html; charset=utf-16be">'):
        html = f'<?xml version="1.0" encoding="utf-16"?>{page(POLISH, head)}'
        assert read(html.encode(), "text/html; charset=utf-16") == html


@pytest.mark.parametrize(
    ("text", "charset"), [(CZECH, "utf-8"), (CHINESE, "utf-8"), (JAPANESE * 20, "shift_jis"), (CHINESE * 20, "gb18030")]
)
def test_broken_letters_do_not_make_the_header_wrong_and_are_counted(text: str, charset: str) -> None:
    html = page(text).encode(charset).replace(b"</p>", b"\x81</p>")
    decoded = decode_html(html, f"text/html; charset={charset}")
    assert (decoded.text, decoded.broken) == (page(text).replace("</p>", "\ufffd</p>"), 1)


def test_a_part_in_another_charset_does_not_break_what_is_declared_utf_8() -> None:
    html = page(f"{CZECH} @").encode().replace(b"@", "Kč, ještě, tři".encode("iso-8859-2"))
    assert read(html, "text/html") is None
    decoded = decode_html(html, "text/html; charset=utf-8")
    assert (CZECH in decoded.text, decoded.broken) == (True, 4)


def test_what_was_broken_before_is_not_broken() -> None:
    html = page("\ufffd" * 9)
    assert decode_html(html.encode(), None) == (html, "utf-8", 0)


@pytest.mark.parametrize("content_type", [None, "", "text/html", "text/html; charset=", "text/html; charset=utf-8"])
def test_bytes_of_which_nothing_true_is_said_are_guessed(content_type: str | None) -> None:
    html = page(f"{RUSSIAN}. " * 5)
    assert read(html.encode("windows-1251"), content_type) is None
    assert decode_html(html.encode("windows-1251"), content_type) == (html, "cp1251", 0)
