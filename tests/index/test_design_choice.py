from __future__ import annotations

from math import comb, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import SettingsError
from dedup.index.choice import CANDIDATES_A_PROBE, choose_design, least_tables
from dedup.index.design import MAX_TABLES, TableDesign
from dedup.index.probes import ProbePlan


@pytest.mark.parametrize(
    ("spare", "tables", "levels"),
    [(3, 20, ((6, 3),)), (6, 16, ((4, 1), (4, 1))), (9, 10, ((5, 2),)), (18, 4, ((4, 1),)), (34, 1, ())],
)
def test_the_recursion_gives_the_tables_of_the_paper(
    spare: int, tables: int, levels: tuple[tuple[int, int], ...]
) -> None:
    assert least_tables(3, 34, spare) == (tables, levels)


def recursion(bits: float, distance: int, size: float, spare: float) -> float:
    """X(f, k, d), as the paper writes it, for distances of which few block counts matter."""
    if size <= spare:
        return 1
    return min(
        (
            comb(blocks, distance)
            * recursion(bits * distance / blocks, distance, size - (blocks - distance) * bits / blocks, spare)
            for blocks in range(distance + 1, min(int(bits), distance + 5) + 1)
        ),
        default=float("inf"),
    )


@given(st.integers(1, 4), st.integers(10, 30), st.integers(3, 12))
def test_the_least_number_of_tables_is_that_of_the_recursion(distance: int, size: int, spare: int) -> None:
    least = least_tables(distance, size, spare, limit=MAX_TABLES)
    expected = recursion(64, distance, size, spare)
    if expected <= MAX_TABLES:
        assert least is not None
        assert least[0] <= expected  # the recursion above tries fewer block counts
    if least is not None:
        assert least[0] <= MAX_TABLES


@pytest.mark.parametrize("n", [10**5, 10**6])
def test_four_tables_of_16_bits_are_chosen_with_the_expected_candidates(n: int) -> None:
    choice = choose_design(n, 3)
    assert (choice.design, choice.tables, choice.prefix_bits) == (TableDesign(4, 1), 4, 16)
    assert choice.expected_candidates == pytest.approx({10**5: 6.1, 10**6: 61.0}[n], abs=0.05)


@pytest.mark.parametrize(
    ("n", "expected"), [(10**5, 6.1), (10**6, 61.0), (10**7, 610.4), (10**8, 6103.5), (10**9, 61035.2)]
)
def test_expected_candidates_of_four_tables(n: int, expected: float) -> None:
    choice = choose_design(n, 3, candidates=n // 2**16 + 1)
    assert choice.design == TableDesign(4, 1)
    assert choice.expected_candidates == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("candidates", "tables", "bits"), [(8, 20, 31), (64, 16, 28), (512, 10, 25), (2**18, 4, 16)])
def test_designs_of_the_paper_for_its_eight_billion_pages(candidates: int, tables: int, bits: int) -> None:
    choice = choose_design(2**34, 3, candidates)
    assert choice.design is not None
    assert choice.tables == len(choice.design.tables) == tables
    assert choice.prefix_bits == bits
    assert f"{tables} tables of at least {bits} bits ({choice.design})" in choice.reason


def test_the_reason_names_what_fewer_tables_would_bring() -> None:
    assert choose_design(2**34, 3, 64).reason.endswith("with fewer, 10 (5 choose 2), a probe would bring 512")
    assert choose_design(10**6, 3).reason.endswith("with fewer, every fingerprint would be compared")


@given(st.integers(1, 2**36), st.integers(1, 9), st.integers(1, 10**6))
def test_a_chosen_design_finds_all_within_the_distance_by_one_probe_a_table(
    n: int, distance: int, candidates: int
) -> None:
    try:
        choice = choose_design(n, distance, candidates)
    except SettingsError:
        return
    if choice.design is None:
        assert n <= candidates
        return
    assert max(choice.design.flips_needed(distance)) == 0
    ProbePlan(choice.design, distance, distance, weak_bits=0)
    # Blocks of whole bits are shorter than the recursion's by less than one bit a chosen block.
    assert log2(n) - log2(candidates) < choice.prefix_bits + 16


def test_few_fingerprints_are_all_compared() -> None:
    choice = choose_design(CANDIDATES_A_PROBE, 3)
    assert (choice.design, choice.tables, choice.prefix_bits) == (None, 1, 0)
    assert choice.expected_candidates == CANDIDATES_A_PROBE
    assert "compare them all" in choice.reason


@pytest.mark.parametrize(
    ("n", "distance", "candidates", "message"),
    [
        (0, 3, 1, "must be >= 1"),
        (10, 3, 0, "must be >= 1"),
        (10, 0, 1, "distance 0: give 1 to 63 bits"),
        (10, 64, 1, "distance 64: give 1 to 63 bits"),
        (10**8, 12, 100, "no design of at most 64 tables .* compare all"),
    ],
)
def test_what_cannot_be_chosen_is_refused(n: int, distance: int, candidates: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        choose_design(n, distance, candidates)


def test_the_nested_design_of_the_paper_has_16_tables_of_28_bits() -> None:
    design = TableDesign.parse("4 choose 1 then 4 choose 1")
    assert design == TableDesign(4, 1, TableDesign(4, 1))
    assert str(design) == "4 choose 1 then 4 choose 1"
    assert len(design.tables) == design.table_count == 16
    assert {len(table.prefix) for table in design.tables} == {28}
    assert len({table.prefix for table in design.tables}) == 16


@pytest.mark.parametrize("text", ["4 choose 1 then 4 choose 1", "3 choose 1 then 5 choose 4 then 2 choose 1"])
def test_tables_of_a_nested_design_are_permutations_with_their_prefix_at_the_top(text: str) -> None:
    for number, table in enumerate(TableDesign.parse(text).tables):
        assert table.number == number
        assert sorted(table.permute(1 << bit) for bit in range(64)) == [1 << bit for bit in range(64)]
        assert [table.permute(1 << bit) for bit in table.prefix] == [1 << 63 - i for i in range(len(table.prefix))]


@given(st.sets(st.integers(0, 63), max_size=9), st.sampled_from([(4, 1, 4, 1), (3, 1, 2, 1), (3, 2, 3, 1)]))
def test_some_table_of_a_nested_design_needs_no_more_flips_than_are_said(
    differing: set[int], numbers: tuple[int, int, int, int]
) -> None:
    blocks, chosen, inner_blocks, inner_chosen = numbers
    design = TableDesign(blocks, chosen, TableDesign(inner_blocks, inner_chosen))
    flips = design.flips_needed(len(differing))
    assert any(
        len(differing.intersection(table.prefix)) <= flip for table, flip in zip(design.tables, flips, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4 choose 1 then", "expected 'N choose R'"),
        ("5 choose 2 then 5 choose 2", "more than 64 tables"),
        ("2 choose 1 then 33 choose 1", "at most 32 blocks"),
    ],
)
def test_a_nested_design_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TableDesign.parse(text)
