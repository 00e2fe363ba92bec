from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.plain import make_sketch
from dedup.signature.signature import SKETCH_BYTES, Sketch, compare

SKETCHES = st.builds(
    Sketch,
    minima=st.binary(min_size=64, max_size=64),
    numbers=st.integers(0, 2**64 - 1),
    tokens=st.integers(0, 2**32 - 1),
    shingles=st.integers(0, 2**32 - 1),
)
DISTINCT = np.random.default_rng(1).integers(0, 2**64, 1 << 16, dtype=np.uint64)
MINIMA = 128
NO_NUMBERS = np.empty(0, np.uint64)


def sketch(*stretches: range) -> Sketch:
    """Sketch a text of which word i is the i-th of an endless list of different words."""
    hashes = DISTINCT[np.array([i for stretch in stretches for i in stretch], np.int64)]
    return make_sketch(hashes, NO_NUMBERS)[0]


def shared_bands(*texts: range) -> int:
    """Count the bands that two texts share."""
    ours, theirs = (make_sketch(DISTINCT[np.array(text)], NO_NUMBERS)[1] for text in texts)
    return int((ours == theirs).sum())


def four_standard_errors(jaccard: float) -> float:
    """Of 128 four-bit minima, of which one in sixteen is equal by chance."""
    equal = jaccard + (1 - jaccard) / 16
    return 4 * sqrt(equal * (1 - equal) / MINIMA) / (15 / 16)


@given(SKETCHES)
def test_a_sketch_survives_the_way_through_bytes(original: Sketch) -> None:
    data = original.to_bytes()
    assert len(data) == SKETCH_BYTES == 80
    assert Sketch.from_bytes(data) == original


@pytest.mark.parametrize("size", [0, 79, 81])
def test_bytes_of_another_length_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="80 bytes"):
        Sketch.from_bytes(bytes(size))


def test_the_text_counts_its_tokens_and_distinct_shingles() -> None:
    once = sketch(range(100))
    assert (once.tokens, once.shingles) == (100, 98)
    twice = sketch(range(100), range(100))
    assert (twice.tokens, twice.shingles) == (200, 100)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_text_of_less_than_three_tokens_has_no_shingles_and_is_like_nothing(length: int) -> None:
    short = sketch(range(length))
    assert (short.tokens, short.shingles) == (length, 0)
    for other in (short, sketch(range(100))):
        similarity = compare(short, other)
        assert (similarity.jaccard, similarity.containment, similarity.length_ratio) == (0, 0, 0)


@pytest.mark.parametrize("length", [3, 500])
def test_a_text_is_wholly_like_itself(length: int) -> None:
    similarity = compare(sketch(range(length)), sketch(range(length)))
    assert (similarity.jaccard, similarity.containment, similarity.length_ratio) == (1, 1, 1)


def test_the_order_of_the_words_within_a_shingle_matters() -> None:
    hashes = DISTINCT[:3]
    sketches = {make_sketch(hashes[list(order)], NO_NUMBERS)[0].minima for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2])}
    assert len(sketches) == 3


def test_equal_words_make_shingles_too() -> None:
    hashes = np.repeat(DISTINCT[:1], 10)
    assert make_sketch(hashes, NO_NUMBERS)[0].shingles == 1


@pytest.mark.parametrize("common", [0, 40, 200, 400, 560, 700, 900, 1000])
def test_estimated_jaccard_is_within_four_standard_errors(common: int) -> None:
    for start in range(0, 40_000, 4_000):
        a = sketch(range(start, start + 1002))
        b = sketch(range(start + 1000 - common, start + 2002 - common))
        jaccard = common / (2000 - common)
        assert compare(a, b).jaccard == pytest.approx(jaccard, abs=four_standard_errors(jaccard) + 1e-9)


def test_the_estimate_has_no_bias() -> None:
    estimates = [
        compare(sketch(range(start, start + 302)), sketch(range(start + 100, start + 402))).jaccard
        for start in range(0, 60_000, 500)
    ]
    assert np.mean(estimates) == pytest.approx(0.5, abs=four_standard_errors(0.5) / sqrt(len(estimates)))


@pytest.mark.parametrize("length", [202, 502, 902])
def test_a_part_of_a_text_is_contained_in_it(length: int) -> None:
    similarity = compare(sketch(range(length)), sketch(range(1002)))
    assert similarity.containment > 0.75
    assert similarity.length_ratio == pytest.approx(length / 1002)


def test_estimated_containment_is_near_the_exact_one() -> None:
    # 500 of 800 shingles of the one among 1,000 of the other: J = 500 / 1300.
    estimates = [
        compare(sketch(range(start, start + 802)), sketch(range(start + 300, start + 1302))).containment
        for start in range(0, 60_000, 2_000)
    ]
    assert np.mean(estimates) == pytest.approx(500 / 800, abs=0.04)


def test_equal_texts_share_all_bands_and_unlike_ones_none() -> None:
    assert shared_bands(range(500), range(500)) == 24
    assert shared_bands(range(500), range(500, 1000)) == 0


def test_a_band_is_shared_with_the_fourth_power_of_the_similarity() -> None:
    # 400 of 600 shingles are shared, and no text is made of what another is made of.
    starts = range(0, 60_000, 600)
    shares = [shared_bands(range(at, at + 502), range(at + 100, at + 602)) / 24 for at in starts]
    expected = (400 / 600) ** 4
    error = sqrt(expected * (1 - expected) / (24 * len(starts)))
    assert np.mean(shares) == pytest.approx(expected, abs=4 * error)


@given(SKETCHES, SKETCHES)
def test_similarity_is_symmetric_and_between_0_and_1(a: Sketch, b: Sketch) -> None:
    if not a.tokens or not b.tokens:  # a text with shingles has tokens
        return
    similarity = compare(a, b)
    assert similarity == compare(b, a)
    assert 0 <= similarity.jaccard <= 1
    assert 0 <= similarity.containment <= 1
    assert 0 <= similarity.length_ratio <= 1


@given(st.binary(min_size=64, max_size=64), st.binary(min_size=64, max_size=64))
def test_jaccard_counts_the_equal_minima(a: bytes, b: bytes) -> None:
    equal = sum((x & 15) == (y & 15) for x, y in zip(a, b, strict=True))
    equal += sum((x >> 4) == (y >> 4) for x, y in zip(a, b, strict=True))
    estimate = compare(Sketch(a, 0, 9, 7), Sketch(b, 0, 9, 7)).jaccard
    assert estimate == pytest.approx(max(0, (equal / 128 - 1 / 16) / (15 / 16)))


def test_long_texts_are_sketched_as_short_ones_are() -> None:
    # Minima are taken in chunks of shingles; that must not show.
    assert compare(sketch(range(10_002)), sketch(range(10_002), range(500))).jaccard > 0.99
