from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import SettingsError
from dedup.index.design import MAX_TABLES, TableDesign
from dedup.index.probes import MAX_PROBES, ProbePlan

DESIGNS = [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 3), (7, 5), (8, 1), (8, 2), (10, 9), (64, 1), (64, 63)]
FINGERPRINTS = st.integers(0, 2**64 - 1)


class Probe(NamedTuple):
    table: int
    low: int
    high: int
    permuted: int


def probes_of(plan: ProbePlan, fingerprint: int, margins: Sequence[int] = range(64)) -> list[Probe]:
    columns = plan.probes(fingerprint, np.array(margins))
    return [Probe(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def probe_count(design: TableDesign, exact_radius: int, weak_bits: int = 0) -> int:
    plan = ProbePlan(design, radius=12, exact_radius=exact_radius, weak_bits=weak_bits)
    return len(probes_of(plan, 0x0123456789ABCDEF))


@pytest.mark.parametrize(
    ("blocks", "chosen", "tables", "prefix_bits_at_least"),
    [(3, 1, 3, 21), (4, 1, 4, 16), (5, 2, 10, 25), (6, 3, 20, 31), (2, 1, 2, 32)],
)
def test_tables_and_prefix_bits_are_those_of_the_paper(
    blocks: int, chosen: int, tables: int, prefix_bits_at_least: int
) -> None:
    design = TableDesign(blocks, chosen)
    assert len(design.tables) == tables == comb(blocks, chosen)
    assert [table.number for table in design.tables] == list(range(tables))
    assert min(len(table.prefix) for table in design.tables) >= prefix_bits_at_least


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_every_table_is_a_permutation_of_the_bits(design: tuple[int, int]) -> None:
    for table in TableDesign(*design).tables:
        images = [table.permute(1 << bit) for bit in range(64)]
        assert sorted(images) == [1 << bit for bit in range(64)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@given(fingerprint=FINGERPRINTS)
def test_a_permuted_fingerprint_is_the_sum_of_its_permuted_bits(design: tuple[int, int], fingerprint: int) -> None:
    for table in TableDesign(*design).tables[:5]:
        bits = [bit for bit in range(64) if fingerprint >> bit & 1]
        assert table.permute(fingerprint) == sum(table.permute(1 << bit) for bit in bits)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_prefix_names_the_bits_at_the_top_the_topmost_first(design: tuple[int, int]) -> None:
    for table in TableDesign(*design).tables:
        assert [table.permute(1 << bit) for bit in table.prefix] == [1 << 63 - i for i in range(len(table.prefix))]


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


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_a_design_is_read_as_it_is_written(design: tuple[int, int]) -> None:
    assert TableDesign.parse(str(TableDesign(*design))) == TableDesign(*design)


def test_space_around_the_words_is_allowed() -> None:
    assert TableDesign.parse("  6   choose\t3 ") == TableDesign(6, 3)


@pytest.mark.parametrize(
    "text",
    ["", "4", "4c1", "four choose one", "4 choose", "choose 1", "-4 choose 1", "4.0 choose 1", "4 choose 1 or 2"],
)
def test_a_text_of_another_form_is_refused_with_the_form_expected(text: str) -> None:
    with pytest.raises(SettingsError, match="expected 'N choose R'"):
        TableDesign.parse(text)


@pytest.mark.parametrize("text", ["0 choose 0", "4 choose 0", "4 choose 4", "4 choose 5", "65 choose 1", "1 choose 1"])
def test_numbers_that_make_no_design_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="choose at least 1"):
        TableDesign.parse(text)


@pytest.mark.parametrize("text", ["9 choose 4", "64 choose 32", "64 choose 2"])
def test_a_design_of_too_many_tables_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=f"more than {MAX_TABLES} tables"):
        TableDesign.parse(text)


def test_a_number_of_thousands_of_digits_is_refused_like_any_other() -> None:
    with pytest.raises(SettingsError):
        TableDesign.parse("9" * 5000 + " choose 1")


@pytest.mark.parametrize(
    ("design", "exact_radius", "probes"),
    [
        ((4, 1), 6, 52),
        ((4, 1), 8, 188),
        ((3, 1), 3, 24),
        ((4, 1), 3, 4),
        ((2, 1), 3, 66),
        ((3, 1), 0, 1),
        ((64, 1), 3, 4),
    ],
)
def test_probes_of_one_block_a_table(design: tuple[int, int], exact_radius: int, probes: int) -> None:
    assert probe_count(TableDesign(*design), exact_radius) == probes


@pytest.mark.parametrize("design", [(4, 1), (5, 2), (6, 3), (7, 4), (8, 6)], ids=str)
def test_a_design_of_the_paper_takes_one_probe_a_table(design: tuple[int, int]) -> None:
    # n - r differing bits leave r of the n blocks untouched, whichever they are.
    blocks, chosen = design
    assert probe_count(TableDesign(*design), exact_radius=blocks - chosen) <= comb(blocks, chosen)


def test_seven_choose_five_can_be_used_with_radius_3() -> None:
    ProbePlan(TableDesign(7, 5), radius=3, exact_radius=3, weak_bits=0)


def differing_blocks(blocks: int, radius: int) -> list[tuple[int, ...]]:
    """Return all ways to spread so many differing bits over so many blocks."""
    if blocks == 1:
        return [(radius,)]
    return [(first, *rest) for first in range(radius + 1) for rest in differing_blocks(blocks - 1, radius - first)]


@pytest.mark.parametrize("design", [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 3), (7, 5), (8, 1)], ids=str)
@pytest.mark.parametrize("radius", range(9))
def test_however_the_differing_bits_are_spread_some_table_needs_no_more_flips(
    design: tuple[int, int], radius: int
) -> None:
    blocks, chosen = design
    flips = TableDesign(*design).flips_needed(radius)
    choices = list(combinations(range(blocks), chosen))
    for spread in differing_blocks(blocks, radius):
        assert any(sum(spread[i] for i in choice) <= flip for choice, flip in zip(choices, flips, strict=True))


