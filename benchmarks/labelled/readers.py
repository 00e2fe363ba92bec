"""Texts of packages without their markup."""

from __future__ import annotations

import re
from html import unescape

from lxml import html

REST, MARKDOWN, HTML = "rest", "markdown", "html"
"""Kinds of markup."""

_REST = [
    (re.compile(r"^\.\. (?:_[^\n]*:|\|)[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"^( *)\.\. (?:versionadded|versionchanged|deprecated):: *", re.MULTILINE), r"\1Since version "),
    (re.compile(r"^ *\.\. (?:toctree|contents|index|highlight|currentmodule|image|figure)::[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"^( *)\.\. [\w:.+-]+::", re.MULTILINE), r"\1"),
    (
        re.compile(
            r"^ +:(?:maxdepth|caption|hidden|titlesonly|glob|alt|width|tags|tickets|linenos|noindex|no-index|depth|"
            r"local|members|undoc-members|show-inheritance|backlinks|class|height|align|target|name)\b[^\n]*$",
            re.MULTILINE,
        ),
        "",
    ),
    (re.compile(r"^([=\-~^\"'#*+.`:_<>])\1{2,} *$", re.MULTILINE), ""),
    (re.compile(r":[\w:+.-]+:`([^`<]*?)\s*<[^>`]*>`"), r"\1"),
    (re.compile(r":[\w:+.-]+:`[!~]?([^`]*)`"), r"\1"),
    (re.compile(r"`([^`<]*?)\s*<[^>`]*>`__?"), r"\1"),
    (re.compile(r"`+([^`]+)`+_*"), r"\1"),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])"), r"\1"),
    (re.compile(r"::$", re.MULTILINE), ":"),
]
_MARKDOWN = [
    (re.compile(r"\A---\n.*?\n---\n", re.DOTALL), ""),
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"^(?:```|~~~)[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^#+ *", re.MULTILINE), ""),
    (re.compile(r"^[ |:-]*-{3,}[ |:-]*$", re.MULTILINE), ""),
    (re.compile(r"^\||\|$", re.MULTILINE), ""),
    (re.compile(r" *\| *"), " "),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"`+([^`]*)`+"), r"\1"),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
]
_LINES = "|".join(f"//{name}" for name in ["p", "li", "h1", "h2", "h3", "h4", "pre", "td", "th", "dt"])


def plain_text(text: str, markup: str) -> str:
    """Return the text of a document without its markup, at most one empty line between paragraphs."""
    text = text.replace("\r\n", "\n")
    if markup == HTML:
        text = _text_of_html(text)
    for pattern, put in {REST: _REST, MARKDOWN: _MARKDOWN}.get(markup, []):
        text = pattern.sub(put, text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t\xa0]+$", "", unescape(text), flags=re.MULTILINE)).strip()


def _text_of_html(text: str) -> str:
    root = html.fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8"))
    for element in root.xpath(
        "//script|//style|//head|//div[@class='navheader' or @class='navfooter' or @class='toc']"
    ):
        element.drop_tree()
    for element in root.xpath(_LINES):
        element.tail = "\n" + (element.tail or "")
    lines = (" ".join(line.split()) for line in root.text_content().splitlines())
    return "\n".join(line for line in lines if line)
