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
from dedup.published.lookups import (
    BitLists,
    BruteForce,
    InvertedBlocks,
    Lookup,
    PermutedTables,
    QueryVariants,
    StoredVariants,
)
from dedup.published.measuring import make_sample
from tests.commands import run_dedup
from tests.waiting import HANG

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, ALL - 1, ALL]
DESIGNS = ["2 choose 1", "3 choose 1", "4 choose 1", "5 choose 2", "4 choose 1 then 4 choose 1", "6 choose 3"]


def _exact_tables(design: TableDesign) -> Callable[[NDArray[np.uint64], int], Lookup]:
    return lambda stored, radius: PermutedTables(stored, radius, radius, design)


EXACT: dict[str, Callable[[NDArray[np.uint64], int], Lookup]] = {
    "brute force": BruteForce,
    "bit lists": BitLists,
    "inverted blocks": lambda stored, radius: InvertedBlocks(stored, radius, radius),
    "query variants": QueryVariants,
    "stored variants": StoredVariants,
    **{design: _exact_tables(TableDesign.parse(design)) for design in DESIGNS},
}


def fingerprints(values: list[int]) -> NDArray[np.uint64]:
    return np.array(values, np.uint64)


def finds(lookup: Lookup, queries: list[int]) -> list[tuple[int, int]]:
    found = lookup.query(fingerprints(queries))
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
    lookup = EXACT[name](fingerprints(stored[: 50 if name == "stored variants" else None]), radius)
    assert (lookup.radius, lookup.exact_radius) == (radius, radius)
    assert finds(lookup, queries) == brute(stored[: 50 if name == "stored variants" else None], queries, radius)


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


def agree(one: int, other: int, prefix: tuple[int, ...]) -> bool:
    return all((one ^ other) >> bit & 1 == 0 for bit in prefix)


@pytest.mark.parametrize("design", [each for each in DESIGNS if each not in {"2 choose 1", "3 choose 1"}])
@settings(max_examples=20)
@given(case=cases())
def test_permuted_tables_find_what_agrees_in_some_prefix(
    design: str, case: tuple[list[int], list[int], Random]
) -> None:
    stored, queries, _ = case
    tables = TableDesign.parse(design)
    promised = [
        (number, position)
        for number, position in brute(stored, queries, 12)
        if any(agree(queries[number], stored[position], table.prefix) for table in tables.tables)
    ]
    assert finds(PermutedTables(fingerprints(stored), 12, 3, tables), queries) == promised
    assert set(brute(stored, queries, 3)) <= set(promised)


def test_a_design_that_misses_what_must_be_found_is_refused() -> None:
    for design in ("4 choose 2", "4 choose 1 then 3 choose 1"):
        with pytest.raises(SettingsError, match=f"{design}: its tables miss fingerprints within 3 bits"):
            PermutedTables(fingerprints([1]), 3, 3, TableDesign.parse(design))


@settings(max_examples=30)
@given(case=cases())
def test_inverted_blocks_and_four_permuted_tables_are_one(case: tuple[list[int], list[int], Random]) -> None:
    stored, queries, _ = case
    blocks = InvertedBlocks(fingerprints(stored), radius=12, exact_radius=6)
    tables = PermutedTables(fingerprints(stored), 12, 6, TableDesign(4, 1))
    one, other = blocks.query(fingerprints(queries)), tables.query(fingerprints(queries))
    assert one.positions.tolist() == other.positions.tolist()
    assert one[2:] == other[2:]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.slow
def test_many_fingerprints_and_neighbours_are_found_in_all_of_them(name: str) -> None:
    # More than a block of brute force.
    random = Random(7)
    n = 200 if name == "stored variants" else 70_000
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
def test_tables_probes_and_the_candidates_that_are_expected_of_random_fingerprints(
    name: str, tables: int, probes: int, candidates: float
) -> None:
    stored = np.random.default_rng(2).integers(0, 2**64, 2**18, np.uint64)
    lookup = EXACT[name](stored, 3)
    assert lookup.tables == tables
    found = lookup.query(stored[:50] ^ np.uint64(ALL))
    assert found.probes == 50 * probes
    assert found.candidates == pytest.approx(50 * candidates, abs=6 * (50 * candidates) ** 0.5 + 1e-6)
    assert lookup.nbytes >= stored.nbytes


def test_the_union_of_the_lists_that_a_query_shares_misses_its_complement_alone() -> None:
    # Why the lists are counted: a radius of 63 is their union.
    stored = [*EDGES, 0x0123456789ABCDEF]
    assert finds(BitLists(fingerprints(stored), 63), [0]) == [(0, i) for i, each in enumerate(stored) if each != ALL]


def test_too_many_variants_are_refused_with_the_way_out() -> None:
    stored = np.zeros(768, np.uint64)
    with pytest.raises(SettingsError, match=r"768 x 43,745 rows .* at most 767 fingerprints"):
        StoredVariants(stored, 3)
    with pytest.raises(SettingsError, match=r"8,303,633 probes .* take a smaller distance"):
        QueryVariants(stored, 5)


def test_planted_neighbours_have_their_distances() -> None:
    sample = make_sample(5000, 100, 12, seed=3)
    differing = sample.stored[sample.planted] ^ sample.sought[:, np.newaxis]
    assert (np.bitwise_count(differing) == np.arange(13)).all()
    for one, again in zip(sample, make_sample(5000, 100, 12, seed=3), strict=True):
        assert (one == again).all()


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
    assert len(table) == 11
    assert len({len(line) for line in table}) == 1
    assert "stored variants: refused:" in done.stdout
    assert "767 fingerprints" in " ".join(lines)


@pytest.mark.slow
def test_the_command_prints_json_with_the_recall_at_every_distance() -> None:
    done = run_dedup("lookups", "--n", "700", "--queries", "20", "--seed", "5", "--json", folder=Path())
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["n"], answer["distance"], answer["refused"]) == (700, 3, {})
    assert len(answer["measured"]) == 11
    for name, row in answer["measured"].items():
        assert len(row["recall"]) == 17
        assert row["recall"][:4] == [1, 1, 1, 1], name
        assert row["queries_per_second"] > 0
    assert answer["measured"]["brute force"]["recall"] == [1] * 17
    assert answer["measured"]["query variants"]["recall"][4:] == [0] * 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", "many"], "--n 'many': give a whole number from"),
        (["--n", "1e9"], "--n '1e9': give a whole number from"),
        (["--n", "2000", "--queries", "1000"], "take at most 117"),
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
