"""The laws of the index in memory: exact look-ups equal brute force, and every plan the index in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from dedup.errors import SettingsError
from dedup.index.design import TableDesign
from dedup.index.memory import parts
from dedup.index.memory.building import build, merged
from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.memory.segment import HAS_LONG
from dedup.index.memory.skip_search import next_within
from dedup.index.probes import ProbePlan
from dedup.ledger.tables.permuted import Candidate, SqlIndex
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import plan_of
from dedup.sql import schema
from dedup.sql.database import Database
from tests.commands import run_python

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, ALL - 1, ALL]
EXACT = ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)
NO_LIMIT = 10**6
MARGINS = np.arange(64)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    url = f"sqlite:///{tmp_path_factory.mktemp('index') / 'test.db'}"
    with closing(Database(url)) as database:
        database.create(schema.metadata)
        with database.engine.connect() as connection:
            yield connection


def brute_force(stored: dict[int, int], query: int, radius: int = 3) -> list[Candidate]:
    found = (Candidate(document, (query ^ each).bit_count()) for document, each in stored.items())
    return sorted(
        (each for each in found if each.distance <= radius), key=lambda each: (each.distance, each.document_id)
    )


def near(random: Random, fingerprint: int, most: int) -> int:
    return fingerprint ^ sum(1 << bit for bit in random.sample(range(64), random.randint(0, most)))


def clustered(random: Random, count: int, most: int = 5) -> list[int]:
    """Return fingerprints of which many are near each other, or equal, or differ in one block alone."""
    centres = [*EDGES, *(random.getrandbits(64) for _ in range(4))]
    kinds: list[Any] = [
        lambda: near(random, random.choice(centres), most),
        lambda: random.choice(centres),
        lambda: random.choice(centres) ^ random.getrandbits(16) << random.choice((0, 16, 32, 48)),
        lambda: random.getrandbits(64),
    ]
    return [random.choice(kinds)() for _ in range(count)]


def filled(plan: ProbePlan, stored: dict[int, int]) -> MemoryIndex:
    index = MemoryIndex(plan)
    for document, fingerprint in stored.items():
        index.add(document, fingerprint)
    return index


def as_lists(index: MemoryIndex, queries: list[int], margins: Any = None) -> list[list[Candidate]]:
    """Return the candidates of each query, by `query_many`."""
    finds = index.query_many(np.array(queries, np.uint64), margins)
    lists: list[list[Candidate]] = [[] for _ in queries]
    for query, document, distance in zip(*(column.tolist() for column in finds), strict=True):
        lists[query].append(Candidate(document, distance))
    return lists


STEPS = st.lists(
    st.sampled_from(["add", "add", "add", "add many", "add many", "add many", "remove", "remove", "compact"]),
    min_size=1,
    max_size=12,
)


class Model:
    """An index and what should be in it, changed by steps with random content."""

    def __init__(self, index: MemoryIndex, random: Random, most: int) -> None:
        self.index, self.random, self.most = index, random, most
        self.stored: dict[int, int] = {}

    def step(self, name: str) -> None:
        if name in ("add", "add many"):
            values = clustered(self.random, self.random.choice((1, 7, 60)), self.most)
            ids = self.random.sample(range(10**6), len(values))
            if self.random.random() < 0.2:
                ids = [each + 2**62 for each in ids]
            fresh = [(each, value) for each, value in zip(ids, values, strict=True) if each not in self.stored]
            self.stored |= dict(fresh)
            if name == "add":
                for document, value in fresh:
                    self.index.add(document, value)
            else:
                self.index.add_many([each for each, _ in fresh], np.array([each for _, each in fresh], np.uint64))
        elif name == "remove":
            for document in self.random.sample(sorted(self.stored), len(self.stored) // 2):
                self.index.remove(document, self.stored.pop(document))
            self.index.remove(5, 12345)
        else:
            self.index.compact()


@contextmanager
def small_segments() -> Iterator[None]:
    """Make a segment of the newest fingerprints, and merge some, after a few additions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "CAPACITY", parts.EVERY)
        yield


