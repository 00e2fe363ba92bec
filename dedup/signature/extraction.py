"""HTML to main text, by trafilatura.

It is imported where it is called: the process that sends pages to workers names these functions only,
and starts without it in three quarters of the time.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from dedup.errors import DedupError
from dedup.signature.charsets import UTF_8, decode_html
from dedup.signature.normalise import clean
from dedup.signature.page_markup import open_markup
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature
from dedup.signature.signing import make_signature

if TYPE_CHECKING:
    from lxml.etree import HTMLParser
    from lxml.html import HtmlElement
    from trafilatura.settings import Extractor

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

THIN = 0.15
"""A text that is a smaller share of its page's own text is thin: it may be the frame's and not the page's."""

THIN_IF_SHORT = 0.5
"""Of a text of a few sentences: a note on cookies has three, and may be all that is found of a page of eight."""

MOST_PAGE_TEXT = 100_000
"""So many characters of the page's own text go along with a text that is thin."""

# Of the page's own text: the full mode looks where the fast one finds less.
_FOUND_ENOUGH = 0.2
# Bytes of UTF-8, since a word of Chinese has two characters. A thin text that is longer may be a story beside many
# comments and headlines, to which the full mode adds little, and all text of the page more noise than it finds.
_MOST_BEFORE_FULL = 1_200
_MOST_BEFORE_PAGE = 1_000
_LINE_OF_A_MENU = 20
_WORD = re.compile(r"\w+")
# Characters. On lists of many thousand rows the full mode takes seconds.
_LONGEST_FOR_FULL = 200_000


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FRAME = _names("""
    audio canvas head iframe noscript object script style svg template video
    button footer header nav select
""")
_FRAME_ROLES = _names("alertdialog banner complementary contentinfo dialog menu menubar navigation search")
# Some sites put their stories into <aside>, and some frameworks all of a page into <form>.
_FRAME_IF_SMALL = _names("aside form")
_WITHIN_LINES = _names("""
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q rp rt ruby s samp
    small span strike strong sub sup time tt u var wbr
""")

# Of a footer that holds a story: bytes of UTF-8, and what stands in those that hold none.
_SHORTEST_STORY = 800
_SENTENCE = 80
_MOST_OF_A_STORY = 0.8
_NO_STORY = ("address", "button", "form", "input", "nav", "select")
_OWNER = re.compile("[©Ⓒⓒ]|copyright|all rights", re.IGNORECASE)

# Of the letters of a text and of its Markdown, which says more than the text in what the pattern matches: where links
# lead, numbers of lists, and marks for which there are but tags.
_SAME_LETTERS = 0.9
_ADDED = re.compile(r"\]\((?:<(?:\\.|[^<>\\])*+>|[^()\s]*+)\)|^ *\d+\. |</?(?:su[bp]|u)>", re.MULTILINE)
_TO_NOWHERE = re.compile(r"\[((?:\\.|[^\[\]\\])*+)\]\(about:blank\)")
_NO_LETTERS = re.compile(r"[\W_]+")

# What the parser makes strange characters of, or ends the page at.
_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\v\f\r"})
_SPACES = bytes.maketrans(b"\v\f", b"  ")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_CLOSED_ROOT = re.compile(rb"(<html(?=[\s/])[^<>]*)/>", re.IGNORECASE)

NOWHERE = "about:blank"
"""Where a link leads whose text stands in Markdown as if it was none."""

MOST_MARKUP = 300_000
"""So many tags and attributes a page may have: each takes up to 2 kB and 70 microseconds."""


class PageError(DedupError):
    """A page gives no text."""


class MarkupError(PageError):
    """A page has more tags and attributes than are read."""


def parse_html(html: bytes | str) -> HtmlElement | None:
    """Parse a page; bytes are decoded by `decode_html`.

    Returns:
        The tree, or None where there is nothing in it.

    Raises:
        MarkupError: it has more than `MOST_MARKUP` tags and attributes.
    """
    if isinstance(html, bytes):
        html = decode_html(html).text
    markup = html.count("<") + html.count("=")
    if markup > MOST_MARKUP:
        raise MarkupError(f"{markup:,} tags and attributes, {MOST_MARKUP:,} are read at most")
    if _NO_CHARACTER.search(html):
        html = _NO_CHARACTER.sub("", html)
    data = _CLOSED_ROOT.sub(rb"\1>", html.encode("utf-8", "surrogatepass").translate(_SPACES, _CONTROLS), count=1)
    return _parse(data) if data.strip() else None