@pytest.mark.parametrize("design", [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 3), (7, 5), (8, 1)], ids=str)
@pytest.mark.parametrize("radius", range(7))
def test_with_one_flip_less_in_every_table_something_is_missed(design: tuple[int, int], radius: int) -> None:
    blocks, chosen = design
    fewer = [flip - 1 for flip in TableDesign(*design).flips_needed(radius)]
    choices = list(combinations(range(blocks), chosen))
    assert any(
        all(sum(spread[i] for i in choice) > flip for choice, flip in zip(choices, fewer, strict=True))
        for spread in differing_blocks(blocks, radius)
    )


@pytest.mark.parametrize(("weak_bits", "probes"), [(0, 4), (3, 32), (4, 64)])
def test_weak_bits_are_flipped_in_all_ways(weak_bits: int, probes: int) -> None:
    assert probe_count(TableDesign(4, 1), exact_radius=3, weak_bits=weak_bits) == probes


def test_of_the_flips_of_weak_bits_the_likeliest_are_tried() -> None:
    margins = [100 + bit for bit in range(64)]
    margins[60], margins[50], margins[52] = 1, 2, 4
    plan = ProbePlan(TableDesign(4, 1), radius=12, exact_radius=3, weak_bits=8, max_flips=6)
    flipped = [probe.low for probe in probes_of(plan, 0, margins) if probe.table == 0]
    # Sums of margins 0, 1, 2, 3, 4, 5, 6; 7 would be the next.
    bits = [(), (60,), (50,), (60, 50), (52,), (60, 52), (50, 52)]
    assert flipped == [sum(1 << bit for bit in each) for each in bits]


@given(
    margins=st.lists(st.integers(0, 6), min_size=64, max_size=64),
    weak_bits=st.integers(0, 7),
    max_flips=st.integers(0, 140),
    exact_radius=st.sampled_from([0, 3, 5]),
)
def test_the_likeliest_flips_are_those_of_all_flips_in_order(
    margins: list[int], weak_bits: int, max_flips: int, exact_radius: int
) -> None:
    design = TableDesign(4, 1)
    plan = ProbePlan(design, 12, exact_radius, weak_bits, max_flips)
    flips = design.flips_needed(exact_radius)
    for table, flip in zip(design.tables, flips, strict=True):
        weakest = sorted(table.prefix, key=lambda bit: margins[bit])[:weak_bits]
        every = [[bit for i, bit in enumerate(weakest) if n >> i & 1] for n in range(2 ** len(weakest))]
        others = [bits for bits in every if len(bits) > flip] if weak_bits else []
        expected = sorted(others, key=lambda bits: sum(margins[bit] for bit in bits))[:max_flips]
        lows = [probe.low for probe in probes_of(plan, 0, margins) if probe.table == table.number]
        exact = sum(comb(16, count) for count in range(flip + 1))
        assert lows[exact:] == [table.permute(sum(1 << bit for bit in bits)) for bits in expected]


