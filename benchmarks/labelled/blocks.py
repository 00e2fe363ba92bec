"""A document as blocks: what pages are rendered from and what edits are made on."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

HEADING, PARAGRAPH, ITEM, ROW, CODE = "heading", "paragraph", "item", "row", "code"
"""Kinds of blocks: a heading, a paragraph, an item of a list, a row of a table, text that keeps its lines."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document: its kind, and its text, of a row in cells."""

    kind: str
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its cells in a line."""
        return " ".join(self.cells)


@dataclass(frozen=True, slots=True)
class Page:
    """A document: its title, its blocks, and words of it that it is there for, which no edit may change."""

    title: str
    blocks: tuple[Block, ...]
    kept: str = ""

    @property
    def text(self) -> str:
        """All of it, a block a line."""
        return "\n".join([self.title, *(block.text for block in self.blocks)])


_OPENING = {ITEM: "<ul>", ROW: "<table>"}
_CLOSING = {ITEM: "</ul>", ROW: "</table>"}


def as_html(blocks: tuple[Block, ...], heading: str = "h2") -> str:
    """Return blocks as HTML; rows and items that follow each other are one table and one list."""
    parts: list[str] = []
    last = ""
    for block in blocks:
        if block.kind != last:
            parts += [_CLOSING.get(last, ""), _OPENING.get(block.kind, "")]
        parts.append(_element(block, heading))
        last = block.kind
    return "\n".join(filter(None, [*parts, _CLOSING.get(last, "")]))


def _element(block: Block, heading: str) -> str:
    if block.kind == ROW:
        return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in block.cells) + "</tr>"
    name = {HEADING: heading, ITEM: "li", CODE: "pre"}.get(block.kind, "p")
    return f"<{name}>{escape(block.text)}</{name}>"
