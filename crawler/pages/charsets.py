"""The letters of a page: its bytes as text, by what the page and its server say of them."""

from __future__ import annotations

import codecs
import re

from scrapy.http import Response
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, resolve_encoding

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What servers say that were never told; and all bytes are letters of it.
_USUAL_LIE = "cp1252"
# In the languages that it is for letters with accents stand between others.
_OTHER_SCRIPTS = re.compile(b"[\xa1-\xff]{6}")
_MOST_BROKEN = 0.01


def content_type_of(response: Response) -> str:
    """Return what a server says that the bytes of its answer are; "" if it does not."""
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def decode_page(html: bytes, content_type: str | None) -> bytes | str:
    """Return a page as text; as it is where nobody says, or wrongly, what its bytes mean.

    In the order of the standard: a byte order mark, the header, a meta element.

    Args:
        html: its bytes.
        content_type: the header.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if html.startswith(mark):
            return html.decode(name, errors="replace")
    declared = http_content_type_encoding(content_type) if content_type else None, html_body_declared_encoding(html)
    for given in filter(None, declared):
        name = resolve_encoding(given) or ""
        if name == _USUAL_LIE and (_is_utf8(html) or _OTHER_SCRIPTS.search(html)):
            continue
        try:
            text = html.decode(name, errors="replace")
        except LookupError:
            continue
        # Some broken ones are in many pages; another charset breaks most that is not ASCII.
        broken = text.count("\ufffd")
        if not broken or broken <= _MOST_BROKEN * (len(text) - len(text.encode("ascii", "ignore"))):
            return text
    return html


def _is_utf8(html: bytes) -> bool:
    try:
        html.decode()
    except UnicodeDecodeError:
        return False
    return True
