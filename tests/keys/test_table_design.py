from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import SettingsError
from dedup.keys import MAX_TABLES, TableDesign

NESTED = ("4 choose 1 then 4 choose 1", "3 choose 1 then 5 choose 4 then 2 choose 1")
DESIGNS = [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 3), (7, 5), (8, 1), (8, 2), (10, 9), (64, 1), (64, 63)]
FINGERPRINTS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("blocks", "chosen", "tables", "prefix_bits_at_least"),
    [(3, 1, 3, 21), (4, 1, 4, 16), (5, 2, 10, 25), (6, 3, 20, 31), (2, 1, 2, 32)],
)
def test_tables_and_prefix_bits_are_those_of_the_paper(
    blocks: int, chosen: int, tables: int, prefix_bits_at_least: int
) -> None:
    design = TableDesign(blocks, chosen)
    assert len(design.tables) == tables == comb(blocks, chosen)
    assert min(len(table.prefix) for table in design.tables) >= prefix_bits_at_least


@pytest.mark.parametrize("text", [*NESTED, *(str(TableDesign(*each)) for each in DESIGNS)])
def test_every_table_is_a_permutation_with_the_bits_of_its_prefix_at_the_top(text: str) -> None:
    design = TableDesign.parse(text)
    assert str(design) == text
    for table in design.tables:
        assert sorted(table.permute(1 << bit) for bit in range(64)) == [1 << bit for bit in range(64)]
        assert [table.permute(1 << bit) for bit in table.prefix] == [1 << 63 - i for i in range(len(table.prefix))]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@given(fingerprint=FINGERPRINTS)
def test_a_permuted_fingerprint_is_the_sum_of_its_permuted_bits(design: tuple[int, int], fingerprint: int) -> None:
    for table in TableDesign(*design).tables[:5]:
        bits = [bit for bit in range(64) if fingerprint >> bit & 1]
        assert table.permute(fingerprint) == sum(table.permute(1 << bit) for bit in bits)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_blocks_cover_all_bits_and_differ_by_one_bit_at_most(design: tuple[int, int]) -> None:
    blocks, chosen = design
    tables = TableDesign(*design).tables
    lengths = [len(table.prefix) for table in tables]
    widths = sorted(64 // blocks + (i < 64 % blocks) for i in range(blocks))
    assert min(lengths) == sum(widths[:chosen])
    assert max(lengths) == sum(widths[-chosen:])
    assert {bit for table in tables for bit in table.prefix} == set(range(64))
    assert len({table.prefix for table in tables}) == comb(blocks, chosen)


def test_space_around_the_words_is_allowed() -> None:
    assert TableDesign.parse("  6   choose\t3 ") == TableDesign(6, 3)


NO_FORM = ("", "4", "4c1", "four choose one", "4 choose", "choose 1", "-4 choose 1", "4.0 choose 1", "4 choose 1 or 2")
NO_DESIGN = ("0 choose 0", "4 choose 0", "4 choose 4", "4 choose 5", "65 choose 1", "1 choose 1")
REFUSED = {
    "expected 'N choose R'": (*NO_FORM, "4 choose 1 then", "9" * 5000 + " choose 1"),
    "choose at least 1": NO_DESIGN,
    f"more than {MAX_TABLES} tables": ("9 choose 4", "64 choose 32", "64 choose 2", "5 choose 2 then 5 choose 2"),
    "at most 32 blocks": ("2 choose 1 then 33 choose 1",),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_design_is_refused(message: str) -> None:
    for text in REFUSED[message]:
        with pytest.raises(SettingsError, match=message):
            TableDesign.parse(text)


def differing_blocks(blocks: int, distance: int) -> list[tuple[int, ...]]:
    """Return all ways to spread so many differing bits over so many blocks."""
    if blocks == 1:
        return [(distance,)]
    return [(first, *rest) for first in range(distance + 1) for rest in differing_blocks(blocks - 1, distance - first)]


def is_always_found(design: tuple[int, int], distance: int) -> bool:
    """Say whether some table's blocks are untouched, however so many differing bits are spread."""
    blocks, chosen = design
    choices = list(combinations(range(blocks), chosen))
    return all(
        any(not any(spread[block] for block in choice) for choice in choices)
        for spread in differing_blocks(blocks, distance)
    )


@pytest.mark.parametrize("design", [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 3), (7, 5), (8, 1)], ids=str)
def test_the_radius_is_the_largest_within_which_some_prefix_is_always_shared(design: tuple[int, int]) -> None:
    radius = TableDesign(*design).radius
    assert is_always_found(design, radius)
    assert not is_always_found(design, radius + 1)


def test_the_nested_design_of_the_paper_has_16_tables_of_28_bits() -> None:
    design = TableDesign.parse("4 choose 1 then 4 choose 1")
    assert design == TableDesign(4, 1, TableDesign(4, 1))
    assert str(design) == "4 choose 1 then 4 choose 1"
    assert len(design.tables) == design.table_count == 16
    assert {len(table.prefix) for table in design.tables} == {28}
    assert len({table.prefix for table in design.tables}) == 16


@given(st.sampled_from([(4, 1, 4, 1), (3, 1, 2, 1), (3, 2, 3, 1), (5, 1, 4, 1)]), st.data())
def test_within_the_radius_some_table_of_a_nested_design_shares_its_prefix(
    numbers: tuple[int, int, int, int], data: st.DataObject
) -> None:
    blocks, chosen, inner_blocks, inner_chosen = numbers
    design = TableDesign(blocks, chosen, TableDesign(inner_blocks, inner_chosen))
    differing = data.draw(st.sets(st.integers(0, 63), max_size=design.radius))
    assert any(not differing.intersection(table.prefix) for table in design.tables)
