"""The law of the keys in SQL: what is found is what brute force finds, in each kind of database, at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, Keys, TableDesign, choose
from dedup.signature.signature import BANDS
from dedup.store import schema
from dedup.store.database import Database
from dedup.store.key_table import KeyTable, Looked, fill_keys

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, ALL - 1, ALL]
DESIGNS = [(5, 2), (4, 1), (6, 3)]
Found = list[tuple[int, bool]]


@pytest.fixture(scope="module")
def database(shared_database_url: str) -> Iterator[Database]:
    with closing(Database(shared_database_url)) as database:
        with database.write() as connection:
            schema.metadata.create_all(connection)
        yield database


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    """A connection to empty tables; nothing that a test writes is committed."""
    with database.engine.connect() as connection:
        yield connection
        connection.rollback()


def examples(connection: Connection, on_sqlite: int, on_postgresql: int) -> settings:
    return settings(max_examples=on_sqlite if connection.dialect.name == "sqlite" else on_postgresql)


def looked(fingerprint: int, bands: Sequence[int], mask: int = 0) -> Looked:
    return Looked(fingerprint, np.array(bands, np.uint64), mask)


@st.composite
def shelves(draw: st.DrawFn, most: int = 40) -> list[Looked]:
    """Give documents of which many share keys with the first one: near fingerprints, a few bands of a small choice."""
    random = Random(draw(st.integers(0, 2**32)))
    choice = [random.getrandbits(64) for _ in range(draw(st.integers(2, 30)))]
    first = draw(st.integers(0, ALL) | st.sampled_from(EDGES))
    count = draw(st.integers(1, most))

    def bands() -> list[int]:
        # Most are nobody else's.
        return [random.choice(choice) if random.random() < 0.05 else random.getrandbits(64) for _ in range(BANDS)]

    def near() -> int:
        return first ^ sum(1 << bit for bit in random.sample(range(64), random.randint(0, 6)))

    far = [*EDGES, *(random.getrandbits(64) for _ in range(5))]
    return [looked(first, bands()), *(looked(random.choice([near(), *far]), bands()) for _ in range(count))]


def by_brute_force(keys: Keys, table: KeyTable, stored: Mapping[int, Looked], asked: Looked) -> Found:
    """Compare all keys of all documents, and choose among the earliest of each key."""
    own, *others = table.keys_of([asked, *stored.values()])
    found = []
    for number, value in enumerate(own):
        sharing = sorted(id_ for id_, each in zip(stored, others, strict=True) if each[number] == value)
        found.append((number, sharing[:MOST_READ] if keys.count > keys.tables else sharing))
    return choose(found, keys)


def add(connection: Connection, table: KeyTable, documents: Mapping[int, Looked]) -> None:
    with table.batch(connection, []):
        for id_, keys in zip(documents, table.keys_of(list(documents.values())), strict=True):
            table.add(connection, id_, keys)


def find(connection: Connection, table: KeyTable, asked: Looked) -> Found:
    [keys] = table.keys_of([asked])
    with table.batch(connection, [keys]):
        return table.find(connection, keys)


def count_rows(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(schema.fingerprints)).scalar_one()


@pytest.mark.parametrize("with_bands", [True, False])
def test_what_is_found_is_what_brute_force_finds(connection: Connection, *, with_bands: bool) -> None:
    @examples(connection, on_sqlite=100, on_postgresql=30)
    @given(shelves(), st.sampled_from(DESIGNS))
    def law(documents: list[Looked], design: tuple[int, int]) -> None:
        keys = Keys(TableDesign(*design), with_bands=with_bands)
        table, stored = KeyTable(keys), dict(enumerate(documents[1:]))
        try:
            add(connection, table, stored)
            found = find(connection, table, documents[0])
        finally:
            connection.rollback()
        assert found == by_brute_force(keys, table, stored, documents[0])

    law()


def test_all_within_3_bits_or_with_a_common_band_are_found_unless_keys_are_crowded(connection: Connection) -> None:
    @examples(connection, on_sqlite=100, on_postgresql=30)
    @given(shelves(most=MOST_READ))
    def law(documents: list[Looked]) -> None:
        table, asked = KeyTable(Keys(TableDesign(5, 2))), documents[0]
        stored = dict(enumerate(documents[1:]))
        try:
            add(connection, table, stored)
            found = dict(find(connection, table, asked))
        finally:
            connection.rollback()
        near = {id_ for id_, each in stored.items() if (each.fingerprint ^ asked.fingerprint).bit_count() <= RADIUS}
        sharing = {id_ for id_, each in stored.items() if (each.bands == asked.bands).any()}
        assert near | sharing <= found.keys()
        assert {id_ for id_, shares_band in found.items() if shares_band} == sharing

    law()


def test_documents_of_one_batch_find_each_other(connection: Connection) -> None:
    @examples(connection, on_sqlite=60, on_postgresql=20)
    @given(shelves(), st.integers(0, 40), st.booleans(), st.randoms(use_true_random=False))
    def law(documents: list[Looked], before: int, read_ahead: bool, random: Random) -> None:
        keys = Keys(TableDesign(5, 2))
        # One that has changed is added later than its number says.
        numbered = list(zip(random.sample(range(100), len(documents)), documents, strict=True))
        table, known, batch = KeyTable(keys), dict(numbered[:before]), dict(numbered[before:])
        own = table.keys_of(list(batch.values()))
        try:
            add(connection, table, known)
            with table.batch(connection, own if read_ahead else []):
                for (id_, each), of_each in zip(batch.items(), own, strict=True):
                    assert table.find(connection, of_each) == by_brute_force(keys, table, known, each)
                    table.add(connection, id_, of_each)
                    known[id_] = each
            assert count_rows(connection) == len(documents) * keys.count
            assert find(connection, table, documents[0]) == by_brute_force(keys, table, known, documents[0])
        finally:
            connection.rollback()

    law()


def test_what_was_removed_is_found_no_more(connection: Connection) -> None:
    @examples(connection, on_sqlite=50, on_postgresql=15)
    @given(shelves(), st.randoms(use_true_random=False), st.booleans())
    def law(documents: list[Looked], random: Random, in_one_batch: bool) -> None:
        keys = Keys(TableDesign(5, 2))
        table, stored = KeyTable(keys), dict(enumerate(documents))
        removed = [id_ for id_ in stored if random.random() < 0.5]
        own = dict(zip(stored, table.keys_of(documents), strict=True))
        rest = {id_: each for id_, each in stored.items() if id_ not in removed}
        try:
            if in_one_batch:
                with table.batch(connection, list(own.values())):
                    for id_ in stored:
                        table.add(connection, id_, own[id_])
                    table.remove(connection, [(id_, own[id_]) for id_ in removed])
                    for id_, each in stored.items():
                        assert table.find(connection, own[id_]) == by_brute_force(keys, table, rest, each)
            else:
                add(connection, table, stored)
                table.remove(connection, ((id_, own[id_]) for id_ in removed))
            assert count_rows(connection) == len(rest) * keys.count
            for each in documents:
                assert find(connection, table, each) == by_brute_force(keys, table, rest, each)
            table.remove(connection, [(id_, own[id_]) for id_ in rest])
            assert count_rows(connection) == 0
        finally:
            connection.rollback()

    law()


def crowd(count: int, *, own: int = 1) -> dict[int, Looked]:
    """Return documents that share all keys but some bands, as the pages of one template."""
    random = Random(count)
    return {
        1000 + each: looked(42, [7] * (BANDS - own) + [random.getrandbits(64) for _ in range(own)])
        for each in range(count)
    }


def test_of_a_crowded_key_the_earliest_are_read(connection: Connection) -> None:
    table, stored = KeyTable(Keys(TableDesign(5, 2))), crowd(200)
    # In any order: who is the earliest is said by the number.
    add(connection, table, dict(reversed(stored.items())))
    asked = looked(42, [7] * (BANDS - 1) + [8])
    assert find(connection, table, asked) == [(id_, True) for id_ in range(1000, 1000 + MOST_READ)]
    # A document that comes later finds those, and not itself.
    with table.batch(connection, table.keys_of([asked])):
        [keys] = table.keys_of([asked])
        table.add(connection, 5000, keys)
        # Its own band is nobody else's.
        assert table.find(connection, keys) == [(5000, True), *((id_, True) for id_ in range(1000, 1000 + MOST_READ))]


def test_in_a_crowd_whoever_shares_a_rare_key_comes_first(connection: Connection) -> None:
    table, stored = KeyTable(Keys(TableDesign(5, 2))), crowd(200, own=3)
    add(connection, table, stored)
    original = stored[1150]
    copy = looked(43, [*original.bands.tolist()[:-1], 9])
    assert find(connection, table, copy)[0] == (1150, True)


def test_when_the_earliest_are_gone_others_come_into_view(connection: Connection) -> None:
    table, stored = KeyTable(Keys(TableDesign(5, 2))), crowd(40)
    add(connection, table, stored)
    own = table.keys_of(list(stored.values()))
    asked = table.keys_of([looked(42, [7] * (BANDS - 1) + [8])])
    with table.batch(connection, asked):
        assert [id_ for id_, _ in table.find(connection, asked[0])] == list(range(1000, 1000 + MOST_READ))
        table.remove(connection, list(zip(range(1000, 1005), own[:5], strict=True)))
        assert [id_ for id_, _ in table.find(connection, asked[0])] == list(range(1005, 1005 + MOST_READ))


def test_no_more_candidates_are_given_than_are_ranked(connection: Connection) -> None:
    random = Random(5)
    table, bands = KeyTable(Keys(TableDesign(5, 2))), [random.getrandbits(64) for _ in range(BANDS)]
    # Each shares one band, twelve of them each.
    stored = {
        number: looked(
            random.getrandbits(64),
            [bands[band] if band == number % BANDS else random.getrandbits(64) for band in range(BANDS)],
        )
        for number in range(12 * BANDS)
    }
    add(connection, table, stored)
    found = find(connection, table, looked(random.getrandbits(64), bands))
    assert found == [(number, True) for number in range(MOST_RANKED)]


def test_in_the_papers_mode_all_are_read(connection: Connection) -> None:
    table = KeyTable(Keys(TableDesign(5, 2), with_bands=False))
    add(connection, table, crowd(200))
    assert find(connection, table, looked(43, [0] * BANDS)) == [(id_, False) for id_ in range(1000, 1200)]


@pytest.mark.parametrize("fingerprint", EDGES, ids=hex)
def test_signed_and_unsigned_edges_are_found(connection: Connection, fingerprint: int) -> None:
    table = KeyTable(Keys(TableDesign(5, 2)))
    others = [fingerprint, fingerprint ^ 1, fingerprint ^ (7 << 61), fingerprint ^ ALL]
    stored = {
        2**62 + place: looked(other, [other ^ band for band in range(BANDS)]) for place, other in enumerate(others)
    }
    add(connection, table, stored)
    found = dict(find(connection, table, looked(fingerprint, [fingerprint ^ band for band in range(BANDS)])))
    assert found.keys() >= {2**62, 2**62 + 1, 2**62 + 2}
    assert found[2**62]


def test_an_empty_table_finds_nothing_and_takes_nothing(connection: Connection) -> None:
    table = KeyTable(Keys(TableDesign(5, 2)))
    assert find(connection, table, looked(42, [0] * BANDS)) == []
    table.remove(connection, [])
    assert table.keys_of([]) == []
    assert count_rows(connection) == 0


def test_keys_that_are_written_in_bulk_are_those_that_are_added(database: Database) -> None:
    keys, random = Keys(TableDesign(5, 2)), Random(7)
    ids = np.array(random.sample(range(10_000), 300), np.int64)
    fingerprints = np.array([random.getrandbits(64) for _ in ids], np.uint64)
    bands = np.array([[random.getrandbits(64) for _ in range(BANDS)] for _ in ids], np.uint64)
    expected = {
        (number, value, int(id_))
        for id_, own in zip(ids, keys.of(fingerprints, bands).view(np.int64).tolist(), strict=True)
        for number, value in enumerate(own)
    }

    def rows() -> list[tuple[int, int, int]]:
        with database.read() as connection:
            return [tuple(row) for row in connection.execute(select(schema.fingerprints))]

    try:
        # Who is interrupted calls it again.
        for _ in range(2):
            fill_keys(database, keys, ids, fingerprints, bands)
            assert sorted(rows()) == sorted(expected)
    finally:
        with database.write() as connection:
            connection.execute(schema.fingerprints.delete())
