"""Labelled sets of kind `notes`: release notes of one project, of which each release is a page of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.labelled.framed import add_framed, trimmed, with_other_bullets
from benchmarks.labelled.packages import DEBIAN, NPM, PYPI, Package, read_texts
from benchmarks.labelled.readers import HTML, MARKDOWN, REST, plain_text
from benchmarks.labelled.sets import (
    OTHER,
    UNDECIDED,
    LabelledWriter,
    Source,
    hardest_pairs,
    has_fit_length,
    ratio,
)

NEWS = "news"
"""What the metadata of a package say of its releases, in many languages."""

_MOST_OF_A_KIND = 40
_MOST_RELEASES = 150
_LEAST_RESEMBLANCE_OF_OTHERS = 0.08
_MOST_RATIO_OF_OTHERS = 0.7
_LEAST_RATIO_OF_COPIES = 0.9
_FEWEST_WORDS = 40
_FEWEST_WORDS_OF_NEWS = 20

_REST_HEADING = r"(?=^[^\n]*\d+\.\d+[^\n]*\n[=\-~]{3,} *$)"
_MARKDOWN_HEADING = r"(?=^#{1,3} [^\n]*\d+\.\d+)"
_NEW_IN = r"(?:(?:Neuigkeiten|Neuerungen|New features)[^\n]* |^(?=[^\n]*新)[^\n]*)Edu (\d+)"


@dataclass(frozen=True)
class Notes(Source):
    """Where the release notes of a project are.

    Attributes:
        packages: releases of the package, the newest last: it has the last word on what was published.
        pattern: what the paths of the files with notes are like.
        markup: of the files.
        heading: a regular expression that finds where a release begins; "": each file is one.
    """

    packages: tuple[Package, ...]
    pattern: str
    markup: str
    heading: str

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add notes of releases that are alike, others in one frame, and copies."""
        releases = dict(list(_releases(self, cache).items())[:_MOST_RELEASES])
        titles = [text.partition("\n")[0][:80] for text in releases.values()]
        _add_others(writer, releases)
        edits = {
            "trimmed": trimmed,
            "bullets": with_other_bullets,
            "references": _without_references,
            "headline": _headline_of(self.language),
        }
        add_framed(writer, releases, titles, _MOST_OF_A_KIND, edits)


def _of(
    half: str, language: str, packages: Sequence[Package], pattern: str, markup: str = "", *, heading: str = ""
) -> Notes:
    return Notes(half, language, packages[0].name, tuple(packages), pattern, markup, heading)


def _rest(half: str, name: str, version: str, pattern: str, heading: str = _REST_HEADING) -> Notes:
    return _of(half, "en", [Package(PYPI, name, version)], pattern, REST, heading=heading)


def _markdown(half: str, language: str, name: str, version: str, pattern: str = r"CHANGELOG\.md") -> Notes:
    return _of(half, language, [Package(NPM, name, version)], pattern, MARKDOWN, heading=_MARKDOWN_HEADING)


def _news(half: str, language: str, packages: str) -> Notes:
    releases = [Package(NPM, *f"iobroker.{each}".split("@")) for each in packages.split()]
    return _of(half, language, releases, r"io-package\.json", NEWS)


def _manual(folder: str) -> Notes:
    package = Package(DEBIAN, f"debian-edu-doc-{folder}")
    return _of(
        "confirm", folder[:2], [package], r".*/debian-edu-(?:bookworm|bullseye)-manual\.html", HTML, heading=_NEW_IN
    )


_ADAPTERS_TO_LEARN = (
    "shelly@12.0.0 shelly@11.0.0 vis-2@2.15.5 zigbee@3.5.5 echarts@5.1.1 sonos@4.2.9 modbus@9.1.2 matter@1.3.1 "
    "energiefluss-erweitert@0.8.3 roborock@0.7.4 hue@3.17.4"
)
_ADAPTERS_TO_CONFIRM = (
    "javascript@10.3.0 javascript@9.1.1 telegram@6.0.2 admin@7.8.20 web@8.1.0 influxdb@5.0.3 sql@4.1.5 history@5.0.1 "
    "tr-064@4.2.18 alexa2@3.28.3"
)

