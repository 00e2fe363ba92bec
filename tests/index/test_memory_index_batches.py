"""The law of batches: whatever blocks, queries and limits are like, they equal brute force."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.index.memory.building import build
from dedup.index.memory.index import DESIGN, NO_LIMIT, MemoryIndex
from dedup.index.memory.near import collect
from dedup.index.memory.near_tags import near_tags
from dedup.index.memory.ranges import range_of
from dedup.index.memory.recent import block_of
from dedup.index.memory.results import QueryResults
from dedup.index.memory.segment import LONG_RANGE
from dedup.index.probes import ProbePlan
from dedup.published.lookups import BruteForce


def plan(radius: int) -> ProbePlan:
    return ProbePlan(DESIGN, radius=radius, exact_radius=radius, weak_bits=0)


def flipped(generator: np.random.Generator, values: NDArray[np.uint64], most: int) -> NDArray[np.uint64]:
    """Return the values with at most so many bits flipped in each."""
    for _ in range(most):
        bits = np.left_shift(np.uint64(1), generator.integers(0, 64, len(values), dtype=np.uint64))
        values = values ^ np.where(generator.random(len(values)) < 0.7, bits, np.uint64(0))
    return values


def crowd(generator: np.random.Generator, table: int, size: int, shared: int) -> NDArray[np.uint64]:
    """Return random fingerprints that share so many bits from a block on, cyclically."""
    value = generator.integers(0, 2**64, dtype=np.uint64)
    mask = ~np.uint64(0) >> np.uint64(shared)
    values = (generator.integers(0, 2**64, size, dtype=np.uint64) & mask) | (value & ~mask)
    left = np.uint64(16 * table)
    return (values >> left) | (values << ((np.uint64(64) - left) & np.uint64(63)))


def brute_force(stored: NDArray[np.uint64], queries: NDArray[np.uint64], radius: int, limit: int) -> QueryResults:
    """Return what is to be found; document i has fingerprint i."""
    askers, documents, *_ = BruteForce(stored, radius).query(queries)
    distances = np.bitwise_count(stored[documents] ^ queries[askers]).astype(np.int64)
    order = np.lexsort((documents, distances, askers))
    askers, documents, distances = askers[order], documents[order], distances[order]
    place = np.arange(len(askers)) - np.searchsorted(askers, askers)
    return QueryResults(*(each[place < limit] for each in (askers, documents, distances)))


def assert_equal(found: QueryResults, wanted: QueryResults) -> None:
    for name in QueryResults._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), name)


class Crowd(NamedTuple):
    table: int
    size: int
    shared: int
    queries: int


CROWDS = st.builds(
    Crowd,
    table=st.integers(0, 3),
    size=st.sampled_from([1, 31, 500, 700, 2100, 4200, 9000]),
    shared=st.sampled_from([16, 16, 19, 24, 32, 40]),
    queries=st.sampled_from([1, 2, 40, 1000]),
)


def test_batches_find_what_brute_force_finds() -> None:
    @settings(max_examples=50)
    @given(
        crowds=st.lists(CROWDS, min_size=1, max_size=4),
        spread=st.sampled_from([0, 5, 3000]),
        segments=st.integers(1, 3),
        newest=st.booleans(),
        radius=st.sampled_from([3, 3, 3, 2, 1, 0]),
        limit=st.sampled_from([NO_LIMIT, NO_LIMIT, 5, 1]),
        seed=st.integers(0, 10**9),
    )
    def law(crowds: list[Crowd], spread: int, segments: int, newest: bool, radius: int, limit: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        shares = [crowd(generator, each.table, each.size, each.shared) for each in crowds]
        stored = np.concatenate([*shares, generator.integers(0, 2**64, spread, dtype=np.uint64)])
        # Some are there several times.
        stored = generator.permutation(np.concatenate([stored, stored[: len(stored) // 20]]))
        asked = [generator.choice(share, each.queries) for share, each in zip(shares, crowds, strict=True)]
        queries = flipped(generator, np.concatenate([*asked, generator.choice(stored, 200)]), 3)
        queries = np.concatenate([queries, generator.integers(0, 2**64, 3000, dtype=np.uint64)])
        queries = generator.permutation(queries)
        index = MemoryIndex(plan(radius))
        pieces = np.array_split(np.arange(len(stored)), segments + newest)
        for piece in pieces[:segments]:
            if len(piece):
                index.add_many(piece, stored[piece])
        if newest:
            for document in pieces[-1].tolist():
                index.add(document, int(stored[document]))
        assert_equal(index.query_many(queries, limit=limit), brute_force(stored, queries, radius, limit))

    law()


@pytest.mark.parametrize("ours", [10, 3000], ids="{} queries of the crowd".format)
def test_a_block_held_by_30_percent_is_searched_rightly(ours: int) -> None:
    generator = np.random.default_rng(ours)
    many = np.concatenate([crowd(generator, table, 15_000, 16) for table in range(4)])
    stored = np.concatenate([many[:15_000], generator.integers(0, 2**64, 35_000, dtype=np.uint64)])
    index = MemoryIndex(plan(3))
    index.add_many(np.arange(len(stored)), stored)
    index.compact()
    queries = generator.permutation(
        np.concatenate([generator.choice(many[:15_000], ours), generator.choice(stored[15_000:], 5000)])
    )
    queries = flipped(generator, queries, 3)
    assert_equal(index.query_many(queries), brute_force(stored, queries, 3, NO_LIMIT))


def test_all_queries_may_be_one_and_find_more_than_there_is_room_for() -> None:
    generator = np.random.default_rng(1)
    stored = flipped(generator, np.full(60, 42, np.uint64), 3)
    index = MemoryIndex(plan(3))
    index.add_many(np.arange(len(stored)), stored)
    queries = np.full(4100, 42, np.uint64)
    for limit in (NO_LIMIT, 7):
        for _ in range(2):
            assert_equal(index.query_many(queries, limit=limit), brute_force(stored, queries, 3, limit))
            index.compact()


@given(st.integers(1, 80), st.integers(0, 3), st.integers(0, 10**9))
def test_places_are_collected_that_have_the_block_and_a_tag_within_one_bit_and_no_others(
    count: int, table: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    # Of two blocks, which stand on the same lines, with much the same tags.
    stored = crowd(generator, table, count, 28)
    stored ^= generator.integers(0, 2, count, dtype=np.uint64) << np.uint64((48 - 16 * table) % 64)
    built = build(np.arange(count), stored)
    query = flipped(generator, stored[:1], 1)
    left, right = np.uint64(16 * table), np.uint64((64 - 16 * table) % 64)
    positions = built.positions[table - 1] if table else np.arange(count)
    differing = built.fingerprints[positions] ^ query
    top = ((differing << left) | (differing >> right if table else np.uint64(0))) >> np.uint64(32)
    wanted = np.flatnonzero((top < 1 << 16) & (np.bitwise_count(top) <= 1))
    places = np.empty(LONG_RANGE, np.int64)
    first, after = range_of(built.row, table, block_of(query[0], table))
    have = collect(built.row, table, query[0], first, after, places, 0)
    assert places[:have].tolist() == wanted.tolist()


@compiled
def tags_at(tags: NDArray[np.uint16], first: int, tag: int) -> int:
    return int(near_tags(tags.ctypes.data + 2 * first, tag))


@given(st.lists(st.integers(0, 2**16 - 1), min_size=35, max_size=35), st.integers(0, 2**16 - 1), st.data())
def test_tags_within_one_bit_are_told_by_a_bit_each(tags: list[int], tag: int, data: st.DataObject) -> None:
    for place in data.draw(st.lists(st.integers(0, 34), max_size=9)):
        tags[place] = tag ^ data.draw(st.sampled_from([0, 1, 2**15, 2**8, 3, 2**15 + 1]))
    for first in range(4):
        wanted = sum(((each ^ tag).bit_count() <= 1) << i for i, each in enumerate(tags[first : first + 32]))
        # What stands above the lowest 16 bits is not looked at.
        assert tags_at(np.array(tags, np.uint16), first, tag | 5 << 16) == wanted
