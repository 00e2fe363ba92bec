"""Sets of pages: originals on one site, their copies there and on others, and the pairs of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.labelled.blocks import Page
from benchmarks.labelled.edits import COPIES, reworked
from benchmarks.labelled.frames import Site, page_html, site_of
from benchmarks.labelled.sets import COPY, OTHER, UNDECIDED, LabelledWriter, hardest_pairs

_MOST_OF_A_LABEL = 60
_MOST_OF_SERIES = 20
_LEAST_ALIKE = 0.35
_ON_THE_SAME_SITE = 0.5


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a set: its key, its page, and what series it is of, "" if of none."""

    key: str
    page: Page
    series: str = ""


@dataclass
class PageSet:
    """Fills a set with pages.

    Attributes:
        writer: the set.
        documents: all documents that are no copies.
        home: the site that they are on; None where they are bare texts.
        name: what is random in it is the same for the same name.
    """

    writer: LabelledWriter
    documents: Sequence[Document]
    home: Site | None
    name: str

    def __post_init__(self) -> None:
        self._copies: dict[str, str] = {}

    def add_originals(self) -> None:
        """Add all documents."""
        for each in self.documents:
            self._add(each.key, each.key, each.page, self.home)

    def add_copies(self, documents: Sequence[Document]) -> None:
        """Add two copies of each of some documents, and reworked ones of every fifth."""
        kinds = list(COPIES)
        count = 0
        for at, each in enumerate(documents):
            random = Random(f"copies {self.name} {each.key}")
            for of in range(2):
                if count < _MOST_OF_A_LABEL:
                    self._add_copy(each, kinds[(2 * at + of + at // 5) % len(kinds)], random, of)
                    count += 1
            if at % 5 == 0:
                self.add_undecided(each, reworked(each.page, random, self.writer.language), "reworked")

    def add_undecided(self, document: Document, changed: Page, kind: str) -> None:
        """Add a changed document of which nobody can say whether it is a copy."""
        key = f"{document.key}-{kind.replace(' ', '-')}"
        self._add(key, document.key, changed, self.home)
        self.writer.add_pair(document.key, key, UNDECIDED, kind)

    def add_others(self, kind: str, doubtful: Collection[tuple[str, str]] = ()) -> None:
        """Pair different documents that are most alike, most of them as they are, a fifth with a copy of the other.

        Args:
            kind: of the pairs.
            doubtful: pairs of keys that may say the same: they are undecided.
        """
        series = {each.key: each.series for each in self.documents}
        hard = hardest_pairs(
            [(each.key, each.page.text) for each in self.documents], _LEAST_ALIKE, len(self.documents) ** 2
        )
        in_series = [pair for pair in hard if series[pair[0]] and series[pair[0]] == series[pair[1]]][:_MOST_OF_SERIES]
        rest = [pair for pair in hard if pair not in in_series]
        most = _MOST_OF_A_LABEL - len(in_series)
        # Most of them from the most alike, where labels are hardest to tell.
        chosen = rest if len(rest) <= most else [rest[at * at * len(rest) // most**2] for at in range(1, most)]
        for a, b in in_series:
            self.writer.add_pair(a, b, OTHER, "next of a series")
        for at, (a, b) in enumerate(chosen):
            if (a, b) in doubtful:
                self.writer.add_pair(a, b, UNDECIDED, f"{kind}, doubtful")
            elif at % 5 == 4 and b in self._copies:
                self.writer.add_pair(a, self._copies[b], OTHER, f"{kind}, changed")
            else:
                self.writer.add_pair(a, b, OTHER, kind)

    def _add_copy(self, document: Document, kind: str, random: Random, of: int) -> None:
        copy = COPIES[kind](document.page, random, self.writer.language)
        # An edit may be on the same site, where the frame stays but for what it names of others.
        has_moved = kind in ("frame", "print", "mirror") or random.random() >= _ON_THE_SAME_SITE
        layout = "print" if kind == "print" else None
        site = site_of(self.writer.language, f"{self.name} {document.key} {of}", layout) if has_moved else self.home
        key = f"{document.key}-{kind}{of}"
        self._add(key, document.key, copy, site)
        self.writer.add_pair(document.key, key, COPY, f"{kind}, other site" if has_moved else kind)
        self._copies[document.key] = key

    def _add(self, key: str, cluster: str, page: Page, site: Site | None) -> None:
        if site is None:
            self.writer.add_text(key, page.text, cluster)
        else:
            others = [each.page for each in self.documents if each.key != cluster]
            self.writer.add_page(key, page_html(page, site, others, f"{self.name} {key}"), page.text, cluster)
