from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import DedupSettings, Mode, Verdict, find_scheme, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.cautions import Caution
from dedup.rules.documents import Document
from dedup.rules.pairwise import PairDecider, PairDecision
from dedup.rules.rule import Rule
from tests.texts import answered, document, edited

TEXT = document(300)
TEXTS = {
    "itself": TEXT,
    "shouting": TEXT.upper(),
    **{f"{count} edits": edited(TEXT, count) for count in (1, 4, 12, 18, 24, 28, 32, 60, 150)},
    "two thirds": " ".join(TEXT.split()[:200]),
    "a third": " ".join(TEXT.split()[:100]),
    "another": document(300, "another"),
    "short": document(19),
    "noise": edited(TEXT, 20),
    "filled in": answered(TEXT, 20, "one"),
    "another in the frame": " ".join([*TEXT.split()[:260], document(40, "another")]),
    "nothing": "",
    "shuffled": " ".join(Random(1).sample(TEXT.split(), 300)),
}

FORMS = TEXTS["filled in"], answered(TEXT, 20, "other")
"""The same form, filled in by two."""


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
        ("noise", Rule.JACCARD),
        ("two thirds", Rule.JACCARD),
        ("another", Rule.TOO_FAR),
        ("short", Rule.TOO_SHORT),
        ("nothing", Rule.TOO_SHORT),
        ("shuffled", Rule.NOT_ALIKE),
        ("another in the frame", Rule.REWRITTEN),
    ],
)
def test_the_rule_that_decided_is_named(name: str, rule: Rule) -> None:
    decision = PairDecider(DedupSettings()).decide(make_signature(TEXT), make_signature(TEXTS[name]))
    assert decision.rule is rule


def decided(first: str, second: str, **values: Any) -> PairDecision:
    return PairDecider(DedupSettings(**values)).decide(make_signature(first), make_signature(second))


def test_a_form_that_was_filled_in_anew_is_similar() -> None:
    decision = decided(*FORMS)
    assert (decision.rule, decision.is_duplicate, decision.is_similar) == (Rule.REPLACED, False, True)


def test_the_words_of_long_texts_are_not_compared() -> None:
    assert decided(*FORMS, max_compared=300).rule is Rule.REPLACED
    assert decided(*FORMS, max_compared=299).rule is Rule.JACCARD


ANY_FAR = {"radius": 64, "weak_bits": 10, "max_flips": 1000}


def test_a_part_of_a_text_is_contained_in_it() -> None:
    part = " ".join(TEXT.split()[:150])
    decision = decided(TEXT, part, **ANY_FAR, min_length_ratio=0.5)
    assert decision.rule in (Rule.CONTAINMENT, Rule.NO_PROBE)
    assert decision.similarity.containment > 0.9


def test_less_alike_than_the_caution_asks_for_is_similar() -> None:
    half = " ".join(TEXT.split()[:150])
    for values in ({}, {"caution": "careful"}, {"min_jaccard": 1, "min_containment": 1}):
        decision = decided(TEXT, half, **ANY_FAR, **values)
        assert (decision.rule, decision.is_similar) == (Rule.LESS_ALIKE, True)
    assert decided(TEXT, half, **ANY_FAR, caution="eager").is_duplicate
    # What the least caution would not drop either is new.
    quarter = decided(TEXT, " ".join(TEXT.split()[:75]), **ANY_FAR)
    assert (quarter.rule, quarter.is_similar) == (Rule.NOT_ALIKE, False)


def about(names: Sequence[str] = (), numbers: Sequence[int] = ()) -> str:
    """Return a text in which a few words say what it is about, as in a leaflet."""
    tokens = TEXT.split()
    tokens[5 : 5 + 60 * len(names) : 60] = names
    tokens[20 : 20 + 40 * len(numbers) : 40] = map(str, numbers)
    return " ".join(tokens)


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        (TEXT, edited(TEXT, 3), (Rule.JACCARD, Rule.JACCARD, Rule.JACCARD)),
        (TEXT, edited(TEXT, 20), (Rule.LESS_ALIKE, Rule.JACCARD, Rule.JACCARD)),
        (TEXT, " ".join(TEXT.split()[:150]), (Rule.LESS_ALIKE, Rule.LESS_ALIKE, Rule.CONTAINMENT)),
        (about(["aspirin"] * 3), about(["ibuprofen"] * 3), (Rule.SWAPPED, Rule.SWAPPED, Rule.JACCARD)),
        # Numbers that are like each other letter by letter: that is no replacing.
        (about(numbers=range(7)), about(numbers=range(70, 77)), (Rule.RENUMBERED, Rule.RENUMBERED, Rule.JACCARD)),
    ],
    ids=["correction", "noise", "half", "another name", "other numbers"],
)
def test_caution_says_how_much_evidence_it_takes(first: str, second: str, rules: Sequence[Rule]) -> None:
    found = [decided(first, second, **ANY_FAR, caution=caution).rule for caution in Caution]
    assert found == list(rules)


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
