from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dedup import DedupSettings, Mode, Signature, Verdict, make_signature
from dedup.rules.documents import Document
from dedup.rules.settings import Caution
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider, PairDecision
from dedup.store.deduplicator import Deduplicator
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

HALF = " ".join(TEXT.split()[-155:])
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
        assert pair.distance == decision.details.distance


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("itself", Rule.SAME_TEXT),
        ("4 edits", Rule.JACCARD),
        ("noise", Rule.JACCARD),
        ("two thirds", Rule.JACCARD),
        ("another", Rule.NO_KEY),
        ("short", Rule.TOO_SHORT),
        ("nothing", Rule.TOO_SHORT),
        ("shuffled", Rule.NO_KEY),
        ("32 edits", Rule.NOT_ALIKE),
        ("another in the frame", Rule.REWRITTEN),
    ],
)
def test_the_rule_that_decided_is_named(name: str, rule: Rule) -> None:
    decision = PairDecider(DedupSettings()).decide(make_signature(TEXT), make_signature(TEXTS[name]))
    assert decision.rule is rule


def decided(first: str, second: str, **values: Any) -> PairDecision:
    return PairDecider(DedupSettings(**values)).decide(make_signature(first), make_signature(second))


def decide(first: Signature, second: Signature, **values: Any) -> Rule:
    return PairDecider(DedupSettings(**values)).decide(first, second).rule


def test_the_words_of_long_texts_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, rule in ((300, Rule.REPLACED), (299, Rule.JACCARD)):
        monkeypatch.setattr(DedupSettings, "max_compared", most)
        assert decided(*FORMS).rule is rule


def test_a_part_of_a_text_is_contained_in_it() -> None:
    decision = decided(TEXT, HALF, caution="eager")
    assert decision.rule is Rule.CONTAINMENT
    assert decision.similarity.containment > 0.9


def test_less_alike_than_the_caution_asks_for_is_similar() -> None:
    for values in ({}, {"caution": "careful"}, {"min_jaccard": 1}):
        decision = decided(TEXT, HALF, **values)
        assert (decision.rule, decision.is_similar) == (Rule.LESS_ALIKE, True)
    assert decided(TEXT, HALF, caution="eager").is_duplicate


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
        (TEXT, HALF, (Rule.LESS_ALIKE, Rule.LESS_ALIKE, Rule.CONTAINMENT)),
        (about(["aspirin"] * 3), about(["ibuprofen"] * 3), (Rule.SWAPPED, Rule.SWAPPED, Rule.JACCARD)),
        # Numbers that are like each other letter by letter: that is no replacing.
        (about(numbers=range(7)), about(numbers=range(70, 77)), (Rule.RENUMBERED, Rule.RENUMBERED, Rule.JACCARD)),
    ],
    ids=["correction", "noise", "half", "another name", "other numbers"],
)
def test_caution_says_how_much_evidence_it_takes(first: str, second: str, rules: Sequence[Rule]) -> None:
    found = [decided(first, second, caution=caution).rule for caution in Caution]
    assert found == list(rules)


def test_the_keys_that_two_texts_share_are_told() -> None:
    first, second = make_signature(TEXT), make_signature(TEXTS["12 edits"])
    decision = PairDecider(DedupSettings()).decide(first, second)
    differing = first.fingerprint ^ second.fingerprint
    tables = [
        number
        for number, table in enumerate(DedupSettings().tables.tables)
        if not any(differing >> bit & 1 for bit in table.prefix)
    ]
    assert decision.tables == tuple(tables)
    assert decision.bands == tuple(np.flatnonzero(first.bands == second.bands).tolist())
    assert (len(decision.tables), len(decision.bands)) == (1, 13)


def test_without_a_shared_key_nothing_is_compared() -> None:
    first, second = make_signature(TEXT), make_signature(TEXTS["32 edits"])
    far = replace(second, bands=~first.bands)
    assert decide(first, far) is Rule.NO_KEY
    # What shares a table counts only within the paper's radius.
    for distance, rule in ((3, Rule.NOT_ALIKE), (4, Rule.NO_KEY)):
        near = replace(far, fingerprint=first.fingerprint ^ (1 << distance) - 1)
        assert PairDecider(DedupSettings()).decide(first, near).tables
        assert decide(first, near) is rule
    assert decide(first, replace(far, bands=np.append(~first.bands[:23], first.bands[23:]))) is Rule.NOT_ALIKE


def test_the_order_of_two_texts_makes_no_difference() -> None:
    for text in TEXTS.values():
        first, second = make_signature(TEXT), make_signature(text)
        assert PairDecider(DedupSettings()).decide(first, second) == PairDecider(DedupSettings()).decide(second, first)


def test_texts_without_a_pair_of_words_share_a_fingerprint_and_are_not_compared() -> None:
    first, second = make_signature("harbour"), make_signature("mountain")
    assert first.fingerprint == second.fingerprint == 0
    decision = PairDecider(DedupSettings(mode="paper")).decide(first, second)
    assert decision.rule is Rule.TOO_SHORT


# Texts that somebody has made to look like a stranger's page.


STRANGER = make_signature(TEXT)
FORGED = replace(
    STRANGER, words=make_signature(TEXTS["another"]).words, text_digest=make_signature(TEXTS["another"]).text_digest
)
"""The simhash, the sketch and the bands of another page, and none of its words."""


@pytest.mark.parametrize("caution", Caution)
@pytest.mark.parametrize("signatures", [(STRANGER, FORGED), (FORGED, STRANGER)], ids=["after", "before"])
def test_a_text_with_the_simhash_and_the_sketch_of_another_one_is_kept(
    signatures: Sequence[Signature], caution: Caution, database_url: str
) -> None:
    settings = DedupSettings(database_url=database_url, caution=caution)
    assert PairDecider(settings).decide(*signatures).similarity.jaccard == 1
    assert decide(*signatures, caution=caution) is Rule.NOT_ALIKE
    deduplicator = Deduplicator(settings)
    with closing(deduplicator.database):
        run = deduplicator.open_run("test")
        documents = [Document(str(number), signature) for number, signature in enumerate(signatures)]
        decisions = deduplicator.decide(documents, run)
        assert [decision and decision.verdict for decision in decisions] == [Verdict.NEW, Verdict.NEW]
        # And what copies the page is still dropped because of it.
        [copy] = deduplicator.decide([Document("copy", make_signature(edited(TEXT, 3)))], run)
    assert copy is not None
    assert copy.original == str(signatures.index(STRANGER))
