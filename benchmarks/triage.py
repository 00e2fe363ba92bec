"""Which pairs a report flags for review: those that say another thing, and copies, of labelled sets and of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality import sets_in
from dedup.evaluation import LabelledDocument, LabelledPair, LabelledSet, analyse_documents, half_of, read_set
from dedup.report.contents import Report, Row
from dedup.report.examining import examined
from dedup.report.rejoining import rejoin
from dedup.report.triage import names_in
from dedup.report.words import WordDiff, diff_words, tokens_of
from dedup.rules.documents import Verdict
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider
from dedup.signature.schemes import find_scheme

_OWN = Path(__file__).with_name("triage_pairs.txt")
_BODIES = Path(__file__).with_name("triage_texts")
_PAIR = re.compile(r"([01]) (\w\w) ([$^]?)(.*)")
_CHOICE = re.compile(r"\{(.*?)\|(.*?)\}")


@dataclass(frozen=True)
class Reviewed:
    """A pair that a report would hold: its label, its half, whether it was flagged, and its place in the order."""

    name: str
    is_copy: bool
    half: int
    is_flagged: bool
    place: int


def run(*, data: list[Path]) -> dict[str, Any]:
    """Print which share of copies and of other pairs is flagged, and how many of the first tenth are no copies.

    Args:
        data: labelled sets, or folders of them.

    Returns:
        The figures, of all pairs, of each half and of the pairs of its own.

    Raises:
        InputError: a folder holds no labelled set, or one that is not what it should be.
    """
    sets = [read_set(folder) for folder in sets_in(data)]
    reviewed = _reviewed([*sets, own_set()])
    pools = {
        "all": reviewed,
        **{f"half {half}": [each for each in reviewed if each.half == half] for half in (0, 1)},
        **{name: [each for each in reviewed if each.name == name] for name in dict.fromkeys(e.name for e in reviewed)},
    }
    figures = {name: _figures(pool) for name, pool in pools.items()}
    print(f"{'':34}{'copies':>8}{'flagged':>9}{'others':>8}{'flagged':>9}{'first tenth':>13}{'rest':>7}")
    for name, each in figures.items():
        print(
            f"{name:34}{each['copies']:8,}{each['copies_flagged']:9.3f}{each['others']:8,}{each['others_flagged']:9.3f}"
            f"{each['first_tenth']:13.3f}{each['rest']:7.3f}"
        )
    return figures


def own_set() -> LabelledSet:
    """Return the pairs of `triage_pairs.txt`, each in a text of its language."""
    documents: dict[str, LabelledDocument] = {}
    pairs = []
    for number, line in enumerate(_OWN.read_text(encoding="utf-8").splitlines()):
        if (found := _PAIR.fullmatch(line)) is None:
            continue
        label, language, where, sentence = found.groups()
        body = (_BODIES / f"{language}.txt").read_text(encoding="utf-8").strip().split("\n")
        place = {"^": 0, "$": len(body)}.get(where, len(body) // 2)
        for side, key in enumerate((f"{number} stored", f"{number} dropped")):
            own = _CHOICE.sub(lambda choice, side=side: choice[side + 1], sentence)
            text = "\n".join([*body[:place], own, *body[place:]])
            documents[key] = LabelledDocument(text, None, str(number))
        pairs.append(LabelledPair(f"{number} stored", f"{number} dropped", label == "1", language))
    return LabelledSet("own", documents, pairs)


def _reviewed(sets: Sequence[LabelledSet]) -> list[Reviewed]:
    settings = DedupSettings()
    scheme = find_scheme(settings.scheme)
    decider = PairDecider(settings)
    rows: list[Row] = []
    held: dict[str, tuple[LabelledSet, LabelledPair]] = {}
    texts: dict[str, tuple[str, bytes]] = {}
    for labelled, own in zip(sets, analyse_documents(sets, scheme), strict=True):
        for pair in labelled.pairs:
            a, b = own[pair.a], own[pair.b]
            decision = decider.decide(a.signature, b.signature)
            if decision.rule is Rule.SAME_TEXT or not (decision.rule.is_duplicate or decision.rule.is_similar):
                continue
            # What pages of a site share is counted by originals, and of a set by what its pages are copies of.
            original = f"https://{labelled.name}.example/{labelled.documents[pair.a].cluster}"
            key = f"https://{labelled.name}.example/{len(held)}"
            held[key], texts[key] = (labelled, pair), (a.text, b.signature.words)
            similarity = decision.similarity.jaccard
            values = (
                decision.distance,
                similarity,
                key,
                original,
                original,
                labelled.name,
                0.0,
                False,
                decision.rule.short,
            )
            rows.append(Row(Verdict.NEAR_DUPLICATE, *values))

    def compare(rows: Sequence[Row]) -> Iterator[WordDiff | None]:
        for row in rows:
            text, words = texts[row.dropped]
            yield diff_words(tokens_of(text, scheme), rejoin(words), names_in(text))

    return [
        Reviewed(
            held[row.dropped][0].name,
            held[row.dropped][1].is_duplicate,
            half_of(row.original.rpartition("/")[2]),
            row.is_flagged,
            place,
        )
        for place, row in enumerate(examined(rows, Report([], "", {}, compare=compare)))
    ]


def _figures(pool: Sequence[Reviewed]) -> dict[str, float]:
    copies, others = ([each for each in pool if each.is_copy is is_copy] for is_copy in (True, False))
    ordered = sorted(pool, key=lambda each: each.place)
    tenth = len(pool) // 10
    return {
        "copies": len(copies),
        "copies_flagged": _share([each.is_flagged for each in copies]),
        "others": len(others),
        "others_flagged": _share([each.is_flagged for each in others]),
        "first_tenth": _share([not each.is_copy for each in ordered[:tenth]]),
        "rest": _share([not each.is_copy for each in ordered[tenth:]]),
    }


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