@settings(max_examples=60)
@given(STEPS, st.integers(0, 10**9))
def test_everything_within_3_bits_is_found_and_nothing_else_whenever_it_was_added(steps: list[str], seed: int) -> None:
    random = Random(seed)
    model = Model(MemoryIndex(EXACT), random, 5)
    for step in steps:
        with small_segments():
            model.step(step)
        queries = [near(random, each, 2) for each in clustered(random, 3)]
        queries += [
            near(random, each, 3) for each in random.sample(sorted(model.stored.values()), min(5, len(model.stored)))
        ]
        wanted = [brute_force(model.stored, query) for query in queries]
        assert [model.index.query(query) for query in queries] == wanted
        assert as_lists(model.index, queries) == wanted
    assert len(model.index) == model.index.report().documents == len(model.stored)


@st.composite
def plans(draw: st.DrawFn) -> ProbePlan:
    radius = draw(st.integers(0, 20))
    firm = draw(st.sampled_from([float("inf"), 1.2, 3.0, 0.0, 100.0]))
    exact, weak = draw(st.integers(0, min(radius, 8))), draw(st.integers(0, 8))
    try:
        return ProbePlan(DESIGN, radius, exact, weak, draw(st.sampled_from([0, 1, 3, 32, 1024])), firm)
    except SettingsError:
        assume(False)
        raise


@pytest.mark.slow
def test_any_plan_finds_what_it_finds_in_sql(connection: Connection) -> None:
    @settings(max_examples=60)
    @given(plans(), STEPS, st.integers(0, 10**9), st.sampled_from([NO_LIMIT, 64, 3, 1, 0]))
    def law(plan: ProbePlan, steps: list[str], seed: int, limit: int) -> None:
        random = Random(seed)
        model = Model(MemoryIndex(plan), random, 20)
        with small_segments():
            for step in steps:
                model.step(step)
        # Equal margins too: of these the topmost bit counts as the weaker.
        most = random.choice((3, 1000, 10**6))
        sql = SqlIndex(plan)
        try:
            sql.add(connection, model.stored.items())
            near_some = [
                near(random, each, 6)
                for each in random.sample(sorted(model.stored.values()), min(4, len(model.stored)))
            ]
            for query in clustered(random, 4, 12) + near_some:
                margins = np.array([random.randint(0, most) for _ in range(64)])
                wanted = sql.query(connection, query, margins, limit)
                assert model.index.query(query, margins, limit) == wanted
        finally:
            connection.rollback()

    law()


def test_the_default_plan_of_the_library_finds_what_it_finds_in_sql(connection: Connection) -> None:
    plan, random = plan_of(DedupSettings()), Random(11)
    centres = [random.getrandbits(64) for _ in range(20)]
    stored = {i: near(random, random.choice(centres), 24) for i in range(3000)}
    index, sql = filled(plan, stored), SqlIndex(plan)
    queries = [near(random, each, 8) for each in centres]
    margins = np.random.default_rng(1).integers(0, 10**6, (len(queries), 64))
    try:
        sql.add(connection, stored.items())
        wanted = [sql.query(connection, query, margins[i], NO_LIMIT) for i, query in enumerate(queries)]
    finally:
        connection.rollback()
    assert sum(len(each) for each in wanted) > 300
    assert as_lists(index, queries, margins) == wanted
    index.compact()
    assert as_lists(index, queries, margins) == wanted


def test_many_queries_in_the_order_of_the_tables_find_what_each_finds() -> None:
    random = Random(5)
    stored = dict(enumerate(clustered(random, 3000)))
    index = filled(EXACT, stored)
    index.compact()
    for document, fingerprint in enumerate(clustered(random, 500), 10**6):
        stored[document] = fingerprint
        index.add(document, fingerprint)
    queries = [near(random, each, 3) for each in random.choices(sorted(stored.values()), k=2000)] + clustered(
        random, 3000
    )
    assert as_lists(index, queries) == [index.query(query) for query in queries]
    limited = index.query_many(np.array(queries, np.uint64), limit=2)
    lists = [index.query(query, limit=2) for query in queries]
    assert limited.document_ids.tolist() == [each.document_id for one in lists for each in one]
    assert max(len(one) for one in lists) == 2


