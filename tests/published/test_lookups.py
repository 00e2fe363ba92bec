"""The law of all look-ups: each finds what brute force finds, within what it says of itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.index.design import TableDesign
from dedup.index.probes import ProbePlan
from dedup.published.lookups.measure import make_sample
from dedup.published.lookups.protocol import Lookup
from dedup.published.lookups.scans import BitLists, BruteForce
from dedup.published.lookups.tables import InvertedBlocks, PermutedTables
from dedup.published.lookups.variants import QueryVariants, StoredVariants, ball_size
from tests.commands import run_dedup
from tests.waiting import HANG

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, ALL - 1, ALL]
DESIGNS = ["2 choose 1", "3 choose 1", "4 choose 1", "5 choose 2", "4 choose 1 then 4 choose 1", "6 choose 3"]

EXACT: dict[str, Callable[[NDArray[np.uint64], int], Lookup]] = {
    "brute force": BruteForce,
    "bit lists": BitLists,
    "inverted blocks": lambda stored, radius: InvertedBlocks(stored, radius, radius),
    "query variants": QueryVariants,
    "stored variants": StoredVariants,
    **{
        design: lambda stored, radius, design=design: PermutedTables(
            stored, ProbePlan(TableDesign.parse(design), radius, radius, weak_bits=0)
        )
        for design in DESIGNS
    },
}


def fingerprints(values: list[int]) -> NDArray[np.uint64]:
    return np.array(values, np.uint64)


def finds(lookup: Lookup, queries: list[int], margins: NDArray[np.int64] | None = None) -> list[tuple[int, int]]:
    if margins is None:
        margins = np.zeros((len(queries), 64), np.int64)
    found = lookup.query(fingerprints(queries), margins)
    return list(zip(found.queries.tolist(), found.positions.tolist(), strict=True))


def brute(stored: list[int], queries: list[int], radius: int) -> list[tuple[int, int]]:
    return [
        (number, position)
        for number, query in enumerate(queries)
        for position, each in enumerate(stored)
        if (query ^ each).bit_count() <= radius
    ]


def near(random: Random, fingerprint: int, most: int) -> int:
    for bit in random.sample(range(64), random.randint(0, most)):
        fingerprint ^= 1 << bit
    return fingerprint


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], Random]:
    """Queries, and fingerprints about them: at the edge of being found, equal ones, complements, strangers."""
    random = Random(draw(st.integers(0, 10**9)))
    queries = draw(st.lists(st.integers(0, ALL) | st.sampled_from(EDGES), max_size=3))
    near_ones = [near(random, query, 14) for query in queries for _ in range(draw(st.integers(0, 40)))]
    few = [near(random, query, 4) for query in queries for _ in range(draw(st.integers(0, 20)))]
    stored = near_ones + few + few[:3] + [query ^ ALL for query in queries] + [random.getrandbits(64) for _ in EDGES]
    random.shuffle(stored)
    return (EDGES if draw(st.booleans()) else []) + stored, queries, random


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("radius", [0, 1, 2, 3])
@settings(max_examples=20)
@given(case=cases())
@pytest.mark.slow
def test_an_exact_look_up_equals_brute_force(name: str, radius: int, case: tuple[list[int], list[int], Random]) -> None:
    stored, queries, _ = case
    lookup = EXACT[name](fingerprints(stored[: 200 if name == "stored variants" else None]), radius)
    assert (lookup.radius, lookup.exact_radius) == (radius, radius)
    assert finds(lookup, queries) == brute(stored[: 200 if name == "stored variants" else None], queries, radius)


@pytest.mark.parametrize("name", ["brute force", "bit lists", "inverted blocks", "3 choose 1", "4 choose 1"])
@pytest.mark.parametrize("radius", [4, 7, 8])
@settings(max_examples=15)
@given(case=cases())
def test_so_it_does_at_larger_distances(name: str, radius: int, case: tuple[list[int], list[int], Random]) -> None:
    stored, queries, _ = case
    assert finds(EXACT[name](fingerprints(stored), radius), queries) == brute(stored, queries, radius)


@pytest.mark.parametrize("radius", [12, 31, 63, 64])
def test_scans_find_at_any_distance(radius: int) -> None:
    random = Random(radius)
    stored = [random.getrandbits(64) for _ in range(300)] + EDGES
    queries = [*EDGES, stored[5]]
    for lookup in (BruteForce(fingerprints(stored), radius), BitLists(fingerprints(stored), radius)):
        assert finds(lookup, queries) == brute(stored, queries, radius)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("weak_bits", [0, 4])
@settings(max_examples=20)
@given(case=cases())
def test_permuted_tables_find_what_stands_in_the_ranges_of_their_probes(
    design: str, weak_bits: int, case: tuple[list[int], list[int], Random]
) -> None:
    stored, queries, random = case
    plan = ProbePlan(TableDesign.parse(design), radius=12, exact_radius=3, weak_bits=weak_bits)
    margins = np.array([random.sample(range(1000), 64) for _ in queries], np.int64).reshape(-1, 64)
    found = finds(PermutedTables(fingerprints(stored), plan), queries, margins)
    promised = []
    for number, query in enumerate(queries):
        probes = plan.probes(query, margins[number])
        ranges = list(zip(probes.tables.tolist(), probes.lows.tolist(), probes.highs.tolist(), strict=True))
        for position, each in enumerate(stored):
            inside = any(low <= plan.design.tables[table].permute(each) <= high for table, low, high in ranges)
            if inside and (query ^ each).bit_count() <= 12:
                promised.append((number, position))
    assert found == promised
    assert set(brute(stored, queries, 3)) <= set(found) <= set(brute(stored, queries, 12))


@settings(max_examples=30)
@given(case=cases())
def test_inverted_blocks_and_four_permuted_tables_are_one(case: tuple[list[int], list[int], Random]) -> None:
    stored, queries, _ = case
    blocks = InvertedBlocks(fingerprints(stored), radius=12, exact_radius=6)
    tables = PermutedTables(fingerprints(stored), ProbePlan(TableDesign(4, 1), 12, 6, weak_bits=0))
    margins = np.zeros((len(queries), 64), np.int64)
    one, other = blocks.query(fingerprints(queries), margins), tables.query(fingerprints(queries), margins)
    assert one.positions.tolist() == other.positions.tolist()
    assert one[2:] == other[2:]
    assert blocks.expected_candidates == tables.expected_candidates


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.slow
def test_many_fingerprints_and_neighbours_are_found_in_all_of_them(name: str) -> None:
    # More than a block of brute force, a tile of bitmaps and the room of a first array of finds.
    random = Random(7)
    n = 500 if name == "stored variants" else 40_000
    query = random.getrandbits(64)
    stored = [near(random, query, 4) if i % 5 == 0 else random.getrandbits(64) for i in range(n)]
    assert finds(EXACT[name](fingerprints(stored), 3), [query, ALL]) == brute(stored, [query, ALL], 3)


@pytest.mark.parametrize("name", EXACT)
def test_of_nothing_nothing_is_found(name: str) -> None:
    lookup = EXACT[name](fingerprints([]), 3)
    assert finds(lookup, [0, ALL]) == []
    assert finds(EXACT[name](fingerprints([5]), 3), []) == []


@pytest.mark.parametrize(
    ("name", "tables", "probes", "candidates"),
    [
        ("brute force", 1, 1, 2**18),
        ("bit lists", 64, 64, 2**18),
        ("inverted blocks", 4, 4, 16),
        ("4 choose 1", 4, 4, 16),
        ("3 choose 1", 3, 24, 1 / 16 + 23 / 8),
        ("2 choose 1", 2, 66, 66 / 2**14),
        ("4 choose 1 then 4 choose 1", 16, 16, 16 / 2**10),
        ("query variants", 1, 43745, 43745 / 2**46),
    ],
)
def test_tables_probes_and_expected_candidates(name: str, tables: int, probes: int, candidates: float) -> None:
    stored = np.random.default_rng(2).integers(0, 2**64, 2**18, np.uint64)
    lookup = EXACT[name](stored, 3)
    assert lookup.tables == tables
    assert lookup.expected_candidates == pytest.approx(candidates)
    found = lookup.query(stored[:50] ^ np.uint64(ALL), np.zeros((50, 64), np.int64))
    assert found.probes == 50 * probes
    assert found.candidates == pytest.approx(50 * candidates, abs=6 * (50 * candidates) ** 0.5 + 1e-6)
    assert lookup.nbytes >= stored.nbytes


def test_the_union_of_the_lists_that_a_query_shares_misses_its_complement_alone() -> None:
    # Why the lists are counted: a radius of 63 is their union.
    stored = [*EDGES, 0x0123456789ABCDEF]
    assert finds(BitLists(fingerprints(stored), 63), [0]) == [(0, i) for i, each in enumerate(stored) if each != ALL]


def test_sizes_of_balls() -> None:
    assert [ball_size(radius) for radius in range(1, 7)] == [65, 2081, 43745, 679121, 8303633, 83278001]


def test_too_many_variants_are_refused_with_the_way_out() -> None:
    stored = np.zeros(768, np.uint64)
    with pytest.raises(SettingsError, match=r"768 x 43,745 rows .* at most 767 fingerprints"):
        StoredVariants(stored, 3)
    with pytest.raises(SettingsError, match=r"8,303,633 probes .* distance of at most 4"):
        QueryVariants(stored, 5)


def test_planted_neighbours_have_their_distances_and_differ_in_weak_bits() -> None:
    sample = make_sample(5000, 100, 12, seed=3)
    differing = sample.stored[sample.planted] ^ sample.sought.fingerprints[:, np.newaxis]
    assert (np.bitwise_count(differing) == np.arange(13)).all()
    bits = (differing[:, 6, np.newaxis] >> np.arange(64, dtype=np.uint64)) & np.uint64(1) > 0
    assert sample.sought.margins[bits].mean() < sample.sought.margins[~bits].mean() / 2
    again = make_sample(5000, 100, 12, seed=3)
    assert (again.stored == sample.stored).all()
    assert (again.strangers.margins == sample.strangers.margins).all()


@pytest.mark.slow
def test_the_command_prints_a_table_whose_numbers_line_up() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dedup", "lookups", "--n", "2e3", "--queries", "20"],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    start = next(i for i, line in enumerate(lines) if line.startswith("look-up"))
    table = lines[start : lines.index("", start)]
    assert len(table) == 13
    assert len({len(line) for line in table}) == 1
    assert "stored variants: refused:" in done.stdout
    assert "767 fingerprints" in " ".join(lines)
    assert "choice: 4 tables of at least 16 bits (4 choose 1)" in done.stdout


@pytest.mark.slow
def test_the_command_prints_json_with_the_recall_at_every_distance() -> None:
    done = run_dedup("lookups", "--n", "700", "--queries", "20", "--seed", "5", "--json", folder=Path())
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["n"], answer["distance"], answer["refused"]) == (700, 3, {})
    assert len(answer["measured"]) == 13
    for name, row in answer["measured"].items():
        assert len(row["recall"]) == 17
        assert row["recall"][:4] == [1, 1, 1, 1], name
        assert row["queries_per_second"] > 0
    assert answer["measured"]["brute force"]["recall"] == [1] * 17
    assert answer["measured"]["query variants"]["recall"][4:] == [0] * 13
    weak = answer["measured"]["3 choose 1, 5 weak"]["recall"]
    assert sum(weak) >= sum(answer["measured"]["3 choose 1, flips"]["recall"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", "many"], "--n 'many': give a whole number from"),
        (["--n", "1e9"], "--n '1e9': give a whole number from"),
        (["--n", "2000", "--queries", "1000"], "take at most 117 queries"),
        (["--queries", "0"], "--queries '0'"),
        (["--distance", "1.5"], "--distance '1.5': give a whole number from 1 to 12"),
        (["--seed", "-1"], "--seed '-1'"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(arguments: list[str], message: str) -> None:
    done = run_dedup("lookups", *arguments, folder=Path())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
