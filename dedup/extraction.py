"""HTML to main text, by trafilatura."""

from __future__ import annotations

import logging

from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document

from dedup.fingerprint.normalise import clean
from dedup.fingerprint.signature import Signature, make_signature

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def parse_html(html: bytes | str) -> HtmlElement | None:
    """Parse a page; bytes are decoded by what they are, not by what a header says of them.

    Returns:
        The tree, or None where there is nothing in it.
    """
    return load_html(html)


def main_text(tree: HtmlElement) -> str:
    """Return a page's main text, without navigation, comments and other frame; "" if it has none."""
    # The fast mode finds as much at two thirds of the time; see docs/decisions.md.
    document = bare_extraction(tree, fast=True, include_comments=False, with_metadata=False)
    return clean(document.text or "") if isinstance(document, Document) else ""


def analyse_html(html: bytes | str) -> tuple[str, Signature]:
    """Extract a page's main text and make its signature."""
    tree = parse_html(html)
    text = "" if tree is None else main_text(tree)
    return text, make_signature(text)
