"""Pages of one family: manual pages and help pages, which say of many things much the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random

from benchmarks.labelled.packages import translations, unpacked_debian
from benchmarks.labelled.page_sets import Document, PageSet
from benchmarks.labelled.pages import Page, site_of
from benchmarks.labelled.readers import descriptions, docbook_pages, man_pages, office_functions, office_pages
from benchmarks.labelled.sets import LabelledWriter, Source, hardest_pairs, words_of
from dedup.rules.word_comparison import jaccard, shingles_of

_MOST_DOCUMENTS = 400
_FEWEST_WORDS = {"en": 40, "de": 40, "zh": 60}
_MOST_WORDS = 1_500
_MOST_WITH_COPIES = 30
_SAME = 0.985
_LEAST_CHINESE = 0.6

_ON_ONE_SUBJECT = {("shared-01-06010101", "shared-optionen-01010400")}

Reader = Callable[[Path], Iterator[tuple[str, Page]]]


@dataclass(frozen=True)
class Family(Source):
    """A family of pages.

    Attributes:
        reader: what reads them.
        folder: of the package, that the pages are in; "" for the descriptions of all packages.
        layout: of the site that they are on; "" for bare texts.
        package: of Debian, where the name is not its own.
    """

    reader: Reader
    folder: str = ""
    layout: str = ""
    package: str = ""

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add pages, copies of some, and others that are most alike."""
        seed = f"family {self.language} {self.name}"
        are_packages = not self.folder
        folder = (
            translations(cache) if are_packages else unpacked_debian(self.package or self.name, cache) / self.folder
        )
        found = _fit_pages(self.reader(folder), self.language)
        documents = [Document(key, page) for key, page in _that_have_siblings(found)]
        home = site_of(self.language, seed, self.layout) if self.layout else None
        pages = PageSet(writer, documents, home, seed)
        pages.add_originals()
        pages.add_copies(Random(seed).sample(documents, min(len(documents), _MOST_WITH_COPIES)))
        pages.add_others("sibling", _doubtful(documents, are_packages=are_packages))


_OFFICE = "usr/share/libreoffice/help"
_MAN = "usr/share/man"
_GIMP = "usr/share/gimp/2.0/help"

FAMILIES = [
    Family("learn", "en", "libssl-doc", man_pages, f"{_MAN}/man3"),
    Family("learn", "en", "libreoffice-help-en-us", office_pages, _OFFICE, "docs"),
    Family("learn", "en", "libreoffice-functions", office_functions, _OFFICE, "left", "libreoffice-help-en-us"),
    Family("learn", "de", "libreoffice-help-de", office_pages, _OFFICE),
    Family("learn", "de", "libreoffice-functions", office_functions, _OFFICE, "portal", "libreoffice-help-de"),
    Family("learn", "zh", "libreoffice-help-zh-cn", office_pages, _OFFICE, "section"),
    Family("learn", "zh", "libreoffice-functions", office_functions, _OFFICE, "", "libreoffice-help-zh-cn"),
    Family("confirm", "en", "manpages-dev", man_pages, _MAN, "divs"),
    Family("confirm", "en", "gimp-help-en", docbook_pages, _GIMP),
    Family("confirm", "de", "manpages-de-dev", man_pages, _MAN),
    Family("confirm", "de", "gimp-help-de", docbook_pages, _GIMP, "blog"),
    Family("confirm", "zh", "manpages-zh", man_pages, f"{_MAN}/zh_CN", "left"),
    Family("confirm", "en", "debian-descriptions", partial(descriptions, "en"), layout="docs"),
    Family("confirm", "de", "debian-descriptions", partial(descriptions, "de"), layout="article"),
    Family("confirm", "zh", "debian-descriptions", partial(descriptions, "zh")),
]
"""All families of pages."""


def _doubtful(documents: list[Document], *, are_packages: bool) -> set[tuple[str, str]]:
    """Return the pairs that may be about one subject: those of one title, and some that were read.

    Args:
        documents: all of a set.
        are_packages: whether keys are names of packages. Of two whose names differ by a number, or where one is a part
            of the other, some are two things, and some a release or a part that nobody looks for.
    """
    titles = {each.key: each.page.title.casefold() for each in documents}
    found = {(a, b) for a, b in combinations(titles, 2) if titles[a] == titles[b]}
    if are_packages:
        names = {key: re.sub(r"\d+(?:\.\d+)*", "", key) for key in titles}
        plain = {key: name.removesuffix("-dev") for key, name in names.items()}
        found |= {
            (a, b) for a, b in combinations(names, 2) if plain[a].startswith(plain[b]) or plain[b].startswith(plain[a])
        }
    return _ON_ONE_SUBJECT | found


def _fit_pages(pages: Iterator[tuple[str, Page]], language: str) -> list[tuple[str, Page]]:
    """Return pages of a fit length that are in the language, none of them twice."""
    fit: dict[str, tuple[str, Page]] = {}
    for key, page in pages:
        if _FEWEST_WORDS[language] <= len(words_of(page.text)) <= _MOST_WORDS and (
            language != "zh" or _is_chinese(page.text)
        ):
            fit.setdefault("\n".join(block.text for block in page.blocks), (key, page))
    return list(fit.values())


def _that_have_siblings(pages: list[tuple[str, Page]]) -> list[tuple[str, Page]]:
    """Return the pages that are most like another, but one only of those that are all but the same."""
    texts = [(key, page.text) for key, page in pages]
    words = {key: shingles_of(words_of(text)) for key, text in texts}
    chosen: set[str] = set()
    same: set[str] = set()
    for a, b in hardest_pairs(texts, 0.35, len(texts) ** 2):
        if len(chosen) >= _MOST_DOCUMENTS:
            break
        if jaccard(words[a], words[b]) >= _SAME:
            same.add(b)
        chosen |= {a, b}
    return [(key, page) for key, page in pages if key in chosen - same]


def _is_chinese(text: str) -> bool:
    han, letters = len(re.findall(r"[\u4e00-\u9fff]", text)), len(re.findall(r"[A-Za-z]+", text))
    return han >= _LEAST_CHINESE * (han + letters)