NOTES = [
    _rest("learn", "django", "5.1.15", r"docs/releases/\d[\d.]+\.txt", ""),
    _rest("learn", "pytest", "8.1.2", r"doc/en/changelog\.rst"),
    _rest("learn", "celery", "5.3.6", r"Changelog\.rst"),
    _rest("confirm", "sqlalchemy", "2.0.40", r"doc/build/changelog/changelog_20\.rst", r"(?=^ *:version: )"),
    _rest("confirm", "aiohttp", "3.9.5", r"CHANGES\.rst"),
    _rest("confirm", "twisted", "23.10.0", r"NEWS\.rst"),
    _rest("confirm", "pillow", "10.4.0", r"docs/releasenotes/\d[\d.]+\.rst", ""),
    _of("learn", "en", [Package(DEBIAN, "git")], r"usr/share/doc/git/RelNotes/2\.[\d.]+\.txt(?:\.gz)?"),
    _markdown("learn", "zh", "antd", "3.26.20", r"CHANGELOG\.zh-CN\.md"),
    _markdown("learn", "zh", "tdesign-vue-next", "1.20.8"),
    _markdown("confirm", "zh", "element-ui", "2.15.14", r"CHANGELOG\.zh-CN\.md"),
    _markdown("confirm", "zh", "mand-mobile", "2.7.0"),
    _of("confirm", "zh", [Package(NPM, "uview-ui", "2.0.36")], r"changelog\.md", MARKDOWN, heading=r"(?=^## \d)"),
    _of("learn", "zh", [Package(PYPI, "rqalpha", "6.4.2")], r"CHANGELOG\.rst", REST, heading=_REST_HEADING),
    _markdown("confirm", "en", "element-ui", "2.15.14", r"CHANGELOG\.en-US\.md"),
    *(_news("learn", language, _ADAPTERS_TO_LEARN) for language in ("de", "zh")),
    *(_news("confirm", language, _ADAPTERS_TO_CONFIRM) for language in ("de", "zh")),
    _manual("de"),
    _manual("zh-cn"),
]
"""Which notes are read."""

_HEADLINES = {
    "en": "Out now: {title}\nPublished on {day} June 2021, read in {number} minutes",
    "de": "Neu erschienen: {title}\nVeröffentlicht am {day}. Juni 2021, Lesezeit {number} Minuten",
    "zh": "新版发布：{title}\n发布于 2021 年 6 月 {day} 日，阅读需 {number} 分钟",
}


def _releases(notes: Notes, cache: Path) -> dict[str, str]:
    """Return the notes of each release by its heading, those that are long enough."""
    releases: dict[str, str] = {}
    for package in notes.packages:
        for path, text in read_texts(package, cache, notes.pattern).items():
            releases |= _parts(notes, package, path, text)
    fewest = _FEWEST_WORDS_OF_NEWS if notes.markup == NEWS else _FEWEST_WORDS
    return {key: text for key, text in releases.items() if has_fit_length(text, fewest)}


def _parts(notes: Notes, package: Package, path: str, text: str) -> dict[str, str]:
    if notes.markup == NEWS:
        language = {"zh": "zh-cn"}.get(notes.language, notes.language)
        news = json.loads(text)["common"]["news"]
        name = package.name
        return {
            f"{name} {version}": f"{name} {version}\n{each[language]}"
            for version, each in news.items()
            if each.get(language)
        }
    if notes.markup == HTML:
        return _sections(text, notes.heading)
    if not notes.heading:
        return {Path(path).name: plain_text(text, notes.markup)}
    parts = [plain_text(part, notes.markup) for part in re.split(notes.heading, text, flags=re.MULTILINE)[1:]]
    return {part.partition("\n")[0].strip(): part for part in parts if part}


def _sections(text: str, heading: str) -> dict[str, str]:
    """Return the sections of a manual below headings that name a release, called by release and heading."""
    sections = {}
    release = ""
    for part in re.split(r"(?=<h[1-4]\b)", text)[1:]:
        section = plain_text(f"<div>{part}</div>", HTML)
        title = re.sub(r"^[\d.]+\s*", "", section.partition("\n")[0])
        found = re.search(heading, title)
        if found or part.startswith(("<h2", "<h3")):
            release = f"Debian Edu {found[1]}" if found else ""
        if release:
            sections[f"{release} {title}"] = f"{release}\n{section}"
    return sections


def _add_others(writer: LabelledWriter, releases: dict[str, str]) -> None:
    for a, b in hardest_pairs(list(releases.items()), _LEAST_RESEMBLANCE_OF_OTHERS, _MOST_OF_A_KIND):
        alike = ratio(releases[a], releases[b])
        if alike > _LEAST_RATIO_OF_COPIES:
            continue
        # The same fixes in two lines of releases: which of them a reader needs, nobody can say.
        label = (
            OTHER if alike <= _MOST_RATIO_OF_OTHERS or _have_fixes_of_their_own(releases[a], releases[b]) else UNDECIDED
        )
        writer.add_texts((a, releases[a], a), (b, releases[b], b), label, "release")


def _have_fixes_of_their_own(a: str, b: str) -> bool:
    """Say whether each of two texts has a number of an issue or of a security notice that the other has not."""
    first, second = (set(re.findall(r"\b(?!(?:19|20)\d\d\b)\d{4,}\b", text)) for text in (a, b))
    return bool(first - second and second - first)


def _without_references(text: str, random: Random) -> str:
    """Leave out numbers of issues and names of those who did it."""
    text = re.sub(r"\(?#\d+(?: by @[\w-]+)?\)?|@[\w-]+|\bissue \d+\b|\[#\d+\]", "", text)
    return re.sub(r"[（(]\s*[)）]| +(?=[.,;)\n])", "", text)


def _headline_of(language: str) -> Callable[[str, Random], str]:
    """Return an edit: another headline and a date of its own."""

    def put(text: str, random: Random) -> str:
        title, _, rest = text.partition("\n")
        headline = _HEADLINES[language].format(title=title, day=random.randint(1, 30), number=random.randint(1, 9))
        return f"{headline}\n{rest}"

    return put
