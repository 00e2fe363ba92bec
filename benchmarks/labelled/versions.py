"""Labelled sets of kind `versions`: pages of documentation in two releases of a project, and sister pages of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rapidfuzz.distance import Indel

from benchmarks.labelled.framed import add_framed, trimmed
from benchmarks.labelled.packages import DEBIAN, NPM, PYPI, Package, read_texts
from benchmarks.labelled.readers import HTML, MARKDOWN, REST, plain_text
from benchmarks.labelled.sets import (
    COPY,
    OTHER,
    UNDECIDED,
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
_MOST_UNDECIDED = 20
_MOST_EQUAL, _MOST_HARDLY_EDITED = 3, 8
_LEAST_RESEMBLANCE_OF_HARDLY_EDITED = 0.93
_MOST_PAGES = 220
_LEAST_RATIO_OF_COPIES, _LEAST_RATIO_OF_UNDECIDED = 0.9, 0.7
_MOST_RATIO_OF_SISTERS = 0.8
_LEAST_RESEMBLANCE_OF_SISTERS = 0.15


_MACHINES = r"amd64|i386|arm64|armhf|AMD64|32|64|\d{1,2}"


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
        new: another, or the same book for another kind of machine.
        markup: of the pages.
        heading: the level of the headings in HTML that a page is cut at; 0: pages stay whole.
        machines: names of the two kinds of machines that a book is written for; "": it is one release after the other.
    """

    old: Release
    new: Release
    markup: str = REST
    heading: int = 0
    machines: str = ""

    @property
    def origin(self) -> str:
        """The package of the old release."""
        return self.old.package.name

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add pages in two releases, sister pages of one, others in one frame, and copies."""
        old, new = (_pages(release, self, cache) for release in (self.old, self.new))
        titles = [text.partition("\n")[0] for text in new.values()]
        _add_versions(writer, old, new, self.machines)
        _add_sisters(writer, old, new)
        copied = [(a, old[a], new[a]) for a in spread(_copies(writer), _MOST_OF_A_KIND)]
        edits = {"trimmed": trimmed, "release": _as_it_is}
        add_framed(writer, new, titles, _MOST_OF_A_KIND, edits, copied=copied)


def _source(half: str, name: str, old: str, new: str, pattern: str = r"docs?/(.+)\.(?:rst|txt)") -> Project:
    first, second = (Release(Package(PYPI, name, version), pattern) for version in (old, new))
    return Project(half, "en", name, first, second)


def _npm(half: str, name: str, old: str, new: str, pattern: str) -> Project:
    first, second = (Release(Package(NPM, name, version), pattern) for version in (old, new))
    return Project(half, "zh", name, first, second, markup=MARKDOWN)


def _guide(folder: str, machine: str, other: str) -> Project:
    pattern = rf"usr/share/doc/[^/]+/{folder}/(.+)\.html"
    first, second = (Release(Package(DEBIAN, f"installation-guide-{each}"), pattern) for each in (machine, other))
    name = f"installation-guide-{machine}-{other}"
    return Project("learn", folder[:2], name, first, second, markup=HTML, machines=_MACHINES)


def _manual(folder: str) -> Project:
    package = Package(DEBIAN, f"debian-edu-doc-{folder}")
    pattern = "usr/share/doc/[^/]+/debian-edu-{}-(manual)\\.html"
    first, second = (Release(package, pattern.format(name)) for name in ("bullseye", "bookworm"))
    return Project("confirm", folder[:2], "debian-edu-doc", first, second, markup=HTML, heading=3)


PROJECTS = [
    _source("learn", "django", "4.0.10", "5.1.15", r"docs/((?:ref|topics|howto|faq|intro)/.+)\.txt"),
    _source("learn", "flask", "2.0.3", "3.0.3"),
    _source(
        "learn", "celery", "5.0.5", "5.3.6", r"docs/((?:userguide|getting-started|django|tutorials|internals)/.+)\.rst"
    ),
    _source("learn", "pytest", "6.2.5", "8.1.2", r"doc/en/((?!announce|changelog).+)\.rst"),
    _source("learn", "beets", "1.4.9", "2.0.0", r"docs/((?!changelog).+)\.rst"),
    _source("learn", "cryptography", "38.0.4", "42.0.8"),
    _source("confirm", "sqlalchemy", "2.0.4", "2.0.40", r"doc/build/((?!changelog).+)\.rst"),
    _source("confirm", "sphinx", "5.0.2", "7.4.7", r"doc/((?!changes|internals/rel).+)\.rst"),
    _source("confirm", "scrapy", "2.5.1", "2.11.2", r"docs/((?!news).+)\.rst"),
    _source("confirm", "pillow", "8.4.0", "10.4.0", r"docs/((?!releasenotes).+)\.rst"),
    _source("confirm", "tornado", "5.1.1", "6.4.2", r"docs/((?!releases).+)\.rst"),
    _source("confirm", "twisted", "21.2.0", "23.10.0", r"docs/(.+)\.rst"),
    _npm("learn", "vant", "1.4.8", "1.6.28", r"packages/(.+)/zh-CN\.md"),
    _npm("learn", "javascripting", "2.6.1", "2.7.4", r"problems/(.+_zh-cn)\.md"),
    _npm("confirm", "mand-mobile", "2.5.20", "2.7.0", r"components/(.+)/README\.md"),
    _npm("confirm", "learnyounode", "3.5.10", "4.2.2", r"exercises/(.+\.zh-cn)\.md"),
    _guide("de", "amd64", "i386"),
    _guide("de", "arm64", "armhf"),
    _guide("zh_CN", "amd64", "i386"),
    _guide("zh_CN", "arm64", "armhf"),
    _guide("en", "amd64", "i386"),
    _manual("de"),
    _manual("zh-cn"),
]
"""Which releases are compared."""


def _pages(release: Release, project: Project, cache: Path) -> dict[str, str]:
    pages: dict[str, str] = {}
    for path, text in read_texts(release.package, cache, release.pattern).items():
        found = re.fullmatch(release.pattern, path)
        name = found[1] if found else path
        if project.heading:
            pages |= _sections(text, project.heading)
        else:
            pages[name] = plain_text(text, project.markup)
    return {name: text for name, text in pages.items() if has_fit_length(text)}


def _sections(text: str, level: int) -> dict[str, str]:
    """Cut a page at its headings of a level; sections are called by their headings, without numbers and releases."""
    sections = {}
    for part in re.split(rf"(?=<h[1-{level}]\b)", text)[1:]:
        section = plain_text(f"<div>{part}</div>", HTML)
        heading = section.partition("\n")[0]
        sections[re.sub(r"[\d.]+|bookworm|bullseye", "", heading, flags=re.IGNORECASE).strip()] = section
    return sections


def _as_it_is(text: str, random: Random) -> str:
    """Edit nothing: the other release has edits enough."""
    return text


def _copies(writer: LabelledWriter) -> list[str]:
    return sorted(
        {str(writer.documents[a]["cluster"]) for (a, _), pair in writer.pairs.items() if pair["label"] == COPY}
    )


def _add_versions(writer: LabelledWriter, old: dict[str, str], new: dict[str, str], machines: str) -> None:
    """Add the pages that both releases have, the more changed ones first."""
    kept: dict[int | None, list[tuple[float, str]]] = {COPY: [], UNDECIDED: []}
    equal = []
    for name in sorted(old.keys() & new.keys()):
        alike = ratio(old[name], new[name])
        if words_of(old[name]) == words_of(new[name]):
            equal.append(name)
        elif alike >= _LEAST_RATIO_OF_UNDECIDED:
            is_copy = alike >= _LEAST_RATIO_OF_COPIES and not (
                _has_other_facts(old[name], new[name], machines)
                if machines
                else _is_other_subject(old[name], new[name])
            )
            label = COPY if is_copy else UNDECIDED
            kept[label].append((resemblance(old[name], new[name]), name))
    edited = [name for alike, name in sorted(kept[COPY]) if alike < _LEAST_RESEMBLANCE_OF_HARDLY_EDITED]
    hardly = [name for alike, name in sorted(kept[COPY]) if alike >= _LEAST_RESEMBLANCE_OF_HARDLY_EDITED]
    copies = [*spread(edited, _MOST_OF_A_KIND), *spread(hardly, _MOST_HARDLY_EDITED), *spread(equal, _MOST_EQUAL)]
    chosen: list[tuple[str, int | None]] = [(name, COPY) for name in copies]
    chosen += [(name, UNDECIDED) for _, name in spread(sorted(kept[UNDECIDED]), _MOST_UNDECIDED)]
    for name, label in chosen:
        writer.add_texts((f"old/{name}", old[name], name), (f"new/{name}", new[name], name), label, "version")


def _is_other_subject(old: str, new: str) -> bool:
    """Say whether the first line has become another, or what was in English before has been translated."""
    titles = [words_of(text.partition("\n")[0]) for text in (old, new)]
    english = [words_of(text).count(b"the") for text in (old, new)]
    return titles[0] != titles[1] or (min(english) < max(english) / 2 and max(english) - min(english) >= 2)


def _has_other_facts(old: str, new: str, machines: str) -> bool:
    """Say whether two texts differ in more than the name of the kind of machine and the numbers of sections."""
    first, second = words_of(old), words_of(new)
    changed = [
        word
        for each in Indel.opcodes(first, second)
        if each.tag != "equal"
        for word in [*first[each.src_start : each.src_end], *second[each.dest_start : each.dest_end]]
    ]
    return not all(re.fullmatch(machines, word.decode()) for word in changed)


def _add_sisters(writer: LabelledWriter, old: dict[str, str], new: dict[str, str]) -> None:
    """Add pages of one release that are most alike, every second pair with the one of them as it was before."""
    texts = spread(sorted(new.items()), _MOST_PAGES)
    pairs = hardest_pairs(texts, _LEAST_RESEMBLANCE_OF_SISTERS, _MOST_OF_A_KIND)
    for number, (a, b) in enumerate(pairs):
        side = ("old", old[b]) if number % 2 and b in old else ("new", new[b])
        label = UNDECIDED if max(ratio(new[a], new[b]), ratio(new[a], side[1])) > _MOST_RATIO_OF_SISTERS else OTHER
        writer.add_texts((f"new/{a}", new[a], a), (f"{side[0]}/{b}", side[1], b), label, "sister")