@cache
def _parser() -> HTMLParser:
    from lxml import etree, html

    parser = etree.HTMLParser(
        encoding=UTF_8, collect_ids=False, default_doctype=False, remove_comments=True, remove_pis=True
    )
    # lxml.html asks a function in Python for the class of every element that it hands out, of which a page has
    # thousands: a twelfth of the time. Only those of forms have a class of their own, and nobody fills in forms here.
    classes = html.HtmlElement, html.HtmlComment, html.HtmlProcessingInstruction, html.HtmlEntity
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(*classes))
    return parser


def _parse(data: bytes) -> HtmlElement | None:
    from lxml import etree

    return etree.fromstring(data, _parser())


How = Literal["fast", "full", "page", "pdf"]


class MainText(NamedTuple):
    """What was found to be the text of a page.

    Attributes:
        text: the text; "" where there is none.
        how: by trafilatura's `fast` mode, by its `full` mode, or as all text of the `page`, or of a `pdf`; None where
            there is none.
        page_characters: how long the page's own text is, see `page_text`.
        page_text: the page's own text where `text` is thin, up to `MOST_PAGE_TEXT`; else "".
    """

    text: str = ""
    how: How | None = None
    page_characters: int = 0
    page_text: str = ""


def find_text(tree: HtmlElement | None) -> MainText:
    """Find a page's main text, without navigation, comments and other frame.

    The fast mode finds most, at two thirds of the time. Now and then it brings a note on cookies, a line about the
    paper or a menu where the page holds much more. Then the full mode looks again; and where that has no more, all text
    of the page is taken.
    """
    if tree is None:
        return MainText()
    open_markup(tree)
    own = _open_footers(tree)
    text = _extract_at_all(tree, _options(fast=True))
    how: How = "fast"
    if _may_be_frame(text, own, _MOST_BEFORE_FULL) and len(own) <= _LONGEST_FOR_FULL:
        full = _extract(tree, _options(fast=False)) or ""
        if _is_better(full, text):
            text, how = full, "full"
    if own and _may_be_frame(text, own, _MOST_BEFORE_PAGE):
        text, how = own, "page"
    share = THIN_IF_SHORT if len(text.encode()) < _MOST_BEFORE_PAGE else THIN
    is_thin = _length(text) < share * len(own)
    return MainText(text, how if text else None, len(own), own[:MOST_PAGE_TEXT] if is_thin else "")


def find_markdown(tree: HtmlElement | None, main: MainText) -> str:
    """Return the main text of a page as Markdown: with headings, lists, tables, links, code and emphasis.

    Told to keep links, trafilatura finds another text of some pages, of which the links are left out then. What is no
    text of trafilatura's, and what is another one all the same, stays plain.

    Args:
        tree: the page, whose links are written as they are there.
        main: what was found to be its text.
    """
    if tree is None or main.how not in ("fast", "full"):
        return main.text
    open_markup(tree)
    _open_footers(tree)
    for links in (True, False):
        markdown = _extract_at_all(tree, _options(fast=main.how == "fast", formatting=True, links=links))
        markdown = _TO_NOWHERE.sub(r"\1", markdown)
        if _has_same_letters(_ADDED.sub("", markdown), main.text):
            return markdown.strip()
    return main.text


def _has_same_letters(text: str, other: str) -> bool:
    first, second = (Counter(_NO_LETTERS.sub("", each)) for each in (text, other))
    return (first & second).total() >= _SAME_LETTERS * max(first.total(), second.total())


def _open_footers(tree: HtmlElement) -> str:
    """Make plain parts of the footers that hold the story of a page, and return the page's own text then."""
    own = page_text(tree)
    stories = [footer for footer in tree.iter("footer") if _is_story(footer, 2 * len(own))]
    for footer in stories:
        footer.attrib.clear()
        footer.tag = "div"
    return page_text(tree) if stories else own


