"""Labelled sets of kind `licences`: texts of licences, of which each sets conditions of its own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random

from rapidfuzz.distance import Indel

from benchmarks.labelled.framed import add_framed, as_comment, rewrapped
from benchmarks.labelled.packages import PYPI, Package, read_texts
from benchmarks.labelled.sets import OTHER, UNDECIDED, LabelledWriter, Source, has_fit_length, ratio, spread, words_of
from dedup.rules.word_comparison import jaccard, shingles_of

_PACKAGE = Package(PYPI, "licensedcode-data", "33.0.0rc1")
_PATTERN = r"src/licensedcode/data/licenses/(.+)\.LICENSE"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_CLAUSES = re.compile(r"\n(?=\d{1,2}(?:\.\d+)?[.、]? )")
_HAN = re.compile(r"[\u4e00-\u9fff]")

_MOST_OF_A_KIND = 50
_MOST_UNDECIDED = 15
_LEAST_RESEMBLANCE_OF_OTHERS = 0.35
_MOST_RATIO = 0.985
_FEWEST_WORDS_OF_A_CLAUSE = 6
_MOST_COMMON = 30
_MOST_LOOKED_AT = 250
_CONDITION = frozenset(
    b"must may shall not no only without provided prohibited permission require requires required permitted condition "
    b"d\xc3\xbcrfen m\xc3\xbcssen nicht nur ohne sofern gestattet".split()
)


@dataclass(frozen=True)
class Shelf(Source):
    """Licences that are one set.

    Attributes:
        fields: what the metadata of a licence have to match, by regular expressions.
        in_clauses: each clause is a document: there are too few licences in that language.
    """

    fields: tuple[tuple[str, str], ...]
    in_clauses: bool = False

    @property
    def origin(self) -> str:
        """The package of all licences."""
        return _PACKAGE.name

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add licences that are alike, others in one frame, and copies."""
        chosen = {fields["name"]: text for fields, text in _licences(cache) if _matches(fields, self)}
        texts = _clauses(chosen, self.language) if self.in_clauses else chosen
        texts = {name: text for name, text in sorted(texts.items()) if has_fit_length(text)}
        if not self.in_clauses:
            _add_others(writer, texts)
        edits = {
            "comment": as_comment,
            "wrapped": rewrapped,
            "holder": _other_holder,
            "preface": _preface_of(self.language),
        }
        add_framed(writer, texts, list(chosen), _MOST_OF_A_KIND, edits)


def _shelf(half: str, name: str, category: str) -> Shelf:
    return Shelf(half, "en", name, (("category", category), ("language", "en")))


SHELVES = [
    _shelf("learn", "permissive", "Permissive|Public Domain|CLA"),
    _shelf("learn", "restricted", "Free Restricted|Commercial|Patent License"),
    _shelf("confirm", "copyleft", "Copyleft|Copyleft Limited"),
    _shelf("confirm", "non-free", "Proprietary Free|Non-Commercial|Source-available"),
    Shelf("learn", "de", "german", (("key", r"(?!cc-).*"), ("language", "de"))),
    Shelf("confirm", "de", "creative-commons", (("key", "cc-.*"), ("language", "de"))),
    Shelf("learn", "de", "german-clauses", (("key", r"(?!cc-).*"), ("language", "de")), in_clauses=True),
    Shelf("learn", "zh", "mulan", (("key", "mulan.*"), ("language", "zh.*")), in_clauses=True),
    Shelf("confirm", "zh", "openatom", (("key", "openatom.*"), ("language", "zh.*")), in_clauses=True),
]
"""The sets: all licences of one category are in one half."""

_HOLDERS = [
    "Maria Lindqvist",
    "Brightwater Labs Ltd.",
    "The Tessellate Authors",
    "Jonas Weber",
    "北辰科技有限公司",
    "Kite & Sons",
]
_PREFACES = {
    "en": "This software is distributed under the licence below. Keep this file with every copy you pass on.\n|"
    "The following terms apply to all files of this directory unless stated otherwise.\n|LICENSE\n\n",
    "de": "Für diese Software gilt die nachstehende Lizenz. Bitte geben Sie diese Datei mit jeder Kopie "
    "weiter.\n|Die folgenden Bedingungen gelten für alle Dateien dieses Verzeichnisses.\n|LIZENZ\n\n",
    "zh": "本软件依照以下许可证发布，再分发时请保留本文件。\n|"
    "除另有说明外，以下条款适用于本目录下的全部文件。\n|许可证\n\n",
}


