from __future__ import annotations

from math import acos, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.published.vectors import dimension_hashes, hyperplanes, vector_fingerprint, vector_sums
from dedup.signature.simhash import fingerprint_of

VECTORS = st.lists(st.floats(-1e6, 1e6), max_size=30).map(lambda numbers: np.array(numbers, np.float64))
WIDTHS = st.sampled_from([("mmh3", 32), ("xxh3", 64), ("mmh3", 128), ("sha1", 160)])


def test_the_published_example() -> None:
    hashes = [0b10, 0b01, 0b11]
    sums = vector_sums(np.array([3.0, 2.0, 4.0]), hashes, 2)
    assert sums[::-1].tolist() == [5.0, 3.0]
    assert hyperplanes(hashes, 2)[::-1].tolist() == [[1, -1, 1], [-1, 1, 1]]
    assert fingerprint_of(sums) == 0b11


def test_the_published_example_of_real_weights() -> None:
    sums = vector_sums(np.array([45.11, 32.09]), [0b01011001, 0b11001011], 8)
    assert sums[::-1] == pytest.approx([-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20])
    assert fingerprint_of(sums) == 0b01011001


@given(VECTORS, WIDTHS)
def test_sums_are_dot_products_with_random_hyperplanes(vector: np.ndarray, width: tuple[str, int]) -> None:
    name, bits = width
    hashes = dimension_hashes(len(vector), name, bits)
    planes = hyperplanes(hashes, bits)
    assert planes.shape == (bits, len(vector))
    assert vector_sums(vector, hashes, bits) == pytest.approx(planes @ vector, abs=1e-9 * (1 + np.abs(vector).sum()))


@given(st.lists(st.integers(-1000, 1000), max_size=30), WIDTHS, st.integers(0, 1))
def test_the_fingerprint_is_the_signs_of_the_dot_products(numbers: list[int], width: tuple[str, int], tie: int) -> None:
    name, bits = width
    products = hyperplanes(dimension_hashes(len(numbers), name, bits), bits) @ np.array(numbers, np.float64)
    expected = sum(1 << bit for bit in range(bits) if products[bit] > 0 or (products[bit] == 0 and tie))
    assert vector_fingerprint(np.array(numbers, np.float64), name, bits, tie) == expected


def test_the_share_of_bits_that_differ_is_the_angle_by_pi() -> None:
    random = np.random.default_rng(7)
    differing = expected = 0.0
    for _ in range(40):
        a = random.standard_normal(500)
        b = a + random.uniform(0.1, 3) * random.standard_normal(500)
        differing += (vector_fingerprint(a, bits=128) ^ vector_fingerprint(b, bits=128)).bit_count() / 128
        expected += acos(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) / pi
    assert differing / 40 == pytest.approx(expected / 40, abs=0.02)


def test_a_vector_needs_a_hash_for_each_dimension() -> None:
    with pytest.raises(ValueError, match="a vector of 3 dimensions needs as many hashes, not 2"):
        vector_sums(np.zeros(3), [1, 2])
