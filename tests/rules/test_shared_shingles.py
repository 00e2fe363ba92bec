"""What compiled code says of the shingles and words of two texts is what is said without it, and bounds hold."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.rules import verification
from dedup.rules.cautions import Caution
from dedup.rules.settings import DedupSettings
from dedup.rules.shared_shingles import bounds
from dedup.rules.verification import check
from dedup.rules.word_comparison import WordDifference, plain_bounds
from dedup.signature.signature import make_signature
from tests.texts import answered, document, edited, extended, words

WORDS = words(300)
FEW = st.lists(st.sampled_from(["a", "b", "c", "dd", "12"]), min_size=1, max_size=60)


def joined(tokens: list[str]) -> bytes:
    return "\n".join(tokens).encode()


@given(FEW, FEW, st.integers(0, 30), st.integers(0, 30))
def test_shingles_are_shared_as_sets_say_and_no_more_was_rewritten_than_may_have_been(
    a: list[str], b: list[str], kept: int, more: int
) -> None:
    ours = joined([*a, *WORDS[:kept], *b[:more], *WORDS[100 : 100 + kept]])
    theirs = joined([*b, *WORDS[:kept], *a[:more], *WORDS[100 : 100 + kept]])
    found = bounds(ours, theirs)
    assert found[:2] == plain_bounds(ours, theirs)[:2]
    assert WordDifference(ours, theirs).rewritten <= found.rewritten


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
def test_bounds_change_no_rule(seed: int, answers: int, edits: int, rewritten: int, caution: Caution) -> None:
    form = document(300, seed)
    tokens = edited(answered(form, answers, "other"), edits, seed).split()
    a = make_signature(answered(form, answers, "one"))
    b = make_signature(" ".join([*tokens[:100], *words(rewritten), *tokens[100 + rewritten :]]))
    made = DedupSettings(caution=caution)
    found = check(a.words, b.words, made)
    with patch.object(verification, "_bounds", plain_bounds):
        assert found is check(a.words, b.words, made)
