"""Pages of one family: manual pages and help pages, which say of many things much the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random

from benchmarks.labelled.blocks import Page
from benchmarks.labelled.debian import unpacked
from benchmarks.labelled.descriptions import DESCRIPTIONS, translations
from benchmarks.labelled.frames import site_of
from benchmarks.labelled.help_pages import docbook_pages, office_functions, office_pages
from benchmarks.labelled.man_pages import man_pages
from benchmarks.labelled.page_sets import Document, PageSet
from benchmarks.labelled.sets import LabelledWriter, hardest_pairs, make_each
from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature

_MOST_DOCUMENTS = 400
_FEWEST_WORDS = {"en": 40, "de": 40, "zh": 60}
_MOST_WORDS = 1_500
_MOST_WITH_COPIES = 30
_SAME = 0.985
_LEAST_CHINESE = 0.6

_ON_ONE_SUBJECT = {("shared-01-06010101", "shared-optionen-01010400")}

Reader = Callable[[Path], Iterator[tuple[str, Page]]]


@dataclass(frozen=True, slots=True)
class Source:
    """A family of pages.

    Attributes:
        half: learn or confirm.
        language: two letters.
        package: of Debian, "" for the descriptions of all packages.
        folder: of the package, that the pages are in.
        reader: what reads them.
        name: of the set, where it is not that of the package.
        layout: of the site that they are on; "" for bare texts.
    """

    half: str
    language: str
    package: str
    folder: str
    reader: Reader
    name: str = ""
    layout: str = ""


_OFFICE = "usr/share/libreoffice/help"
_MAN = "usr/share/man"
_GIMP = "usr/share/gimp/2.0/help"

SOURCES = [
    Source("learn", "en", "libssl-doc", f"{_MAN}/man3", man_pages),
    Source("learn", "en", "libreoffice-help-en-us", _OFFICE, office_pages, layout="docs"),
    Source("learn", "en", "libreoffice-help-en-us", _OFFICE, office_functions, "libreoffice-functions", layout="left"),
    Source("learn", "de", "libreoffice-help-de", _OFFICE, office_pages),
    Source("learn", "de", "libreoffice-help-de", _OFFICE, office_functions, "libreoffice-functions", layout="portal"),
    Source("learn", "zh", "libreoffice-help-zh-cn", _OFFICE, office_pages, layout="section"),
    Source("learn", "zh", "libreoffice-help-zh-cn", _OFFICE, office_functions, "libreoffice-functions"),
    Source("confirm", "en", "manpages-dev", _MAN, man_pages, layout="divs"),
    Source("confirm", "en", "gimp-help-en", _GIMP, docbook_pages),
    Source("confirm", "de", "manpages-de-dev", _MAN, man_pages),
    Source("confirm", "de", "gimp-help-de", _GIMP, docbook_pages, layout="blog"),
    Source("confirm", "zh", "manpages-zh", f"{_MAN}/zh_CN", man_pages, layout="left"),
    Source("confirm", "en", "", "", DESCRIPTIONS["en"], "debian-descriptions", layout="docs"),
    Source("confirm", "de", "", "", DESCRIPTIONS["de"], "debian-descriptions", layout="article"),
    Source("confirm", "zh", "", "", DESCRIPTIONS["zh"], "debian-descriptions"),
]
"""All families; a project lies wholly in one half."""


def build(out: Path, cache: Path) -> Iterator[LabelledWriter]:
    """Make a set of each family."""
    return make_each(
        "family",
        (
            (f"{source.language} {source.name or source.package}", partial(_make_set, source, out, cache))
            for source in SOURCES
        ),
    )


def _make_set(source: Source, out: Path, cache: Path) -> LabelledWriter:
    name = source.name or source.package
    writer = LabelledWriter(out / source.half / f"family-{source.language}-{name}", name, source.language)
    seed = f"family {source.language} {name}"
    folder = unpacked(source.package, cache) / source.folder if source.package else translations(cache)
    found = _fit_pages(source.reader(folder), source.language)
    documents = [Document(key, page) for key, page in _that_have_siblings(found)]
    home = site_of(source.language, seed, source.layout) if source.layout else None
    pages = PageSet(writer, documents, home, seed)
    pages.add_originals()
    pages.add_copies(Random(seed).sample(documents, min(len(documents), _MOST_WITH_COPIES)))
    pages.add_others("sibling", _doubtful(documents, are_packages=not source.package))
    return writer


def _doubtful(documents: list[Document], are_packages: bool) -> set[tuple[str, str]]:
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
        words = make_signature(page.text, find_scheme("words")).words.count(b"\n") + 1
        if _FEWEST_WORDS[language] <= words <= _MOST_WORDS and (language != "zh" or _is_chinese(page.text)):
            fit.setdefault("\n".join(block.text for block in page.blocks), (key, page))
    return list(fit.values())


def _that_have_siblings(pages: list[tuple[str, Page]]) -> list[tuple[str, Page]]:
    """Return the pages that are most like another, but one only of those that are all but the same."""
    texts = [(key, page.text) for key, page in pages]
    words = {key: shingles_of(make_signature(text, find_scheme("words")).words.split(b"\n")) for key, text in texts}
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
