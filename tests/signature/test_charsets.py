"""The letters of a page: what its server and it say of its bytes holds as far as they bear it out."""

from __future__ import annotations

import encodings
import pkgutil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.encoding import resolve_encoding

from dedup.signature.charsets import _OF_THE_WEB, decode_declared, decode_html
from tests.signature.languages import TEXTS, paragraphs

# Charsets of the web, and the languages that are written in them.
LANGUAGES = {
    "utf-8": ["English", "French", "Russian", "Japanese", "Arabic"],
    "utf-16": ["English", "Russian", "Chinese"],
    "utf-16le": ["English", "French", "Russian", "Japanese", "Arabic"],
    "utf-16be": ["English", "French", "Russian", "Chinese", "Thai"],
    "ibm866": ["Russian"],
    "iso-8859-2": ["Polish", "Czech", "Hungarian"],
    "iso-8859-3": ["Maltese", "Esperanto"],
    "iso-8859-4": ["Latvian", "Lithuanian", "Estonian"],
    "iso-8859-5": ["Russian", "Bulgarian"],
    "iso-8859-6": ["Arabic"],
    "iso-8859-7": ["Greek"],
    "iso-8859-8": ["Hebrew"],
    "iso-8859-10": ["Icelandic"],
    "iso-8859-13": ["Lithuanian", "Latvian", "Estonian"],
    "iso-8859-14": ["Welsh"],
    "iso-8859-15": ["French", "German", "Spanish"],
    "iso-8859-16": ["Romanian"],
    "koi8-r": ["Russian"],
    "koi8-u": ["Ukrainian", "Russian"],
    "macintosh": ["French", "German", "Spanish"],
    "mac-cyrillic": ["Russian", "Ukrainian"],
    "windows-874": ["Thai"],
    "windows-1250": ["Polish", "Czech", "Hungarian"],
    "windows-1251": ["Russian", "Ukrainian", "Bulgarian"],
    "windows-1252": ["French", "German", "Spanish", "Icelandic"],
    "windows-1253": ["Greek"],
    "windows-1254": ["Turkish"],
    "windows-1255": ["Hebrew"],
    "windows-1256": ["Arabic"],
    "windows-1257": ["Lithuanian", "Latvian", "Estonian"],
    "windows-1258": ["Vietnamese"],
    "gbk": ["Chinese"],
    "gb18030": ["Chinese", "Chinese of Taiwan"],
    "big5": ["Chinese of Taiwan"],
    "euc-jp": ["Japanese"],
    "iso-2022-jp": ["Japanese"],
    "shift_jis": ["Japanese"],
    "euc-kr": ["Korean"],
}
CASES = [(charset, language) for charset, languages in LANGUAGES.items() for language in languages]
# Its bytes are those of the same text in ISO-8859-2, where the letters have cedillas in place of commas.
AMBIGUOUS = {("iso-8859-16", "Romanian")}
SIGNS = ["it’s", "“yes”", "1998–2004", "Café", "£5", "€5", "© 2004", "a\xa0b", "Home · News", "a » b", "• one", "1½"]
SCRIPTS = f"<style>{'p { margin: 0 }' * 2000}</style><script>{'if (a < b) { a = b; }' * 2000}</script>"

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy"
POLISH = "Zażółć gęślą jaźń"
JAPANESE = "吾輩は猫である。名前はまだ無い。"
CHINESE = "今天天气很好，我们去公园散步。"
RUSSIAN = "Съешь же ещё этих мягких французских булок"

# A codec of Python's that is no text encoding, and names that it has for others, such as mbcs, are there, too.
CODECS = sorted({each.name for each in pkgutil.iter_modules(encodings.__path__)} | {*encodings.aliases.aliases})


def read(html: bytes, content_type: str | None) -> str | None:
    decoded = decode_declared(html, content_type)
    return None if decoded is None else decoded.text


def page(text: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}<title>x</title></head><body><p>{text}</p></body></html>"


def codec_of(charset: str) -> str:
    codec = resolve_encoding(charset)
    assert codec is not None
    return codec


def texts(charset: str, language: str) -> list[str]:
    """A single line, and a page of several paragraphs."""
    lines = paragraphs(language, codec_of(charset))
    return [lines[0], "</p>\n<p>".join(lines)]


def test_every_charset_of_the_web_is_tested() -> None:
    assert {codec_of(charset) for charset in LANGUAGES} == _OF_THE_WEB


@pytest.mark.parametrize(("charset", "language"), CASES)
def test_server_or_page_say_what_the_bytes_mean(charset: str, language: str) -> None:
    for text in texts(charset, language):
        for name in (charset, f'"{charset.upper()}"'):
            assert read(page(text).encode(codec_of(charset)), f"text/html; charset={name}") == page(text)
        if not charset.startswith("utf-16"):
            html = page(text, f'<meta charset="{charset}">')
            for header in ("text/html", "text/html; charset=no-such-thing"):
                assert read(html.encode(codec_of(charset)), header) == html


@pytest.mark.parametrize(("charset", "language"), sorted({*CASES} - AMBIGUOUS))
@pytest.mark.parametrize("head", ["", SCRIPTS])
def test_bytes_alone_tell_the_charset_of_a_page(charset: str, language: str, head: str) -> None:
    html = page(texts(charset, language)[1], head)
    decoded = decode_html(html.encode(codec_of(charset)), "text/html")
    assert (decoded.text, decoded.broken) == (html, 0)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_in_a_page_of_ascii_is_western(sign: str) -> None:
    for text in (f"{sign}</p><p>{TEXTS['English']}", f'<img alt="{sign}">{TEXTS["English"]}'):
        assert decode_html(page(text).encode("cp1252")) == (page(text), "cp1252", 0)


@pytest.mark.parametrize(
    ("charset", "language"), [("gb18030", "Chinese"), ("big5", "Chinese of Taiwan"), ("shift_jis", "Japanese")]
)
def test_a_character_that_is_cut_off_does_not_hide_the_charset(charset: str, language: str) -> None:
    lines = paragraphs(language, charset)
    html = page(f"{lines[0]}@</p>\n<p>{'</p><p>'.join(lines)}")
    decoded = decode_html(html.encode(charset).replace(b"@</p>", lines[0].encode(charset)[:1] + b"</p>"))
    assert (decoded.text, decoded.broken) == (html.replace("@", "\ufffd"), 1)


@pytest.mark.parametrize("start", ["BMW", "MZ", "ID3", "%PDF-1.4", "\x1b[1m"])
def test_a_text_that_begins_as_other_files_do_is_a_text(start: str) -> None:
    html = page(f"{start} {TEXTS['Czech']}").replace("<title>x</title>", "")
    assert decode_html(html.encode("cp1250")) == (html, "cp1250", 0)


@pytest.mark.parametrize("html", [page("\0 a"), page("\x1b[31mred"), "\0", "\x1b"])
def test_ascii_with_control_characters_stays_what_it_is(html: str) -> None:
    assert decode_html(html.encode()) == (html, "utf-8", 0)


@pytest.mark.parametrize("data", [Random(1).randbytes(3000), bytes(range(1, 32)) + b"\xe9"])
def test_nothing_is_claimed_of_what_is_no_text(data: bytes) -> None:
    decoded = decode_html(data)
    assert (decoded.charset, decoded.broken > 0) == ("utf-8", True)


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
