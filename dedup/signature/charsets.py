"""Bytes of HTML to text: what server and page say of them holds as far as the bytes bear it out."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from dedup.signature.markup import without_tags

UTF_8 = "utf-8"

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before that of UTF-16, which it begins with.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WIDE = "utf-16"
# Those whose bytes can all be ASCII's.
_IN_ASCII = frozenset({UTF_8, "utf-16-le", "utf-16-be", "iso-2022-jp"})
# Those of the Encoding Standard, by names that chardet knows; Python's others, such as `idna`, are none.
_NAMES = _IN_ASCII | frozenset(
    "utf-16 cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-2 iso8859-3"  # noqa: SIM905
    " iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r"
    " koi8-u mac-roman mac-cyrillic gb18030 big5hkscs euc-jp".split()
)
# As Python calls them.
_OF_THE_WEB = {charset for name in _NAMES if (charset := resolve_encoding(name)) is not None}
# What servers say that were never told; and all bytes are letters of it.
_USUAL_LIE = "cp1252"
# In the languages that it is for letters with accents stand between others.
_OTHER_SCRIPTS = re.compile(b"[\xa1-\xff]{6}")
_TAG = re.compile("<[a-z!/?]", re.IGNORECASE)
# Of a guess, from 0 to 1. Right ones of a few words are below it, and all others of a page whose charset is ruled out.
_UNCERTAIN = 0.2
# Of what is not ASCII. Some broken characters are in many pages; another charset breaks most of them. As UTF-8 any
# other breaks more than half, so that hardly a page looks like it by chance.
_MOST_BROKEN = 0.01
_MOST_BROKEN_OF_UTF_8 = 0.2
_MOST_BROKEN_OF_DECLARED_UTF_8 = 1 / 3


class Decoded(NamedTuple):
    """HTML as text.

    Attributes:
        text: the text.
        charset: by which it was read, as Python calls it.
        broken: how many stretches of bytes are no characters of it, and stand in the text as U+FFFD.
    """

    text: str
    charset: str = UTF_8
    broken: int = 0


def marked(data: bytes) -> str | None:
    """Return the encoding that a byte order mark says bytes are in."""
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)


def is_binary(data: bytes) -> bool:
    """Return whether bytes are no text, as no mark says that zeros among them are characters."""
    return b"\0" in data and marked(data) is None


def decode_declared(html: bytes, content_type: str | None = None) -> Decoded | None:
    """Decode HTML as the UTF-8 that it is, or as server and page say.

    A byte order mark comes first, then UTF-8, then, as in the standard, the header and a meta element. What yields no
    markup, or breaks what is not ASCII, is passed over.

    Args:
        html: the bytes.
        content_type: the header.

    Returns:
        The text; None where nobody says, or wrongly, what the bytes mean.
    """
    charset, mark = read_bom(html)
    if charset is not None and mark is not None:
        return _read_as(charset, html[len(mark) :])
    is_ascii = html.isascii()
    utf_8 = _read_as(UTF_8, html)
    if not is_ascii and b"\0" not in html and _fits(utf_8, _MOST_BROKEN_OF_UTF_8):
        return utf_8
    named = html_body_declared_encoding(html)
    if named is not None and named.startswith(_WIDE):
        named = UTF_8  # else nobody could have read its name
    for charset in (http_content_type_encoding(content_type), named):
        if charset == UTF_8 and _fits(utf_8, _MOST_BROKEN_OF_DECLARED_UTF_8):
            return utf_8
        is_lie = charset == _USUAL_LIE and _OTHER_SCRIPTS.search(html) is not None
        if not is_lie and (decoded := _read_if_it_fits(charset, html)) is not None:
            return decoded
    # With these two bytes it may be UTF-16 or ISO-2022-JP.
    return utf_8 if is_ascii and b"\0" not in html and b"\x1b" not in html else None


def decode_html(html: bytes, content_type: str | None = None) -> Decoded:
    """Decode HTML as `decode_declared`, else by what its bytes look like."""
    if (declared := decode_declared(html, content_type)) is not None:
        return declared
    return _read_if_it_fits(guess_charset(html), html) or _read_as(UTF_8, html)


def guess_charset(html: bytes) -> str | None:
    """Return the charset, as Python calls it, that bytes look like which are no UTF-8; None where they are no text."""
    # Tags and scripts are in no language, and before the text there may be more of them than are looked at. In UTF-16
    # and ISO-2022-JP their signs are parts of characters.
    text = b"" if b"\0" in html else without_tags(html.decode("latin-1")).encode("latin-1")
    if text.isascii():
        text = html
    elif _OTHER_SCRIPTS.search(text):
        # The menu may be in English, and longer.
        text = b"\n".join(line for line in text.splitlines() if not line.isascii())
    charset, certainty = _guess(text)
    if certainty <= _UNCERTAIN:
        # A single broken character rules out the charset that all others are in.
        of_line, certainty_of_line = _guess(max(text.splitlines(), key=len))
        if certainty_of_line > certainty and of_line not in (None, UTF_8):
            return of_line
    return charset


def _guess(data: bytes) -> tuple[str | None, float]:
    import chardet  # noqa: PLC0415 -- 27 MB of models, and next to all pages say what they are

    names = _IN_ASCII if data.isascii() else _NAMES
    if b"\0" not in data:
        # A text that begins with BMW would be a picture.
        data = b"\n" + data
    found = chardet.detect(data, include_encodings=names, no_match_encoding=UTF_8)
    return resolve_encoding(found["encoding"] or ""), found["confidence"]


def _read_if_it_fits(charset: str | None, html: bytes) -> Decoded | None:
    decoded = _read_as(charset, html) if charset in _OF_THE_WEB else None
    return decoded if decoded is not None and _fits(decoded, _MOST_BROKEN) else None


def _read_as(charset: str, html: bytes) -> Decoded:
    text = to_unicode(html, charset)
    broken = text.count("\ufffd")
    if broken and charset == UTF_8:
        broken -= html.count(b"\xef\xbf\xbd")  # what was broken before, and is written so
    return Decoded(text, charset, broken)


def _fits(decoded: Decoded, most: float) -> bool:
    if decoded.charset.startswith(_WIDE) and not _TAG.search(decoded.text):
        return False
    if not decoded.broken:
        return True
    beyond_ascii = len(decoded.text) - len(decoded.text.encode("ascii", "ignore"))
    return decoded.broken <= most * beyond_ascii