@pytest.mark.parametrize("margins", [[0] * 64, [5] * 64, [10**12] * 64, list(range(64))])
def test_without_a_bound_no_bit_is_firm(margins: list[int]) -> None:
    plan = ProbePlan(TableDesign(3, 1), weak_bits=5)
    assert not plan.firm_bits(np.array(margins)).any()


@pytest.mark.parametrize("design", ["3 choose 1", "4 choose 1", "5 choose 2", "4 choose 1 then 4 choose 1"])
def test_firm_bits_are_those_below_the_prefix_with_margins_above_the_bound(design: str) -> None:
    margins = [1] * 64
    margins[5], margins[20], margins[60] = 100, 17, 60  # the root of the sum is 15.4
    plan = ProbePlan(TableDesign.parse(design), 12, 0, weak_bits=2, firm_margin=2)
    probes = probes_of(plan, 0, margins)
    firm_bits = plan.firm_bits(np.array(margins)).tolist()
    assert len(firm_bits) == len(probes)
    flips = plan.design.flips_needed(0)
    for probe, firm in zip(probes, firm_bits, strict=True):
        table = plan.design.tables[probe.table]
        below = sum(table.permute(1 << bit) for bit in (5, 60) if bit not in table.prefix)
        assert firm == (0 if probe.low.bit_count() <= flips[probe.table] else below)


@pytest.mark.parametrize("bound", [-1, -0.001, float("nan")])
def test_a_bound_that_is_no_bound_is_refused(bound: float) -> None:
    with pytest.raises(SettingsError, match="expected at least 0"):
        ProbePlan(TableDesign(3, 1), firm_margin=bound)


def test_probes_that_both_rules_ask_for_are_made_once() -> None:
    # 3 x 2^5 weak ones; the exact rule adds the 21 - 5 single flips of the last table that are not weak.
    plan = ProbePlan(TableDesign(3, 1), radius=12, exact_radius=3, weak_bits=5)
    probes = probes_of(plan, 12345)
    assert len(probes) == len(set(probes)) == 96 + 16


@given(fingerprint=FINGERPRINTS, margins=st.permutations(range(64)))
def test_a_probe_is_a_whole_bucket_of_its_table(fingerprint: int, margins: list[int]) -> None:
    plan = ProbePlan(TableDesign(3, 1), radius=12, exact_radius=3, weak_bits=2)
    for probe in probes_of(plan, fingerprint, margins):
        table = plan.design.tables[probe.table]
        free = 64 - len(table.prefix)
        assert probe.low >> free == probe.high >> free
        assert probe.low % (1 << free) == 0
        assert probe.high - probe.low == (1 << free) - 1
        assert probe.permuted == table.permute(fingerprint)


def test_the_weakest_bits_are_those_with_the_smallest_margins() -> None:
    margins = [100] * 64
    margins[63], margins[40], margins[3] = (
        1,
        2,
        3,
    )  # in the prefixes of the first, the second and the last of three tables
    plan = ProbePlan(TableDesign(3, 1), radius=12, exact_radius=0, weak_bits=1)
    flipped = {(probe.table, probe.low) for probe in probes_of(plan, 0, margins)}
    expected = {
        (number, bit and table.permute(1 << bit))
        for (number, table), bit in zip(enumerate(plan.design.tables), (63, 40, 3), strict=True)
    }
    assert flipped == expected | {(0, 0), (1, 0), (2, 0)}


def test_a_plan_of_too_many_probes_is_refused_with_the_way_out() -> None:
    with pytest.raises(SettingsError, match=rf"more than {MAX_PROBES:,}: take fewer flips, weak bits or tables"):
        ProbePlan(TableDesign(2, 1), radius=12, exact_radius=8)


@pytest.mark.parametrize("design", [(3, 1), (4, 1), (5, 2), (6, 3)], ids=str)
def test_a_plan_is_refused_only_if_it_takes_too_many_probes(design: tuple[int, int]) -> None:
    assert probe_count(TableDesign(*design), exact_radius=3, weak_bits=5) <= MAX_PROBES


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
