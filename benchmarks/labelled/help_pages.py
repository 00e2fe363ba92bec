"""Help pages of programs, in HTML, as documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import html

from benchmarks.labelled.blocks import CODE, HEADING, ITEM, PARAGRAPH, ROW, Block, Page

_KINDS = {"h1": HEADING, "h2": HEADING, "h3": HEADING, "h4": HEADING, "p": PARAGRAPH, "pre": CODE, "tr": ROW}
_NUMBER = re.compile(r"^(?:图 |Figure |Abbildung )?\d+(?:\.\d+)+\.?\s+")
_FEWEST_LETTERS_OF_A_FUNCTION = 150


def office_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of LibreOffice's help by their paths; where one describes many functions, each of them too."""
    for path in sorted(folder.rglob("text/*/*/*.html")):
        area = html.fromstring(path.read_bytes()).find(".//div[@id='DisplayArea']")
        if area is None:
            continue
        key = "-".join(path.parts[-3:]).removesuffix(".html")
        blocks = list(_html_blocks(area))
        if len(blocks) > 1 and blocks[0].kind == HEADING:
            yield key, Page(blocks[0].text, tuple(blocks[1:]))


def office_functions(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield what the help says of each function of its spreadsheet, in the order of the pages."""
    for path in sorted(folder.rglob("text/scalc/01/040601*.html")):
        area = html.fromstring(path.read_bytes()).find(".//div[@id='DisplayArea']")
        if area is None:
            continue
        for number, section in enumerate(area.iterdescendants("h2")):
            blocks = []
            for element in section.itersiblings():
                # What is said of another function may be in a box of its own.
                if element.tag in ("h1", "h2") or element.find(".//h2") is not None:
                    break
                blocks += list(_html_blocks(element))
            name = " ".join(section.text_content().split())
            if sum(len(block.text) for block in blocks) >= _FEWEST_LETTERS_OF_A_FUNCTION:
                yield f"{path.stem}-{number}", Page(name, tuple(blocks))


def docbook_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield pages that DocBook's stylesheets made, by their names, without the numbers of their sections."""
    for path in sorted(folder.rglob("*.html")):
        body = html.fromstring(path.read_bytes()).find("body")
        if body is None:
            continue
        for frame in body.xpath("div[@class='navheader' or @class='navfooter']"):
            frame.drop_tree()
        blocks = [Block(each.kind, (_NUMBER.sub("", each.text),)) for each in _html_blocks(body)]
        if len(blocks) > 1 and blocks[0].kind == HEADING:
            yield path.stem, Page(blocks[0].text, tuple(blocks[1:]))


def _html_blocks(area: html.HtmlElement) -> Iterator[Block]:
    for element in area.iter(*_KINDS):
        if element.tag == "tr":
            cells = tuple(" ".join(cell.text_content().split()) for cell in element.iter("td", "th"))
        elif any(parent.tag == "tr" for parent in element.iterancestors("tr", "div")):
            continue
        else:
            cells = (" ".join(element.text_content().split()),)
        kind = ITEM if element.getparent() is not None and element.getparent().tag == "li" else _KINDS[element.tag]
        if any(cells):
            yield Block(kind, cells)
