from __future__ import annotations

import tracemalloc
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.signature import BITS, distance
from dedup.signature.sums import fingerprint_of, fold
from dedup.sql.schema import to_signed, to_unsigned

HASHES = st.integers(0, 2**64 - 1)
FEATURES = st.lists(st.tuples(HASHES, st.integers(1, 10**6)), max_size=40)


def folded(features: list[tuple[int, int]]) -> list[int]:
    return fold([value for value, _ in features], np.array([weight for _, weight in features], np.int64)).tolist()


def reference_sums(features: list[tuple[int, int]]) -> list[int]:
    return [sum(weight if value >> bit & 1 else -weight for value, weight in features) for bit in range(64)]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (851459198, 847263864, 4),
        (851459198, 984968088, 16),
        (847263864, 984968088, 12),
        (0b00101110, 0b00001111, 2),
        (0b100010110110, 0b110001110011, 5),
        (0b100010110110, 0b110010110111, 2),
        (0, 0, 0),
        (0, 2**64 - 1, 64),
        (2**63, 0, 1),
    ],
)
def test_distance_of_published_examples(a: int, b: int, expected: int) -> None:
    assert distance(a, b) == distance(b, a) == expected


def test_the_balls_of_radius_1_2_and_3_hold_65_2081_and_43745_fingerprints() -> None:
    centre = 0x9E3779B97F4A7C15
    found = [0] * 4
    for flipped in range(4):
        for bits in combinations(range(BITS), flipped):
            found[distance(centre, centre ^ sum(1 << bit for bit in bits))] += 1
    assert found[3] == 41664
    assert [sum(found[: radius + 1]) for radius in (1, 2, 3)] == [65, 2081, 43745]
    assert [sum(comb(BITS, i) for i in range(radius + 1)) for radius in (4, 5, 6)] == [679121, 8303633, 83278001]


@pytest.mark.parametrize(
    ("features", "sums", "fingerprint"),
    [
        pytest.param(
            [("100101", 5), ("101011", 2), ("100111", 3), ("101111", 1), ("111011", 4)],
            [15, -7, -1, 3, 5, 15],
            "100111",
            id="six bits",
        ),
        pytest.param(
            [("01011001", 4511), ("11001011", 3209)],
            [-1302, 7720, -7720, 1302, 7720, -7720, -1302, 7720],
            "01011001",
            id="eight bits, weights times 100",
        ),
        pytest.param([("10", 3), ("01", 2), ("11", 4)], [5, 3], "11", id="random projection"),
    ],
)
def test_folding_of_published_examples(features: list[tuple[str, int]], sums: list[int], fingerprint: str) -> None:
    width = len(sums)
    found = folded([(int(bits, 2), weight) for bits, weight in features])
    assert found[:width] == sums[::-1]
    assert found[width:] == [-sum(weight for _, weight in features)] * (BITS - width)
    assert fingerprint_of(np.array(found)) == int(fingerprint, 2)


def test_fingerprint_of_yanyiwu_simhash() -> None:
    keywords = [
        (4456126642618087437, 117392),
        (15527884971851335464, 117392),
        (12795442418582434293, 108562),
        (17469274401231235653, 106426),
        (5143693181545528385, 100089),
    ]
    assert fingerprint_of(np.array(folded(keywords))) == 17831459094038722629


@given(FEATURES)
def test_fold_equals_a_plain_reference(features: list[tuple[int, int]]) -> None:
    assert folded(features) == reference_sums(features)


@given(FEATURES)
def test_fingerprint_bits_are_the_signs_of_the_sums(features: list[tuple[int, int]]) -> None:
    sums = reference_sums(features)
    assert fingerprint_of(np.array(sums, np.int64)) == sum(1 << bit for bit in range(64) if sums[bit] > 0)


@given(FEATURES.flatmap(lambda features: st.tuples(st.just(features), st.permutations(features))))
def test_the_order_of_the_features_does_not_matter(orders: tuple[list[tuple[int, int]], list[tuple[int, int]]]) -> None:
    assert folded(orders[0]) == folded(orders[1])


@given(FEATURES, st.integers(2, 1000))
def test_a_weight_counts_as_so_many_equal_features(features: list[tuple[int, int]], times: int) -> None:
    features = features[:3]
    assert folded([(value, times) for value, _ in features]) == folded([(value, 1) for value, _ in features] * times)


@given(HASHES)
def test_the_fingerprint_of_one_feature_is_its_hash(value: int) -> None:
    assert fingerprint_of(np.array(folded([(value, 7)]))) == value


def test_no_features_give_sums_of_zero_and_fingerprint_zero() -> None:
    assert folded([]) == [0] * 64
    assert fingerprint_of(np.zeros(64, np.int64)) == 0


@given(HASHES)
def test_a_tie_gives_zero(value: int) -> None:
    features = [(value, 3), (value ^ (2**64 - 1), 3)]
    assert folded(features) == [0] * 64
    assert fingerprint_of(np.array(folded(features))) == 0


def test_sums_of_large_weights_are_exact() -> None:
    features = [(1, 2**51), (2, 2**51 - 1), (3, 1)]
    assert folded(features) == reference_sums(features)


@given(HASHES)
def test_signed_and_unsigned_have_the_same_bits(value: int) -> None:
    signed = to_signed(value)
    assert -(2**63) <= signed < 2**63
    assert signed & (2**64 - 1) == value
    assert to_unsigned(signed) == value


@pytest.mark.parametrize(
    ("unsigned", "signed"),
    [(0, 0), (1, 1), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)],
)
def test_signed_edges(unsigned: int, signed: int) -> None:
    assert to_signed(unsigned) == signed
    assert to_unsigned(signed) == unsigned


def test_folding_many_features_takes_little_memory() -> None:
    # A page of 10 MB can have a million different tokens; the worker that folds them has others beside it.
    count = 200_000
    hashes = (np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).tolist()
    weights = np.ones(count, np.int64)
    tracemalloc.start()
    fold(hashes, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * count


def test_folding_many_features_equals_adding_up_parts() -> None:
    random = np.random.default_rng(3)
    hashes, weights = random.integers(0, 2**64, 50_000, np.uint64).tolist(), random.integers(1, 100, 50_000)
    parts = [fold(hashes[i : i + 777], weights[i : i + 777]) for i in range(0, len(hashes), 777)]
    assert fold(hashes, weights).tolist() == sum(parts).tolist()
