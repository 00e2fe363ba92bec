"""Every published way to look up fingerprints finds what brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import InputError
from dedup.lookups import Fingerprints, lookups, measure, random_sample

CENTRES = st.integers(0, 2**64 - 1)


@st.composite
def neighbours(draw: st.DrawFn) -> Fingerprints:
    """Fingerprints of which many are some bits from others."""
    centres = draw(st.lists(CENTRES, min_size=1, max_size=3))
    flips = st.sets(st.integers(0, 63), max_size=6).map(lambda bits: sum(1 << bit for bit in bits))
    near = st.tuples(st.sampled_from(centres), flips).map(lambda both: both[0] ^ both[1])
    return np.array(draw(st.lists(near | CENTRES, min_size=1, max_size=20)), np.uint64)


@pytest.mark.parametrize("radius", [1, 2, 3, 5, 10])
@given(stored=neighbours(), queries=neighbours())
def test_all_find_what_brute_force_finds(radius: int, stored: Fingerprints, queries: Fingerprints) -> None:
    queries = np.concatenate([stored[:2], queries[:2]])
    expected = [np.flatnonzero(np.bitwise_count(stored ^ query) <= radius).tolist() for query in queries]
    # Variants are too many to be tried at each example.
    cheap = [each for each in lookups(radius) if each.stored_keys * each.asked_keys <= 64 * 64]
    assert len(cheap) >= 3
    for each in cheap:
        measured = measure(each, stored, queries, radius)
        assert measured.found == expected[: measured.queries], each.name


def test_variants_find_it_too() -> None:
    stored, queries = random_sample(50, 3, 3)
    every = {each.name: measure(each, stored, queries, 3) for each in lookups(3)}
    expected = every["brute force"].found
    assert all(expected)
    assert {name: each.found[:1] for name, each in every.items()} == dict.fromkeys(every, expected[:1])
    assert every["variants of the query"].candidates == 0


def test_keys_and_candidates_are_those_of_the_paper() -> None:
    every = {each.name: each for each in lookups(3)}
    shown = {name: (each.tables, each.asked_keys, each.stored_keys) for name, each in every.items()}
    assert shown == {
        "brute force": (1, 1, 1),
        "one-bit lists": (64, 64, 64),
        "4 choose 1": (4, 4, 4),
        "5 choose 2": (10, 10, 10),
        "6 choose 3": (20, 20, 20),
        "4 choose 1 then 4 choose 1": (16, 16, 16),
        "variants of the query": (1, 43_745, 1),
        "variants in the store": (1, 1, 43_745),
    }
    at_2_34 = {name: round(each.share * 2**34) for name, each in every.items()}
    assert (at_2_34["brute force"], at_2_34["4 choose 1"]) == (2**34, 1_048_576)
    assert (at_2_34["4 choose 1 then 4 choose 1"], at_2_34["6 choose 3"]) == (1024, 88)


@pytest.mark.parametrize("name", ["one-bit lists", "4 choose 1"])
def test_candidates_of_random_fingerprints_are_as_many_as_expected(name: str) -> None:
    stored, queries = random_sample(20_000, 100, 3)
    [each] = [each for each in lookups(3) if each.name == name]
    assert measure(each, stored, queries, 3).candidates == pytest.approx(each.share * 20_000, rel=0.5)


def test_what_does_not_fit_is_refused_before_it_is_made() -> None:
    stored, queries = random_sample(10_000, 1, 3)
    *_, in_store = lookups(3)
    with pytest.raises(InputError, match="variants in the store: 437,450,000 keys; tried up to --n 1534"):
        measure(in_store, stored, queries, 3)
    *_, of_query, _ = lookups(6)
    with pytest.raises(InputError, match="variants of the query: 83,278,001 probes"):
        measure(of_query, stored, queries, 6)
