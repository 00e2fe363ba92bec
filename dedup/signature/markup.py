"""Markup in a text: tags, character references, and images that are written out as letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5

# These read what sites have written: nothing may be matched in more ways than one. They are searched ten times as fast
# where their first letter is one alone, which it is not where case plays no part.
_MARKUP = re.compile(
    r"<(?:/[a-zA-Z][a-zA-Z0-9]*+\s*+>|(?i:br|hr|p)\s*+/?>|(?i:br|hr|p|div|span|a|img)\s++[a-zA-Z-]++=[^<>]*+>)"
)
# A sign and a name alone are no reference: `?a=1&copy=2`, `AT&T`.
_REFERENCE = re.compile(r"&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,30}));")
_IMAGE = ";base64,"
_MOST_ROUNDS = 4
_MARKUP_IN_BYTES, _REFERENCE_IN_BYTES = (re.compile(each.pattern.encode()) for each in (_MARKUP, _REFERENCE))
_BLOCK = re.compile(r"</?(?i:p|div|br|hr|li|td|th|tr|dt|dd|h[1-6]|blockquote|section|article|figcaption)\b")
# A quoted value may have the sign that ends a tag, and a quote need not be closed.
_TAG = re.compile(r"""<(?:/?[a-zA-Z](?:(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+>|[^<>]*+>)|[!?][^<>]*+>)""")
_NO_TEXT = re.compile(r"<(?:(?i:(script|style|noscript|template))\b|!--)")
_AS_LETTERS = re.compile(r"data:[a-z]++/[a-z0-9.+-]++(?:;[a-z]++=[a-z0-9.-]++)*+;base64,[a-zA-Z0-9+/=%_-]*+")


def has_markup(text: bytes) -> bool:
    """Return whether a text in UTF-8 has any, which takes next to no time: most texts have not even the signs of it."""
    # One letter is found ten times as fast as several.
    return (
        (b"<" in text and _MARKUP_IN_BYTES.search(text) is not None)
        or (b"&" in text and _REFERENCE_IN_BYTES.search(text) is not None)
        or (b";" in text and _IMAGE.encode() in text)
    )


def without_markup(text: str) -> str:
    """Return what a reader sees of a text that may be HTML.

    Tags are left out where a text has closed elements, line breaks or paragraphs: `a < b` and `List<String>` stay.
    References are decoded, also those that were encoded twice; what they hide may be markup again.

    Args:
        text: any text.
    """
    if ";" in text and _IMAGE in text:
        text = _AS_LETTERS.sub("", text)
    for _ in range(_MOST_ROUNDS):
        if "<" in text and _MARKUP.search(text):
            text = without_tags(text)
        if "&" not in text or not _REFERENCE.search(text):
            break
        text = _REFERENCE.sub(_character, text)
    return text


def _character(reference: re.Match[str]) -> str:
    return html5.get(f"{reference[1]};", reference[0]) if reference[1] else unescape(reference[0])


def without_tags(text: str) -> str:
    """Return what is outside of tags, of comments and of elements that hold no text, as it is written."""
    # Text of two paragraphs is not one word.
    return _TAG.sub("", _BLOCK.sub(r"\n\g<0>", "".join(parts_with_text(text))))


def parts_with_text(text: str) -> Iterator[str]:
    """Yield the text outside of comments and of elements that hold none; one that is never closed is text."""
    start = 0
    unclosed = set[str]()
    for opening in _NO_TEXT.finditer(text):
        end = f"</{opening[1].lower()}>" if opening[1] else "-->"
        if opening.start() < start or end in unclosed:
            continue
        closing = re.compile(end, re.IGNORECASE).search(text, opening.end())
        if closing is None:
            unclosed.add(end)
        else:
            yield text[start : opening.start()]
            start = closing.end()
    yield text[start:]
