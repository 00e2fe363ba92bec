"""The trees of pages that a worker process has read and may be asked about once more."""

from __future__ import annotations

from lxml.html import HtmlElement

MOST = 16
"""How many trees are held: about as many pages are under way at once."""

LARGEST = 500_000
"""Bytes of a page whose tree is held; the tree takes ten times as many."""


class RecentTrees:
    """Holds the trees of the latest pages until they are asked for.

    A page that is kept is read twice, first for its text and then for its metadata, and one worker in
    so many as there are gets both.
    """

    def __init__(self) -> None:
        self._trees: dict[str, tuple[bytes, HtmlElement]] = {}

    def hold(self, url: str, html: bytes, tree: HtmlElement) -> None:
        """Hold the tree of a page, and let go of the oldest one where there are too many."""
        if len(html) > LARGEST:
            return
        self._trees.pop(url, None)
        self._trees[url] = html, tree
        if len(self._trees) > MOST:
            del self._trees[next(iter(self._trees))]

    def take(self, url: str, html: bytes) -> HtmlElement | None:
        """Return the tree of a page and let go of it; None where it is not held, or of other bytes."""
        held = self._trees.pop(url, None)
        return None if held is None or held[0] != html else held[1]