@pytest.mark.parametrize("shared", [16, 32, 48], ids="{} bits".format)
@pytest.mark.parametrize("table", range(4))
@pytest.mark.slow
def test_blocks_that_very_many_have_in_common_are_searched_rightly_and_reported(shared: int, table: int) -> None:
    generator = np.random.default_rng(shared + table)
    crowd = np.unique(generator.integers(0, 2**64, 20_000, dtype=np.uint64) >> np.uint64(shared) | np.uint64(1))
    left = np.uint64(16 * table)
    values = np.concatenate([(crowd >> left) | (crowd << (np.uint64(64) - left) if table else np.uint64(0)), crowd[:5]])
    values = np.concatenate([np.unique(values), generator.integers(0, 2**64, 5_000, dtype=np.uint64)])
    index = MemoryIndex(EXACT)
    index.add_many(np.arange(len(values)), values)
    flips = np.left_shift(np.uint64(1), generator.integers(0, 64, (3, 60), dtype=np.uint64))
    queries = generator.choice(values, 60) ^ flips[0]
    queries[:40] ^= flips[1, :40]
    queries[:20] ^= flips[2, :20]
    stored = dict(enumerate(values.tolist()))
    wanted = [brute_force(stored, each) for each in queries.tolist()]
    assert [index.query(query) for query in queries.tolist()] == wanted
    index.compact()
    assert build(np.arange(len(values)), values).row[HAS_LONG] or shared == 48
    assert [index.query(query) for query in queries.tolist()] == wanted
    top = index.report().crowded[0]
    assert top.share == top.fingerprints / index.report().fingerprints
    assert top.fingerprints >= len(crowd) * 0.7
    many = np.tile(queries, 100)
    assert as_lists(index, many.tolist())[:60] == [brute_force(stored, each) for each in queries.tolist()]


def test_a_wide_plan_on_a_crowd_finds_what_it_finds_in_sql(connection: Connection) -> None:
    plan, random = ProbePlan(DESIGN, 8, 3, 4, 8), Random(3)
    stored = {i: near(random, 42, 30) & (2**48 - 1) for i in range(2000)}
    index, sql = filled(plan, stored), SqlIndex(plan)
    index.compact()
    try:
        sql.add(connection, stored.items())
        for query in (42, near(random, 42, 20), near(random, 42, 20)):
            assert index.query(query, MARGINS) == sql.query(connection, query, MARGINS, NO_LIMIT)
    finally:
        connection.rollback()


def test_a_wide_look_up_of_many_in_a_crowd_leaves_none_of_the_first_out() -> None:
    plan, limit = ProbePlan(DESIGN, radius=10, exact_radius=3, weak_bits=0), 2000
    index = MemoryIndex(plan)
    # All are as far away; the last of the first 2,000 that are come by has the least number.
    stored = [each for each in range(1 << 16) if each.bit_count() == plan.radius][: 2 * limit]
    index.add_many([*range(limit, 2 * limit - 1), 0, *range(1, limit), 2 * limit], np.array(stored, np.uint64))
    index.compact()
    assert [each.document_id for each in index.query(0, limit=limit)] == list(range(limit))


def test_equal_fingerprints_stand_once_and_all_their_documents_are_found() -> None:
    count = 100_000
    index = MemoryIndex(EXACT)
    index.add_many(np.arange(count), np.full(count, 42, np.uint64))
    index.add_many([count, count + 1], np.array([42, 43], np.uint64))
    index.compact()
    report = index.report()
    assert (report.documents, report.fingerprints) == (count + 2, 2)
    assert [each.document_id for each in index.query(42)] == list(range(count + 2))
    assert index.query(43, limit=3) == [(count + 1, 0), (0, 1), (1, 1)]
    assert index.query_many(np.full(5000, 43, np.uint64), limit=1).document_ids.tolist() == [count + 1] * 5000
    index.remove(7, 42)
    index.remove(count + 1, 43)
    assert len(index) == count
    assert index.query(43, limit=1) == [(0, 1)]
    index.compact()
    assert index.report().fingerprints == 1
    assert [each.document_id for each in index.query(42, limit=8)] == [0, 1, 2, 3, 4, 5, 6, 8]


def test_a_crowd_among_the_newest_is_found_too() -> None:
    random = Random(1)
    stored = {i: random.getrandbits(48) for i in range(2000)} | {i: random.getrandbits(64) for i in range(2000, 2200)}
    index = filled(EXACT, stored)
    for query in [near(random, stored[i], 3) for i in random.sample(range(2200), 50)]:
        assert index.query(query) == brute_force(stored, query)


