"""Keys: what two documents share, and who is looked at of those that share something."""

from __future__ import annotations

from math import comb
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, RARITIES, Keys, TableDesign, choose
from dedup.signature.signature import BANDS

DESIGN = TableDesign(5, 2)
KEYS = Keys(DESIGN)
FINGERPRINTS = st.integers(0, 2**64 - 1)
NO_BANDS = np.zeros((2, BANDS), np.uint64)


def shared(keys: Keys, a: int, b: int) -> list[int]:
    ours, theirs = keys.of(np.array([a, b], np.uint64), NO_BANDS)
    return [number for number in range(keys.tables) if ours[number] == theirs[number]]


def test_a_document_has_a_key_in_each_table_and_one_for_each_band() -> None:
    assert (KEYS.tables, KEYS.count) == (comb(5, 2), comb(5, 2) + BANDS) == (10, 34)
    assert (Keys(DESIGN, with_bands=False).tables, Keys(DESIGN, with_bands=False).count) == (10, 10)


@given(st.lists(FINGERPRINTS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_keys_are_the_prefixes_of_permuted_fingerprints_and_then_the_bands(
    fingerprints: list[int], random: Random
) -> None:
    bands = np.array([[random.getrandbits(64) for _ in range(BANDS)] for _ in fingerprints], np.uint64)
    for keys in (KEYS, Keys(DESIGN, with_bands=False)):
        found = keys.of(np.array(fingerprints, np.uint64), bands)
        assert found.shape == (len(fingerprints), keys.count)
        for row, fingerprint, own in zip(found.tolist(), fingerprints, bands.tolist(), strict=True):
            prefixes = [table.permute(fingerprint) >> 64 - len(table.prefix) for table in DESIGN.tables]
            assert row == [*prefixes, *own][: keys.count]


@pytest.mark.parametrize("text", ["5 choose 2", "4 choose 1", "6 choose 3", "7 choose 4", "8 choose 2"])
@given(fingerprint=FINGERPRINTS, data=st.data())
def test_whoever_is_within_the_radius_shares_a_prefix(text: str, fingerprint: int, data: st.DataObject) -> None:
    design = TableDesign.parse(text)
    assert design.radius >= RADIUS
    flipped = data.draw(st.sets(st.integers(0, 63), max_size=design.radius))
    assert shared(Keys(design, with_bands=False), fingerprint, fingerprint ^ sum(1 << bit for bit in flipped))


@given(FINGERPRINTS, st.sets(st.integers(0, 63), max_size=8))
def test_a_table_is_shared_where_no_bit_of_its_prefix_differs(fingerprint: int, flipped: set[int]) -> None:
    expected = [number for number, table in enumerate(DESIGN.tables) if not flipped.intersection(table.prefix)]
    assert shared(KEYS, fingerprint, fingerprint ^ sum(1 << bit for bit in flipped)) == expected


def test_rarity_is_a_share_of_the_documents_of_a_key_and_little_of_a_cut_one() -> None:
    assert len(RARITIES) == MOST_READ + 1
    assert all(RARITIES[count] * count == RARITIES[1] for count in range(1, MOST_READ))
    # All keys together that are cut say less than one that is not.
    assert RARITIES[MOST_READ] * KEYS.count < RARITIES[MOST_READ - 1]


def test_those_that_share_the_rarest_keys_come_first_and_of_equals_the_earliest() -> None:
    crowd = list(range(MOST_READ))
    found = [(0, crowd), (1, crowd), (12, [3, 40]), (13, [40]), (14, [3]), (15, [50])]
    assert [document for document, _ in choose(found, KEYS)] == [3, 40, 50, *(each for each in crowd if each != 3)]


def test_it_is_said_who_shares_a_band() -> None:
    assert choose([(9, [1, 2]), (10, [2, 3])], KEYS) == [(2, True), (1, False), (3, True)]
    assert choose([], KEYS) == []


@given(st.lists(st.lists(st.integers(0, 300), unique=True, min_size=1, max_size=MOST_READ).map(sorted), max_size=34))
def test_the_order_in_which_keys_are_given_makes_no_difference(documents: list[list[int]]) -> None:
    found = list(enumerate(documents))
    chosen = choose(found, KEYS)
    assert choose(found[::-1], KEYS) == chosen
    assert len(chosen) == min(MOST_RANKED, len({each for own in documents for each in own}))


def test_in_the_papers_mode_all_are_looked_at() -> None:
    everybody = list(range(1000))
    assert choose([(0, everybody)], Keys(DESIGN, with_bands=False)) == [(each, False) for each in everybody]
    assert len(choose([(0, everybody[:16])] * 10 + [(20, list(range(100, 200)))], KEYS)) == MOST_RANKED
