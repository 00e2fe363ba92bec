from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dedup import DedupSettings, Mode, Verdict, find_scheme, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from dedup.rules.pairwise import PairDecider
from dedup.rules.rule import Rule
from tests.texts import document, edited

TEXT = document(300)
TEXTS = {
    "itself": TEXT,
    "shouting": TEXT.upper(),
    **{f"{count} edits": edited(TEXT, count) for count in (1, 4, 12, 18, 24, 28, 32, 60, 150)},
    "two thirds": " ".join(TEXT.split()[:200]),
    "a third": " ".join(TEXT.split()[:100]),
    "another": document(300, "another"),
    "short": document(19),
    "filled in anew": edited(TEXT, 20),
    "another in the frame": " ".join([*TEXT.split()[:260], document(40, "another")]),
    "nothing": "",
    "shuffled": " ".join(Random(1).sample(TEXT.split(), 300)),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", TEXTS)
def test_a_pair_is_decided_as_the_deduplicator_decides_it(name: str, mode: Mode, tmp_path: Path) -> None:
    settings = DedupSettings(database_url=f"sqlite:///{tmp_path / 'dedup.db'}", mode=mode)
    first, second = make_signature(TEXT), make_signature(TEXTS[name])
    deduplicator = Deduplicator(settings)
    _, decision = deduplicator.decide(
        [Document("first", first), Document("second", second)], deduplicator.open_run("test")
    )
    deduplicator.database.close()
    assert decision is not None
    pair = PairDecider(settings).decide(first, second)
    assert pair.rule.is_duplicate == decision.verdict.is_duplicate
    assert (pair.rule is Rule.SAME_TEXT) == (decision.verdict is Verdict.EXACT_DUPLICATE)
    if decision.verdict.is_duplicate:
        assert pair.distance == decision.distance


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("itself", Rule.SAME_TEXT),
        ("4 edits", Rule.JACCARD),
        ("two thirds", Rule.JACCARD),
        ("another", Rule.TOO_FAR),
        ("short", Rule.TOO_SHORT),
        ("nothing", Rule.TOO_SHORT),
        ("shuffled", Rule.NOT_ALIKE),
        ("filled in anew", Rule.REPLACED),
        ("another in the frame", Rule.REWRITTEN),
    ],
)
def test_the_rule_that_decided_is_named(name: str, rule: Rule) -> None:
    decision = PairDecider(DedupSettings()).decide(make_signature(TEXT), make_signature(TEXTS[name]))
    assert decision.rule is rule


def test_the_words_of_long_texts_are_not_compared() -> None:
    first, second = make_signature(TEXT), make_signature(TEXTS["filled in anew"])
    assert PairDecider(DedupSettings(max_compared=300)).decide(first, second).rule is Rule.REPLACED
    assert PairDecider(DedupSettings(max_compared=299)).decide(first, second).rule is Rule.JACCARD


def test_a_part_of_a_text_is_contained_in_it() -> None:
    part = " ".join(TEXT.split()[:150])
    decision = PairDecider(DedupSettings(radius=64, weak_bits=10, max_flips=1000)).decide(
        make_signature(TEXT), make_signature(part)
    )
    assert decision.rule in (Rule.CONTAINMENT, Rule.NO_PROBE)
    assert decision.similarity.containment > 0.9


def test_no_probe_is_said_where_only_the_tables_stand_in_the_way() -> None:
    settings = DedupSettings(radius=64, weak_bits=0)
    decision = PairDecider(settings).decide(make_signature(TEXT), make_signature(TEXTS["60 edits"]))
    assert decision.rule is Rule.NO_PROBE
    assert decision.table is None


def test_other_widths_are_compared_without_tables() -> None:
    first, second = make_signature(TEXT), make_signature(TEXTS["4 edits"])
    decision = PairDecider(DedupSettings(), find_scheme("words/log/xxh3/128")).decide(first, second)
    assert decision.rule is Rule.JACCARD
    assert decision.table is None
