"""The law of the index: a look-up finds what `ProbePlan` promises, all of it and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from math import inf, sqrt
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from dedup.errors import SettingsError
from dedup.index.design import TableDesign
from dedup.index.probes import ProbePlan
from dedup.ledger.tables.permuted import Candidate, SqlIndex
from dedup.sql import schema
from dedup.sql.database import Database

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, ALL - 1, ALL]
DESIGNS = [(3, 1), (4, 1), (2, 1), (5, 2), (6, 3), (7, 5), (8, 1), (10, 9)]
NO_LIMIT = 1000


@pytest.fixture(scope="module")
def shared_connection(shared_database_url: str) -> Iterator[Connection]:
    with closing(Database(shared_database_url)) as database:
        database.create(schema.metadata)
        with database.engine.connect() as connection:
            yield connection


@pytest.fixture
def connection(shared_connection: Connection) -> Iterator[Connection]:
    """A connection to empty tables; nothing that a test writes is committed."""
    yield shared_connection
    shared_connection.rollback()


class Case(NamedTuple):
    plan: ProbePlan
    fingerprint: int
    margins: list[int]
    stored: list[int]
    """Fingerprints; the document id is the place in the list."""


def prefixes(blocks: int, chosen: int) -> list[list[int]]:
    """Return the prefix bits of every table, from the description of the paper's section 3."""
    widths = [64 // blocks + (i < 64 % blocks) for i in range(blocks)]
    bits = iter(range(63, -1, -1))
    block_bits = [[next(bits) for _ in range(width)] for width in widths]
    return [[bit for block in choice for bit in block] for choice in combinations(block_bits, chosen)]


def likeliest(plan: ProbePlan, margins: list[int], prefix: list[int], flip: int) -> list[frozenset[int]]:
    """Return the likeliest flips of the weak bits of a prefix, besides those of up to `flip` bits."""
    if not plan.weak_bits:
        return []
    weakest = sorted(prefix, key=lambda bit: margins[bit])[: plan.weak_bits]
    every = [frozenset(bit for i, bit in enumerate(weakest) if n >> i & 1) for n in range(2 ** len(weakest))]
    others = [bits for bits in every if len(bits) > flip]
    return sorted(others, key=lambda bits: sum(margins[bit] for bit in bits))[: plan.max_flips]


def is_promised(case: Case, stored: int) -> bool:
    """Say whether a look-up finds a stored fingerprint, by the words of `ProbePlan`."""
    plan, differing = case.plan, {bit for bit in range(64) if (case.fingerprint ^ stored) >> bit & 1}
    if len(differing) > plan.radius:
        return False
    flips = plan.design.flips_needed(plan.exact_radius)
    bound = plan.firm_margin * sqrt(sum(case.margins))
    firm = {bit for bit in range(64) if case.margins[bit] > bound}
    for prefix, flip in zip(prefixes(plan.design.blocks, plan.design.chosen), flips, strict=True):
        in_prefix = frozenset(differing.intersection(prefix))
        if len(in_prefix) <= flip:
            return True
        if in_prefix in likeliest(plan, case.margins, prefix, flip) and not (differing - in_prefix) & firm:
            return True
    return False


def _flipped(random: Random, plan: ProbePlan, margins: list[int]) -> set[int]:
    """Choose the bits in which a planted neighbour differs: where a look-up just finds it, or just does not."""
    blocks = prefixes(plan.design.blocks, 1)
    kind = random.randrange(4)
    if kind == 0:  # anywhere
        return set(random.sample(range(64), random.randint(0, 16)))
    if kind == 1:  # in a stretch of bits, so that other blocks are untouched
        start, width = random.randrange(64), random.randint(1, 30)
        return {bit for bit in range(start, min(64, start + width)) if random.random() < 0.4}
    if kind == 2:  # as many as the exact radius or one more, spread evenly over the blocks
        random.shuffle(blocks)
        count = plan.exact_radius + random.randint(0, 1)
        return {random.choice(blocks[i % len(blocks)]) for i in range(count)}
    # in weak bits of one table, and in a strong bit of every other block, so that no other table helps
    prefix = random.choice(prefixes(plan.design.blocks, plan.design.chosen))
    weakest = sorted(prefix, key=lambda bit: margins[bit])[: plan.weak_bits + random.choice((0, 0, 1))]
    strong = {max(block, key=lambda bit: margins[bit]) for block in blocks if block[0] not in prefix}
    return strong | set(random.sample(weakest, random.randint(0, len(weakest))))


FLIPS = st.sampled_from([1024, 0, 1, 3, 12])
# The root of the sum of the margins is about 180 here, so that about half of the bits, or nearly none, are firm.
FIRM = st.sampled_from([inf, 0, 2.8, 5.3])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    design = TableDesign(*draw(st.sampled_from(DESIGNS)))
    radius = draw(st.integers(0, 16))
    try:
        exact_radius, weak_bits = draw(st.integers(0, min(radius, 4))), draw(st.integers(0, 5))
        plan = ProbePlan(design, radius, exact_radius, weak_bits, draw(FLIPS), draw(FIRM))
    except SettingsError:
        assume(False)
    fingerprint = draw(st.integers(0, ALL) | st.sampled_from(EDGES))
    random = Random(draw(st.integers(0, 10**9)))
    margins = random.sample(range(1000), 64)  # all different: of equal margins any may count as the weaker
    planted = [
        fingerprint ^ sum(1 << bit for bit in _flipped(random, plan, margins)) for _ in range(draw(st.integers(1, 40)))
    ]
    return Case(plan, fingerprint, margins, [*EDGES, *(random.getrandbits(64) for _ in range(5)), *planted])


def examples(connection: Connection, on_sqlite: int, on_postgresql: int) -> settings:
    return settings(max_examples=on_sqlite if connection.dialect.name == "sqlite" else on_postgresql)


def look_up(connection: Connection, case: Case, limit: int = NO_LIMIT) -> list[Candidate]:
    return SqlIndex(case.plan).query(connection, case.fingerprint, np.array(case.margins), limit)


def count_rows(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(schema.fingerprints)).scalar_one()


def test_a_look_up_finds_all_that_is_promised_and_nothing_else(connection: Connection) -> None:
    @examples(connection, on_sqlite=150, on_postgresql=50)
    @given(cases())
    def law(case: Case) -> None:
        try:
            SqlIndex(case.plan).add(connection, enumerate(case.stored))
            found = look_up(connection, case)
        finally:
            connection.rollback()
        distances = [(case.fingerprint ^ stored).bit_count() for stored in case.stored]
        assert found == sorted(
            (Candidate(i, distances[i]) for i, stored in enumerate(case.stored) if is_promised(case, stored)),
            key=lambda candidate: (candidate.distance, candidate.document_id),
        )
        margins = np.array(case.margins)
        # `find` says the same of each.
        brought = {i for i, stored in enumerate(case.stored) if case.plan.find(case.fingerprint, margins, stored)}
        assert {i for i in brought if distances[i] <= case.plan.radius} == {
            candidate.document_id for candidate in found
        }
        exact = {i for i, distance in enumerate(distances) if distance <= case.plan.exact_radius}
        assert exact <= {candidate.document_id for candidate in found}

    law()


def test_what_was_removed_is_in_no_table_and_the_rest_is_untouched(connection: Connection) -> None:
    @examples(connection, on_sqlite=50, on_postgresql=15)
    @given(cases(), st.randoms(use_true_random=False))
    def law(case: Case, random: Random) -> None:
        index = SqlIndex(case.plan)
        removed = {i for i in range(len(case.stored)) if random.random() < 0.5}
        kept = [(i, stored) for i, stored in enumerate(case.stored) if i not in removed]
        try:
            index.add(connection, enumerate(case.stored))
            before = look_up(connection, case)
            index.remove(connection, [(i, case.stored[i]) for i in removed])
            assert look_up(connection, case) == [each for each in before if each.document_id not in removed]
            assert count_rows(connection) == len(kept) * len(case.plan.design.tables)
            index.remove(connection, kept)
            assert count_rows(connection) == 0
        finally:
            connection.rollback()

    law()


def test_a_limit_leaves_the_closest_and_of_equally_close_ones_the_earliest(connection: Connection) -> None:
    @examples(connection, on_sqlite=30, on_postgresql=10)
    @given(cases(), st.integers(0, 20))
    def law(case: Case, limit: int) -> None:
        try:
            SqlIndex(case.plan).add(connection, enumerate(case.stored))
            assert look_up(connection, case, limit) == look_up(connection, case)[:limit]
        finally:
            connection.rollback()

    law()


def test_everything_within_the_exact_radius_is_found_whatever_the_margins(connection: Connection) -> None:
    fingerprint = 0x8000_0000_0000_0001
    plan = ProbePlan(TableDesign(3, 1), radius=12, exact_radius=3, weak_bits=5)
    random = Random(3)
    stored = [fingerprint ^ sum(1 << bit for bit in random.sample(range(64), random.randint(0, 3))) for _ in range(500)]
    SqlIndex(plan).add(connection, enumerate(stored))
    for margins in ([0] * 64, [7] * 64, list(range(64)), list(range(63, -1, -1))):
        assert len(look_up(connection, Case(plan, fingerprint, margins, stored))) == len(stored)


@pytest.mark.parametrize("fingerprint", EDGES, ids=hex)
def test_signed_and_unsigned_edges_are_found_at_their_distance(connection: Connection, fingerprint: int) -> None:
    plan = ProbePlan(TableDesign(4, 1), radius=64, exact_radius=0, weak_bits=0)
    others = [fingerprint, fingerprint ^ 1, fingerprint ^ 0xFFFF_FFFF_FFFF, fingerprint ^ (0xFFFF << 48)]
    SqlIndex(plan).add(connection, enumerate(others))
    exact = ProbePlan(TableDesign(4, 1), radius=64, exact_radius=3, weak_bits=0)
    found = look_up(connection, Case(exact, fingerprint, [0] * 64, others))
    assert found == [(0, 0), (1, 1), (3, 16), (2, 48)]


def test_equal_fingerprints_of_many_documents_are_all_found_in_the_order_of_their_ids(connection: Connection) -> None:
    plan = ProbePlan(TableDesign(3, 1))
    SqlIndex(plan).add(connection, [(i, 42) for i in reversed(range(100))])
    found = look_up(connection, Case(plan, 42, [0] * 64, []))
    assert found == [(i, 0) for i in range(100)]


def test_equal_fingerprints_that_every_table_brings_do_not_crowd_out_the_next(connection: Connection) -> None:
    plan = ProbePlan(TableDesign(5, 2), radius=12)
    SqlIndex(plan).add(connection, [(1, 42), (2, 42), (3, 43)])
    assert look_up(connection, Case(plan, 42, [0] * 64, []), limit=3) == [(1, 0), (2, 0), (3, 1)]


def test_a_firm_bit_may_differ_only_where_no_weak_bit_is_flipped(connection: Connection) -> None:
    margins = [10] * 64
    margins[48], margins[0] = 1, 400  # bit 48 is in the first of four prefixes, bit 0 in the last one
    others = [1 << 48, 1 << 48 | 1 << 32 | 1 << 16 | 1 << 1, 1 << 48 | 1 << 32 | 1 << 16 | 1 << 0, 1 << 0]
    for firm_margin, found in ((inf, [0, 3, 1, 2]), (8, [0, 3, 1])):
        plan = ProbePlan(TableDesign(4, 1), 16, 3, weak_bits=1, firm_margin=firm_margin)
        SqlIndex(plan).add(connection, enumerate(others))
        assert [each.document_id for each in look_up(connection, Case(plan, 0, margins, others))] == found
        connection.rollback()


def test_document_ids_of_64_bits_are_kept(connection: Connection) -> None:
    plan = ProbePlan(TableDesign(3, 1))
    SqlIndex(plan).add(connection, [(2**62, 42)])
    assert look_up(connection, Case(plan, 42, [0] * 64, [])) == [(2**62, 0)]


def test_an_empty_index_finds_nothing(connection: Connection) -> None:
    assert look_up(connection, Case(ProbePlan(TableDesign(3, 1)), 42, [0] * 64, [])) == []


def test_nothing_can_be_added_and_removed(connection: Connection) -> None:
    index = SqlIndex(ProbePlan(TableDesign(3, 1)))
    index.add(connection, [])
    index.remove(connection, [])
    assert count_rows(connection) == 0


def test_the_largest_plan_that_is_allowed_can_be_asked(connection: Connection) -> None:
    plan = ProbePlan(TableDesign(4, 1), radius=12, exact_radius=3, weak_bits=10, max_flips=1024)
    assert len(plan.probes(42, np.arange(64)).tables) == 4096
    SqlIndex(plan).add(connection, [(1, 42 ^ 0b11)])
    assert look_up(connection, Case(plan, 42, list(range(64)), [])) == [(1, 2)]
