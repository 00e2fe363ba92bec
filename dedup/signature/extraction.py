"""HTML to main text, by trafilatura.

It is imported where it is called: the process that sends pages to workers names these functions only,
and starts without it in three quarters of the time.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from dedup.errors import DedupError
from dedup.signature.normalise import clean
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature
from dedup.signature.signing import make_signature

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from trafilatura.settings import Extractor

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

# The fast mode now and then brings the frame of a page and not its story: a note on cookies or a
# few lines about the paper where whole paragraphs stand beside them, or all of a menu. Every page
# of the site then has one and the same text.
_MOST_OF_A_FRAME = 1_000
_SHARE_OF_PARAGRAPHS = 0.2
_LINE_OF_A_MENU = 20


MOST_MARKUP = 300_000
"""So many tags and attributes a page may have: each takes up to 2 kB and 70 microseconds."""


class MarkupError(DedupError):
    """A page has more tags and attributes than are read."""


def parse_html(html: bytes | str) -> HtmlElement | None:
    """Parse a page; bytes are decoded by what they are, not by what a header says of them.

    Returns:
        The tree, or None where there is nothing in it.

    Raises:
        MarkupError: it has more than `MOST_MARKUP` tags and attributes.
    """
    if isinstance(html, bytes):
        # Of bytes trafilatura asks first whether they are compressed, which pages that were fetched are not.
        with suppress(UnicodeDecodeError):
            html = html.decode()
    markup = html.count("<") + html.count("=") if isinstance(html, str) else html.count(b"<") + html.count(b"=")
    if markup > MOST_MARKUP:
        raise MarkupError(f"{markup:,} tags and attributes, {MOST_MARKUP:,} are read at most")
    return _loader()(html)


@cache
def _loader() -> Callable[[bytes | str], HtmlElement | None]:
    from lxml import etree, html
    from trafilatura import load_html
    from trafilatura.utils import HTML_PARSER

    # lxml.html asks a function in Python for the class of every element that it hands out, of which a page has
    # thousands: a twelfth of the time. Only those of forms have a class of their own, and nobody fills in forms here.
    HTML_PARSER.set_element_class_lookup(
        etree.ElementDefaultClassLookup(
            html.HtmlElement, html.HtmlComment, html.HtmlProcessingInstruction, html.HtmlEntity
        )
    )
    return load_html


def text_of(html: bytes | str) -> str:
    """Return the main text of a page; "" if it has none."""
    tree = parse_html(html)
    return "" if tree is None else main_text(tree)


def main_text(tree: HtmlElement) -> str:
    """Return a page's main text, without navigation, comments and other frame; "" if it has none."""
    text = _extract(tree, fast=True)
    # One control character, such as &#1;, makes lxml refuse to build the extracted tree.
    if text is None and _clean_tree(tree):
        text = _extract(tree, fast=True)
    if text and _looks_like_frame(text, tree):
        text = _extract(tree, fast=False) or text
    return clean(text or "")


def _extract(tree: HtmlElement, *, fast: bool) -> str | None:
    from trafilatura import bare_extraction
    from trafilatura.settings import Document

    document = bare_extraction(tree, options=_options(fast=fast))
    return document.text if isinstance(document, Document) else None


@cache
def _options(*, fast: bool) -> Extractor:
    # The fast mode finds as much at two thirds of the time. Reading trafilatura's configuration for
    # every page would take as long as making a fingerprint.
    from trafilatura.settings import Extractor

    return Extractor(output_format="python", fast=fast, comments=False, with_metadata=False)


def _looks_like_frame(text: str, tree: HtmlElement) -> bool:
    if len(text) < _LINE_OF_A_MENU * (text.count("\n") + 1):
        return True
    if len(text) >= _MOST_OF_A_FRAME:
        return False
    # Pages are often indented, and white space is no text.
    paragraphs = sum(len(" ".join(paragraph.text_content().split())) for paragraph in tree.iter("p"))
    return len(text) < _SHARE_OF_PARAGRAPHS * paragraphs


def _clean_tree(tree: HtmlElement) -> bool:
    """Take control characters out of all texts of a tree; say whether there were any."""
    has_changed = False
    for element in tree.iter():
        for name in ("text", "tail"):
            text = getattr(element, name)
            if text and (cleaned := clean(text)) != text:
                setattr(element, name, cleaned)
                has_changed = True
    return has_changed


def analyse_html(html: bytes | str, scheme: Scheme | None = None) -> tuple[str, Signature]:
    """Extract a page's main text and make its signature, by default by `words`."""
    text = text_of(html)
    return text, make_signature(text, scheme)
