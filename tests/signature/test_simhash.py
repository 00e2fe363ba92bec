from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.signature import BITS, distance
from dedup.sql.schema import to_signed, to_unsigned

HASHES = st.integers(0, 2**64 - 1)


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
