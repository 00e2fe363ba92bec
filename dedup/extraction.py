"""HTML to main text, by trafilatura."""

from __future__ import annotations

import logging

from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document, Extractor

from dedup.fingerprint.normalise import clean
from dedup.fingerprint.signature import Signature, make_signature

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

# The fast mode finds as much at two thirds of the time. Reading trafilatura's configuration for
# every page would take as long as making a fingerprint.
_OPTIONS = Extractor(output_format="python", fast=True, comments=False, with_metadata=False)


def parse_html(html: bytes | str) -> HtmlElement | None:
    """Parse a page; bytes are decoded by what they are, not by what a header says of them.

    Returns:
        The tree, or None where there is nothing in it.
    """
    return load_html(html)


def main_text(tree: HtmlElement) -> str:
    """Return a page's main text, without navigation, comments and other frame; "" if it has none."""
    text = _extract(tree)
    # One control character, such as &#1;, makes lxml refuse to build the extracted tree.
    if text is None and _clean_tree(tree):
        text = _extract(tree)
    return clean(text or "")


def _extract(tree: HtmlElement) -> str | None:
    document = bare_extraction(tree, options=_OPTIONS)
    return document.text if isinstance(document, Document) else None


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


def analyse_html(html: bytes | str) -> tuple[str, Signature]:
    """Extract a page's main text and make its signature."""
    tree = parse_html(html)
    text = "" if tree is None else main_text(tree)
    return text, make_signature(text)
