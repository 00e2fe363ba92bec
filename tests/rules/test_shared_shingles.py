"""What compiled code says of two documents is what is said without it, whatever their words are made to look like."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from random import Random

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.compiled import KEY, native
from dedup.rules.settings import Caution, DedupSettings, LostLimit
from dedup.rules.shared_shingles import bounds, plain_bounds
from dedup.rules.table import Rule, decide
from dedup.rules.word_comparison import WordDifference, find_lost, jaccard, shingles_of
from dedup.signature.signing import bands_of_words, make_signature
from tests.pairs import pair_of_words
from tests.texts import answered, document, edited, extended, words

WORDS = words(300)
FEW = st.lists(st.sampled_from(["a", "b", "c", "dd", "12"]), min_size=1, max_size=60)
TOKENS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=20)
ANY = st.lists(TOKENS, min_size=1, max_size=30)
_64_BITS = 2**64 - 1


def joined(tokens: Sequence[str]) -> bytes:
    return "\n".join(tokens).encode()


def containment(a: Set[Hashable], b: Set[Hashable]) -> float:
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 0.0


# What they share.


@given(FEW | ANY, FEW | ANY)
def test_jaccard_and_containment_are_those_of_the_shingles(a: list[str], b: list[str]) -> None:
    ours, theirs = shingles_of(a), shingles_of(b)
    for found in (bounds(joined(a), joined(b)), plain_bounds(joined(a), joined(b))):
        assert (found.jaccard, found.containment) == (jaccard(ours, theirs), containment(ours, theirs))


@given(ANY, st.integers(0, 2**32), st.integers(0, 30))
def test_so_they_are_of_texts_that_share_passages(a: list[str], seed: int, kept: int) -> None:
    random = Random(seed)
    b = [token if random.random() < 0.8 else random.choice(a) + "x" for token in [*a, *WORDS[:kept], *a]]
    found = bounds(joined(a), joined(b))
    assert found.jaccard == jaccard(shingles_of(a), shingles_of(b))
    assert found.containment == containment(shingles_of(a), shingles_of(b))
    assert found[:2] == bounds(joined(b), joined(a))[:2]


@pytest.mark.parametrize("tokens", [1, 2])
def test_texts_without_shingles_share_nothing(tokens: int) -> None:
    found = bounds(joined(WORDS[:tokens]), joined(WORDS))
    assert (found.jaccard, found.containment) == (0, 0)


# Words that somebody has made to collide.


def rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _64_BITS


def unmixed(value: int) -> int:
    """Undo the last mixing of murmur3, a shift and a multiplication at a time."""
    for multiplier in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        value ^= value >> 33
        value = value * pow(multiplier, -1, 2**64) & _64_BITS
    return value ^ value >> 33


def block_of(first: int, second: int) -> bytes:
    """Return the 16 bytes of which MurmurHash3 x64 128 gives these two numbers: every step of it can be undone."""
    c1, c2, fifth = 0x87C37B91114253D5, 0x4CF5AD432745937F, pow(5, -1, 2**64)
    h2 = unmixed(second - first & _64_BITS)
    h1 = unmixed(first - (second - first) & _64_BITS)
    h2 = h2 - h1 & _64_BITS
    h1 = h1 - h2 & _64_BITS
    h1, h2 = h1 ^ 16, h2 ^ 16
    k2 = rotated((h2 - 0x38495AB5) * fifth - h1 & _64_BITS, 64 - 31)
    k1 = rotated((h1 - 0x52DCE729) * fifth & _64_BITS, 64 - 27)
    k2 = rotated(k2 * pow(c1, -1, 2**64) & _64_BITS, 64 - 33) * pow(c2, -1, 2**64) & _64_BITS
    k1 = rotated(k1 * pow(c2, -1, 2**64) & _64_BITS, 64 - 31) * pow(c1, -1, 2**64) & _64_BITS
    return k1.to_bytes(8, "little") + k2.to_bytes(8, "little")


def twin_of(word: bytes) -> bytes:
    """Return 16 other bytes, neither zero nor line feed among them, with the same hash of 64 bits."""
    random = Random(word)
    first = mmh3.hash64(word, signed=False)[0]
    return next(
        block
        for _ in range(100)
        if not {*b"\0\n"} & {*(block := block_of(first, random.getrandbits(64)))} and block != word
    )


def test_two_words_can_have_the_same_hash() -> None:
    assert block_of(*mmh3.hash64(b"sixteen letters!", signed=False)) == b"sixteen letters!"
    twin = twin_of(b"harbour")
    assert twin != b"harbour"
    assert mmh3.hash64(twin)[0] == mmh3.hash64(b"harbour")[0]


@pytest.mark.parametrize("caution", Caution)
def test_words_that_collide_are_not_taken_for_the_same(caution: Caution) -> None:
    own = joined(WORDS)
    twins = b"\n".join(map(twin_of, own.split(b"\n")))
    # By hashes alone they are one text.
    assert bands_of_words(twins).tolist() == bands_of_words(own).tolist()
    assert native.bounds(own, twins, KEY) is None
    assert decide(pair_of_words(own, twins, DedupSettings(caution=caution))) is Rule.NOT_ALIKE
    both = b"\n".join((own, twins))
    assert native.shared_tokens(both, own, KEY) is None
    assert find_lost(both, [own], LostLimit(0, 0, 0)).words == 300


# How far they may differ.


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
    st.sampled_from([80, 300]),
    st.booleans(),
    st.booleans(),
)
def test_the_bounds_change_no_rule(
    seed: int, answers: int, edits: int, rewritten: int, caution: Caution, length: int, siblings: bool, titles: bool
) -> None:
    form = document(length, seed)
    tokens = edited(answered(form, answers, "other"), edits, seed).split()
    ours = joined(answered(form, answers, "one").split())
    theirs = joined([*tokens[:100], *words(rewritten), *tokens[100 + rewritten :]])
    made = DedupSettings(caution=caution)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dedup.rules.pair.bounds", plain_bounds)
        plain = decide(pair_of_words(ours, theirs, made, siblings=siblings, other_titles=titles))
    assert decide(pair_of_words(ours, theirs, made, siblings=siblings, other_titles=titles)) is plain


def test_without_words_nothing_is_alike() -> None:
    for pair in ((b"", joined(WORDS)), (joined(WORDS), b"")):
        assert decide(pair_of_words(*pair, DedupSettings())) is Rule.NOT_ALIKE
