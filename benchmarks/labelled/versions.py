"""Labelled sets of kind `versions`: pages of documentation in two releases of a project, and sister pages of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.labelled.packages import DEBIAN, NPM, PYPI, Package, read_texts
from benchmarks.labelled.readers import HTML, MARKDOWN, REST, plain_text
from benchmarks.labelled.sets import (
    COPY,
    OTHER,
    LabelledWriter,
    Source,
    hardest_pairs,
    has_fit_length,
    ratio,
    resemblance,
    spread,
    words_of,
)

_MOST_OF_A_KIND = 30
_MOST_EQUAL, _MOST_HARDLY_EDITED = 3, 8
_LEAST_RESEMBLANCE_OF_HARDLY_EDITED = 0.93
_MOST_PAGES = 220
_LEAST_RATIO_OF_COPIES = 0.9
_MOST_RATIO_OF_SISTERS = 0.8
_LEAST_RESEMBLANCE_OF_SISTERS = 0.15
_HEADING = re.compile(r"(?=<h[1-3]\b)")


@dataclass(frozen=True, slots=True)
class Release:
    """Where the pages of one release are.

    Attributes:
        package: the package that has them.
        pattern: what their paths are like; its first group is what a page is called in every release.
    """

    package: Package
    pattern: str


@dataclass(frozen=True)
class Project(Source):
    """A project whose documentation is compared.

    Attributes:
        old: one release.
        new: another.
        markup: of the pages; those in HTML are books, of which each section is a page.
    """

    old: Release
    new: Release
    markup: str

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add pages in two releases, and sister pages of one."""
        old, new = (_pages(release, self.markup, cache) for release in (self.old, self.new))
        _add_versions(writer, old, new)
        _add_sisters(writer, old, new)


def _source(half: str, name: str, old: str, new: str, pattern: str = r"docs?/(.+)\.(?:rst|txt)") -> Project:
    first, second = (Release(Package(PYPI, name, version), pattern) for version in (old, new))
    return Project(half, "en", name, first, second, REST)


def _npm(half: str, name: str, old: str, new: str, pattern: str) -> Project:
    first, second = (Release(Package(NPM, name, version), pattern) for version in (old, new))
    return Project(half, "zh", name, first, second, MARKDOWN)


def _manual(folder: str) -> Project:
    package = Package(DEBIAN, f"debian-edu-doc-{folder}")
    pattern = "usr/share/doc/[^/]+/debian-edu-{}-(manual)\\.html"
    first, second = (Release(package, pattern.format(name)) for name in ("bullseye", "bookworm"))
    return Project("confirm", folder[:2], "debian-edu-doc", first, second, HTML)


PROJECTS = [
    _source("learn", "django", "4.0.10", "5.1.15", r"docs/((?:ref|topics|howto|faq|intro)/.+)\.txt"),
    _source("learn", "flask", "2.0.3", "3.0.3"),
    _source("learn", "pytest", "6.2.5", "8.1.2", r"doc/en/((?!announce|changelog).+)\.rst"),
    _source("confirm", "sqlalchemy", "2.0.4", "2.0.40", r"doc/build/((?!changelog).+)\.rst"),
    _source("confirm", "sphinx", "5.0.2", "7.4.7", r"doc/((?!changes|internals/rel).+)\.rst"),
    _source("confirm", "scrapy", "2.5.1", "2.11.2", r"docs/((?!news).+)\.rst"),
    _source("confirm", "twisted", "21.2.0", "23.10.0", r"docs/(.+)\.rst"),
    _npm("learn", "vant", "1.4.8", "1.6.28", r"packages/(.+)/zh-CN\.md"),
    _npm("confirm", "mand-mobile", "2.5.20", "2.7.0", r"components/(.+)/README\.md"),
    _npm("confirm", "learnyounode", "3.5.10", "4.2.2", r"exercises/(.+\.zh-cn)\.md"),
    _manual("de"),
    _manual("zh-cn"),
]
"""Which releases are compared."""


def _pages(release: Release, markup: str, cache: Path) -> dict[str, str]:
    pages: dict[str, str] = {}
    for path, text in read_texts(release.package, cache, release.pattern).items():
        found = re.fullmatch(release.pattern, path)
        if markup == HTML:
            pages |= _sections(text)
        else:
            pages[found[1] if found else path] = plain_text(text, markup)
    return {name: text for name, text in pages.items() if has_fit_length(text)}


def _sections(text: str) -> dict[str, str]:
    """Cut a book at its headings; sections are called by them, without numbers and releases."""
    sections = {}
    for part in _HEADING.split(text)[1:]:
        section = plain_text(f"<div>{part}</div>", HTML)
        heading = section.partition("\n")[0]
        sections[re.sub(r"[\d.]+|bookworm|bullseye", "", heading, flags=re.IGNORECASE).strip()] = section
    return sections


def _add_versions(writer: LabelledWriter, old: dict[str, str], new: dict[str, str]) -> None:
    """Add the pages that both releases have, the more changed ones first; none that may be about something else."""
    edited: list[tuple[float, str]] = []
    hardly: list[tuple[float, str]] = []
    equal: list[str] = []
    for name in sorted(old.keys() & new.keys()):
        if words_of(old[name]) == words_of(new[name]):
            equal.append(name)
        elif ratio(old[name], new[name]) >= _LEAST_RATIO_OF_COPIES and not _is_other_subject(old[name], new[name]):
            alike = resemblance(old[name], new[name])
            (hardly if alike >= _LEAST_RESEMBLANCE_OF_HARDLY_EDITED else edited).append((alike, name))
    chosen = [name for _, name in spread(sorted(edited), _MOST_OF_A_KIND)]
    chosen += [name for _, name in spread(sorted(hardly), _MOST_HARDLY_EDITED)]
    for name in [*chosen, *spread(equal, _MOST_EQUAL)]:
        writer.add_text(f"old/{name}", old[name], name)
        writer.add_text(f"new/{name}", new[name], name)
        writer.add_pair(f"old/{name}", f"new/{name}", COPY, "version")


def _is_other_subject(old: str, new: str) -> bool:
    """Say whether the first line has become another, or what was in English before has been translated."""
    titles = [words_of(text.partition("\n")[0]) for text in (old, new)]
    english = [words_of(text).count(b"the") for text in (old, new)]
    return titles[0] != titles[1] or (min(english) < max(english) / 2 and max(english) - min(english) >= 2)


def _add_sisters(writer: LabelledWriter, old: dict[str, str], new: dict[str, str]) -> None:
    """Add pages of one release that are most alike, every second pair with the one of them as it was before."""
    texts = spread(sorted(new.items()), _MOST_PAGES)
    pairs = spread(hardest_pairs(texts, _LEAST_RESEMBLANCE_OF_SISTERS), _MOST_OF_A_KIND)
    for number, (a, b) in enumerate(pairs):
        side, other = ("old", old[b]) if number % 2 and b in old else ("new", new[b])
        # Of two that say nearly the same nobody can tell whether a reader would miss one.
        if max(ratio(new[a], new[b]), ratio(new[a], other)) <= _MOST_RATIO_OF_SISTERS:
            writer.add_text(f"new/{a}", new[a], a)
            writer.add_text(f"{side}/{b}", other, b)
            writer.add_pair(f"new/{a}", f"{side}/{b}", OTHER, "sister")