def _is_story(footer: HtmlElement, least: int) -> bool:
    """Return whether a footer holds sentences and hardly anything else: those of pages have links and an owner."""
    if len(footer.text_content()) < least or next(footer.iter(*_NO_STORY), None) is not None:
        return False
    text = page_text(footer)
    size = len(text.encode())
    if len(text) < least or size < _SHORTEST_STORY or footer.get("role") in _FRAME_ROLES or _OWNER.search(text):
        return False
    sentences = sum(length for line in text.splitlines() if (length := len(line.encode())) >= _SENTENCE)
    is_of_article = next(footer.iterancestors("article"), None) is not None
    return sentences > _MOST_OF_A_STORY * size and (is_of_article or not _has_menu(footer))


def _has_menu(footer: HtmlElement) -> bool:
    """Return whether some line of a footer is mostly links."""
    blocks = {next(part for part in link.iterancestors() if part.tag not in _WITHIN_LINES) for link in footer.iter("a")}
    return any(
        2 * sum(_length(link.text_content()) for link in each.iter("a")) > _length(each.text_content())
        for each in blocks
    )


def page_text(tree: HtmlElement) -> str:
    """Return all text of a page but navigation, header, footer, forms and other frame, a line for each block.

    Args:
        tree: the page, or a part of it, whatever that is.
    """
    from lxml import etree

    lines: list[str] = []
    line: list[str] = []
    opened: list[int] = []
    small: list[tuple[int, int]] = []
    root = next(tree.iter("body"), tree)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag, is_start = element.tag, event == "start"
        if tag not in _WITHIN_LINES and line:
            lines.append(" ".join("".join(line).split()))
            line.clear()
        if tag in _FRAME_IF_SMALL:
            if is_start:
                opened.append(len(lines))
            else:
                small.append((opened.pop(), len(lines)))
        elif is_start and (tag in _FRAME or element.get("role") in _FRAME_ROLES) and element is not root:
            walk.skip_subtree()
            continue
        if text := element.text if is_start else element.tail:
            line.append(text)
    ends = [0, *accumulate(map(len, lines))]
    for first, end in small:
        if ends[end] - ends[first] <= ends[-1] / 2:
            lines[first:end] = [""] * (end - first)
    return clean("\n".join(filter(None, lines)))


def _length(text: str) -> int:
    return len(" ".join(text.split()))


def _is_little(text: str, own: str) -> bool:
    return _length(text) < _FOUND_ENOUGH * len(own)


def _may_be_frame(text: str, own: str, most: int) -> bool:
    return (_is_little(text, own) and len(text.encode()) < most) or (
        _is_menu(text) and _WORD.findall(text) != _WORD.findall(own)
    )


def _is_menu(text: str) -> bool:
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    return sum(len(line.strip().encode()) for line in lines) < _LINE_OF_A_MENU * len(lines)


def _is_better(full: str, text: str) -> bool:
    least = _FOUND_ENOUGH if _is_menu(text) and not _is_menu(full) else 1
    return _length(full) > least * _length(text)


def _extract_at_all(tree: HtmlElement, options: Extractor) -> str:
    text = _extract(tree, options)
    # One control character, such as &#1;, makes lxml refuse to build the extracted tree.
    if text is None and _clean_tree(tree):
        text = _extract(tree, options)
    return text or ""


def _extract(tree: HtmlElement, options: Extractor) -> str | None:
    from trafilatura import bare_extraction
    from trafilatura.settings import Document

    document = bare_extraction(tree, options=options)
    return clean(document.text or "") if isinstance(document, Document) else None


@cache
def _options(*, fast: bool, formatting: bool = False, links: bool = False) -> Extractor:
    # Reading trafilatura's configuration for every page would take as long as making a fingerprint.
    from trafilatura.settings import Extractor

    return Extractor(
        output_format="python", fast=fast, comments=False, with_metadata=False, formatting=formatting, links=links
    )


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


def sign_page(main: MainText, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a page, by default by `words`.

    It is found by its text. Where that is thin, it may be a part of the frame that many pages have: digest and words,
    by which pages are compared, are those of the page's own text then.
    """
    signature = make_signature(main.text, scheme)
    if not main.page_text:
        return signature
    page = make_signature(main.page_text, scheme)
    return replace(signature, text_digest=page.text_digest, words=page.words)
