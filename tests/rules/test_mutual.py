"""The order of two documents makes no difference: each would bring the other as a candidate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupSettings, Signature, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from dedup.rules.mutual import MutualProbes, margins_of
from dedup.rules.pairwise import PairDecider
from dedup.rules.rule import Rule
from dedup.rules.verification import plan_of
from dedup.signature.schemes import find_scheme
from tests.texts import document, edited

# Few flips, so that many near-duplicates are brought in one direction only.
FEW_FLIPS = {"max_flips": 3, "max_replaced": 100.0, "min_jaccard": 0.2}


@pytest.fixture(scope="module")
def one_way() -> tuple[Signature, Signature]:
    """Two signatures of which the first, if it is stored, is brought by the second, but not the other way round."""
    plan = plan_of(DedupSettings(**FEW_FLIPS))
    for seed in range(1000):
        text = document(200, seed)
        a, b = make_signature(text), make_signature(edited(text, 16, seed))
        ways = [plan.find(*each) is None for each in _queries(a, b)]
        if ways == [False, True]:
            return a, b
        if ways == [True, False]:
            return b, a
    raise AssertionError("no such pair")


def _queries(a: Signature, b: Signature) -> list[tuple[int, np.ndarray, int]]:
    return [(b.fingerprint, b.margins, a.fingerprint), (a.fingerprint, a.margins, b.fingerprint)]


@given(st.lists(st.sampled_from(["the", "harbour", "bridge", "港口", "大桥", "1984", "é"]), min_size=1, max_size=60))
def test_margins_are_made_anew_of_the_words(words: list[str]) -> None:
    for name in ("words", "pairs", "words/log/xxh3/64", "words/one/md5/64"):
        scheme = find_scheme(name)
        signature = scheme.signature(" ".join(words))
        assert margins_of(signature.words, scheme).tolist() == signature.margins.tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_pair_that_is_brought_one_way_only_is_kept_in_both_orders(
    one_way: tuple[Signature, Signature], *, swapped: bool, tmp_path: Path
) -> None:
    first, second = reversed(one_way) if swapped else one_way
    settings = DedupSettings(database_url=f"sqlite:///{tmp_path / 'dedup.db'}", **FEW_FLIPS)
    deduplicator = Deduplicator(settings)
    documents = [Document("first", first), Document("second", second)]
    decisions = deduplicator.decide(documents, deduplicator.open_run("test"))
    deduplicator.database.close()
    assert [decision is not None and decision.verdict.is_duplicate for decision in decisions] == [False, False]
    rule = PairDecider(settings).decide(first, second).rule
    assert rule is (Rule.NO_PROBE if swapped else Rule.ONE_WAY)


def test_without_its_words_a_candidate_counts(one_way: tuple[Signature, Signature]) -> None:
    first, second = one_way
    settings = DedupSettings(**FEW_FLIPS)
    mutual = MutualProbes(plan_of(settings), find_scheme("words"))
    assert not mutual.hold(second.fingerprint, first.fingerprint, lambda: first.words)
    assert mutual.hold(second.fingerprint, first.fingerprint, lambda: b"")
    of_other_features = MutualProbes(plan_of(settings), find_scheme("bigrams64"))
    assert of_other_features.hold(second.fingerprint, first.fingerprint, lambda: first.words)


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 32))
def test_every_pair_is_decided_alike_in_both_orders(seed: int, edits: int, flips: int) -> None:
    text = document(120, seed)
    a, b = make_signature(text), make_signature(edited(text, edits, seed))
    decider = PairDecider(DedupSettings(**{**FEW_FLIPS, "max_flips": flips}))
    assert decider.decide(a, b).rule.is_duplicate == decider.decide(b, a).rule.is_duplicate