@pytest.mark.slow
def test_it_grows_over_many_fills_and_merges_and_forgets_what_is_removed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "CAPACITY", 256)
    random = Random(2)
    index, stored, sizes = MemoryIndex(EXACT), {}, set()
    for document in range(6000):
        stored[document] = random.getrandbits(64)
        index.add(document, stored[document])
        if document % 9:
            continue
        report = index.report()
        sizes.add(len(report.segments))
        if report.merging:
            gone = random.choice(sorted(stored))
            index.remove(gone, stored.pop(gone))
    assert max(sizes) <= 12
    assert len(index) == len(stored)
    index.compact()
    assert (len(index), index.report().segments) == (len(stored), (len(stored),))
    assert [index.query(each)[0].document_id for each in stored.values()] == list(stored)


def test_a_pair_that_is_added_twice_is_found_once_and_removed_altogether() -> None:
    index = MemoryIndex(EXACT)
    for _ in range(2):
        index.add(1, 5)
        index.add_many([1], np.array([5], np.uint64))
        index.compact()
    assert index.query(5) == [(1, 0)]
    index.remove(1, 5)
    assert index.query(5) == []
    index.compact()
    assert len(index) == 0


@pytest.mark.parametrize("fingerprint", EDGES, ids=hex)
def test_edges_are_found_at_their_distance(fingerprint: int) -> None:
    index = filled(EXACT, {0: fingerprint, 2**63 - 1: fingerprint ^ 1, 2: fingerprint ^ 0xF})
    for _ in range(2):
        assert index.query(fingerprint) == [(0, 0), (2**63 - 1, 1)]
        index.compact()


def test_an_empty_index_finds_nothing() -> None:
    index = MemoryIndex(EXACT)
    for _ in range(2):
        assert index.query(42) == []
        assert index.query_many(np.zeros(5000, np.uint64)).queries.tolist() == []
        assert index.query_many(np.zeros(0, np.uint64)).queries.tolist() == []
        assert (len(index), index.report().crowded) == (0, ())
        index.add_many([], np.zeros(0, np.uint64))
        index.compact()


def test_what_is_out_of_range_is_refused() -> None:
    index = MemoryIndex(plan_of(DedupSettings()))
    with pytest.raises(ValueError, match="document id -1"):
        index.add(-1, 5)
    with pytest.raises(ValueError, match="document id -1"):
        index.add_many([-1], np.array([5], np.uint64))
    with pytest.raises(ValueError, match="64 bits"):
        index.add(1, 2**64)
    with pytest.raises(ValueError, match="64 bits"):
        index.query(-1, MARGINS)
    with pytest.raises(ValueError, match="margins"):
        index.query(1)
    with pytest.raises(ValueError, match="margins of shape"):
        index.query(1, np.zeros(63, np.int64))
    with pytest.raises(ValueError, match="as many of both"):
        index.add_many([1, 2], np.array([5], np.uint64))
    with pytest.raises(SettingsError, match="'4 choose 1'"):
        MemoryIndex(ProbePlan(TableDesign(3, 1)))


@given(st.integers(0, 2**12 - 1), st.integers(0, 2**12 - 1), st.integers(0, 3), st.integers(0, 52))
def test_the_next_value_within_some_bits_is_the_smallest(value: int, sought: int, bits: int, left: int) -> None:
    found = int(next_within(np.uint64(value << left), np.uint64(sought << left), bits))
    near = (each << left for each in range(value, 2**12 + 1) if (each ^ sought).bit_count() <= bits)
    wanted = next(near, None)
    if wanted is not None:
        # Between two of them may stand one with lower bits.
        assert value << left <= found <= wanted
        assert (found ^ sought << left).bit_count() <= bits
    if left == 0:
        assert found == wanted or (wanted is None and (found == 0 or found > 2**12))


def test_no_value_is_the_next_one_behind_the_last() -> None:
    assert next_within(np.uint64(2**64 - 1), np.uint64(0), 3) == 0


def test_merged_segments_equal_one_built_at_once() -> None:
    random = Random(4)
    values = np.array(clustered(random, 3000), np.uint64)
    ids = np.arange(3000) * 10**9
    whole = build(ids, values)
    made = merged([build(ids[:2100], values[:2100]), build(ids[2100:], values[2100:])])
    for name in ("fingerprints", "owners", "starts", "members", "directories", "tags", "positions"):
        np.testing.assert_array_equal(getattr(made, name), getattr(whole, name), name)


def test_nothing_of_it_is_imported_by_the_library_itself() -> None:
    code = (
        "import sys, dedup.ledger.deduplicator, dedup.stage.pipelines; print([m for m in sys.modules if 'memory' in m])"
    )
    assert "dedup.index.memory" not in run_python(code)