@cache
def _licences(folder: Path) -> list[tuple[dict[str, str], str]]:
    """Return the metadata and the text of each licence."""
    licences = []
    for content in read_texts(_PACKAGE, folder, _PATTERN).values():
        found = _FRONT_MATTER.match(content)
        if not found:
            continue
        fields = dict(re.findall(r"^(\w+): *(.+)$", found[1], re.MULTILINE))
        if not re.search(r"^is_(?:deprecated|generic|unknown): yes|^key: .*-plus", found[1], re.MULTILINE):
            licences.append(({"language": "en", "name": fields["key"]} | fields, found[2].strip()))
    return licences


def _matches(fields: dict[str, str], shelf: Shelf) -> bool:
    return all(re.fullmatch(pattern, fields.get(field, "")) for field, pattern in shelf.fields)


def _clauses(licences: dict[str, str], language: str) -> dict[str, str]:
    return {
        f"{name} {number}": clause.strip()
        for name, text in licences.items()
        for number, clause in enumerate(_CLAUSES.split(text))
        if language != "zh" or len(_HAN.findall(clause)) > len(clause) / 3
    }


def _add_others(writer: LabelledWriter, texts: dict[str, str]) -> None:
    kept: dict[int | None, list[tuple[str, str]]] = {OTHER: [], UNDECIDED: []}
    for a, b in spread(_alike(texts), _MOST_LOOKED_AT):
        if ratio(texts[a], texts[b]) <= _MOST_RATIO:
            kept[OTHER if _has_another_clause(texts[a], texts[b]) else UNDECIDED].append((a, b))
    for label, most in ((OTHER, _MOST_OF_A_KIND), (UNDECIDED, _MOST_UNDECIDED)):
        for a, b in spread(kept[label], most):
            writer.add_texts((a, texts[a], a), (b, texts[b], b), label, "licence")


def _alike(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return pairs of texts that are alike enough, the most alike first; found by the shingles that few texts have."""
    shingles = {name: shingles_of(words_of(text)) for name, text in texts.items()}
    having: dict[tuple[bytes, ...], list[str]] = defaultdict(list)
    for name, each in shingles.items():
        for shingle in each:
            having[shingle].append(name)
    shared: Counter[tuple[str, str]] = Counter()
    for names in having.values():
        if len(names) <= _MOST_COMMON:
            shared.update(combinations(names, 2))
    likely = [pair for pair, count in shared.items() if count >= 5]
    alike = {(a, b): jaccard(shingles[a], shingles[b]) for a, b in likely}
    return sorted(
        (pair for pair, each in alike.items() if each >= _LEAST_RESEMBLANCE_OF_OTHERS),
        key=lambda pair: (-alike[pair], pair),
    )


def _has_another_clause(a: str, b: str) -> bool:
    """Say whether one of two texts has a clause that the other has not: words in a row that allow or ask."""
    first, second = words_of(a), words_of(b)
    names = {
        word.lower().encode()
        for word in re.findall(r"(?<=[a-z,] )[A-Z]\w+|[A-Z]{2,}", f"{a} {b}")
        if not word.isupper()
    }
    for each in Indel.opcodes(first, second):
        for words in (first[each.src_start : each.src_end], second[each.dest_start : each.dest_end]):
            own = [word for word in words if word not in names and not word.isdigit()]
            if each.tag != "equal" and len(own) >= _FEWEST_WORDS_OF_A_CLAUSE and _CONDITION & set(own):
                return True
    return False


def _other_holder(text: str, random: Random) -> str:
    """Put another holder and year into the line of the copyright, or add one."""
    line = f"Copyright (c) {random.randint(1995, 2024)} {random.choice(_HOLDERS)}"
    changed, count = re.subn(
        r"^ *(?:Copyright|\(c\)|©)[^\n]*\d{4}[^\n]*$", line, text, count=1, flags=re.MULTILINE | re.IGNORECASE
    )
    return changed if count else f"{line}\n\n{text}"


def _preface_of(language: str) -> Callable[[str, Random], str]:
    """Return an edit: a sentence of preface."""
    return lambda text, random: random.choice(_PREFACES[language].split("|")) + text
