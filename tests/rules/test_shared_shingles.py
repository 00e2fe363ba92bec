"""What compiled code says of two documents is what is said without it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.corpus.deciding.mutual_probing import compiled_brings
from dedup.corpus.deciding.shared_shingles import bounds
from dedup.rules.cautions import Caution
from dedup.rules.mutual import MutualProbes
from dedup.rules.rule import Rule
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import check, plan_of
from dedup.rules.word_comparison import WordDifference
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import make_signature
from dedup.signature.sketch import Sketch
from tests.texts import answered, document, edited, extended, words

WORDS = words(300)
FEW = st.lists(st.sampled_from(["a", "b", "c", "dd", "12"]), min_size=1, max_size=60)


def joined(tokens: list[str]) -> bytes:
    return "\n".join(tokens).encode()


@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from([0, 3, 32]), st.sampled_from([0.0, 1.2, np.inf]))
@settings(max_examples=100, deadline=None)
def test_probes_bring_the_same(seed: int, edits: int, flips: int, firm_margin: float) -> None:
    made = DedupSettings(max_flips=flips, firm_margin=firm_margin)
    plan, scheme = plan_of(made), find_scheme(made.scheme)
    brings = compiled_brings(plan, scheme)
    assert brings is not None
    text = document(120, seed)
    a, b = make_signature(text), make_signature(edited(text, edits, seed))
    for one, other in ((a, b), (b, a)):
        each = one.fingerprint, one.words, other.fingerprint
        assert brings(*each) == MutualProbes(plan, scheme).brings(*each)


def test_probes_by_margins_that_are_not_compiled_are_left_to_others() -> None:
    scheme = find_scheme("words/log/xxh3/64")
    assert compiled_brings(plan_of(DedupSettings(scheme="words/log/xxh3/64")), scheme) is None


@given(FEW, FEW, st.integers(0, 30), st.integers(0, 30))
def test_no_more_was_rewritten_than_may_have_been(a: list[str], b: list[str], kept: int, more: int) -> None:
    ours = joined([*a, *WORDS[:kept], *b[:more], *WORDS[100 : 100 + kept]])
    theirs = joined([*b, *WORDS[:kept], *a[:more], *WORDS[100 : 100 + kept]])
    assert WordDifference(ours, theirs).rewritten <= bounds(ours, theirs).rewritten


@given(st.integers(0, 250), st.integers(0, 120), st.integers(0, 120))
def test_no_more_was_rewritten_than_may_have_been_of_long_texts(at: int, removed: int, added: int) -> None:
    ours = joined(WORDS)
    theirs = joined([*WORDS[:at], *words(added, "x"), *WORDS[at + removed :]])
    most = bounds(ours, theirs).rewritten
    assert WordDifference(ours, theirs).rewritten <= most
    # Two shingles and the words at both ends of what was put in.
    assert most <= (min(removed, 300 - at) + 6) / min(300, len(theirs.split()))


def test_little_may_have_been_rewritten_of_an_edited_copy() -> None:
    text = document(800, 1)
    tokens = [make_signature(each).words for each in (text, edited(text, 10), extended(text, 25))]
    assert bounds(tokens[0], tokens[1]).rewritten < 0.1
    assert bounds(tokens[0], tokens[2]).rewritten < 0.1
    assert bounds(tokens[0], make_signature(document(800, 2)).words).rewritten > 0.9


@given(
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 150),
    st.sampled_from(Caution),
)
@settings(max_examples=100, deadline=None)
def test_the_bound_changes_no_rule(seed: int, answers: int, edits: int, rewritten: int, caution: Caution) -> None:
    form = document(300, seed)
    text = answered(form, answers, "one")
    tokens = edited(answered(form, answers, "other"), edits, seed).split()
    a, b = (
        make_signature(text),
        make_signature(" ".join([*tokens[:100], *words(rewritten), *tokens[100 + rewritten :]])),
    )
    made = DedupSettings(caution=caution)
    pair = a.words, b.words
    assert check(a.sketch, b.sketch, lambda: pair, made, bounds) is check(a.sketch, b.sketch, lambda: pair, made)


def test_without_words_there_is_no_bound() -> None:
    # So much differs that words are asked for.
    a, b = (Sketch(bytes([byte] * 8) + bytes(56), 0, 300, 298) for byte in (0x11, 0x22))
    assert check(a, b, lambda: (b"", b""), DedupSettings(), bounds) is Rule.JACCARD
