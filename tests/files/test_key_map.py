"""The multimap of keys in arrays finds what going through all documents does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup.files import key_map
from dedup.files.key_map import NULL, KeyMap, Sketches
from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, Keys, TableDesign, choose
from dedup.rules.settings import LIMITS, Caution
from dedup.signature.signature import BANDS, distance

ANYTHING = LIMITS[Caution.EAGER]._replace(min_jaccard=0.0)
DESIGNS = [TableDesign(5, 2), TableDesign(4, 1), TableDesign(6, 3)]


class Texts:
    """Fingerprints and bands of which many are shared, and sketches that are all alike."""

    def __init__(self, seed: int, count: int, values: int, share: float) -> None:
        chance = np.random.default_rng(seed)
        some = chance.integers(0, 2**64, (values, 1 + BANDS), dtype=np.uint64)
        picked = chance.integers(0, values, (count, 1 + BANDS))
        own = chance.integers(0, 2**64, (count, 1 + BANDS), dtype=np.uint64)
        both = np.where(chance.random((count, 1 + BANDS)) < share, some[picked, np.arange(1 + BANDS)], own)
        flips = np.uint64(1) << chance.integers(0, 64, (count, 6), dtype=np.uint64)
        kept = chance.random((count, 6)) < 0.5
        self.fingerprints = both[:, 0] ^ np.bitwise_xor.reduce(np.where(kept, flips, np.uint64(0)), axis=1)
        self.bands = both[:, 1:]
        self.comparable = chance.random(count) < 0.9
        self.sketches = Sketches(
            np.zeros((count, 8), np.uint64), np.full(count, 98, np.uint32), np.full(count, 100, np.uint32)
        )

    def __len__(self) -> int:
        return len(self.fingerprints)


texts = st.builds(
    Texts,
    st.integers(0, 2**32),
    st.integers(1, 150),
    values=st.sampled_from([1, 3, 40]),
    share=st.sampled_from([0.03, 0.2, 0.9]),
)
ends = st.lists(st.integers(1, 149), unique=True, max_size=6).map(sorted)


def by_hand(texts: Texts, keys: Keys) -> Iterator[list[int]]:
    """Yield the candidates of each text, rising, by comparing its keys with those of all before it."""
    every = keys.of(texts.fingerprints, texts.bands)
    for number, own in enumerate(every):
        before = np.flatnonzero(texts.comparable[:number])
        shared = every[before] == own
        found = [
            (key, before[shared[:, key]][:MOST_READ].tolist()) for key in range(keys.count) if shared[:, key].any()
        ]
        chosen = choose(found, keys) if texts.comparable[number] else []
        fingerprint = int(texts.fingerprints[number])
        near = [
            other
            for other, shares_band in chosen
            if shares_band or distance(fingerprint, int(texts.fingerprints[other])) <= RADIUS
        ]
        yield sorted(near)


def by_map(texts: Texts, keys: Keys, pieces: Sequence[int], known: int) -> Iterator[list[int]]:
    """Yield what the map finds: so many texts are known before, the others come in batches that end in these places."""
    found_by = KeyMap(keys)
    indexed = texts.comparable[:known].astype(np.int64)
    found_by.add_many(texts.fingerprints[:known], texts.bands[:known], indexed, at_once=17)
    inner = [piece for piece in pieces if known < piece < len(texts)]
    for start, end in pairwise([known, *inner, len(texts)]):
        hashes = found_by.hashes(texts.fingerprints[start:end], texts.bands[start:end])
        numbers, comparable = np.arange(start, end), texts.comparable[start:end]
        found = found_by.find(hashes, numbers, comparable, texts.fingerprints, texts.sketches, ANYTHING)
        yield from map(found.of, range(end - start))


@given(texts, ends, st.integers(0, 60), st.sampled_from(DESIGNS))
def test_it_finds_what_comparing_the_keys_of_all_finds(
    texts: Texts, pieces: list[int], known: int, design: TableDesign
) -> None:
    keys = Keys(design)
    known = min(known, len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_map, "_FEWEST", 1)
        assert list(by_map(texts, keys, pieces, known)) == list(by_hand(texts, keys))[known:]


def test_of_a_key_of_many_the_earliest_are_read_and_the_rarest_keys_come_first() -> None:
    keys, texts = Keys(TableDesign(5, 2)), Texts(1, 100, values=1, share=0)
    texts.comparable[:] = True
    # One band is shared by all, and the last one shares another with one alone.
    texts.bands[:, 0] = 7
    texts.bands[[60, 99], 1] = 8
    *others, last = by_map(texts, keys, [30, 31], known=20)
    assert last == [*range(MOST_READ), 60]
    assert others[-1] == list(range(MOST_READ))
    assert [last, *reversed(others)] == list(reversed(list(by_hand(texts, keys))[20:]))


def test_no_more_are_looked_at_than_can_be_ranked() -> None:
    keys, texts = Keys(TableDesign(5, 2)), Texts(2, 200, values=1, share=0)
    texts.comparable[:] = True
    # The last one shares each of its bands with other ones.
    for number in range(199):
        texts.bands[number, number % BANDS] = 9
    texts.bands[199] = 9
    *_, last = by_map(texts, keys, [], known=0)
    assert len(last) == MOST_RANKED
    assert last == list(by_hand(texts, keys))[-1]


@given(texts, st.integers(0, 60), st.sampled_from([*DESIGNS, TableDesign(9, 1)]))
def test_in_the_papers_mode_it_finds_the_closest_of_all(texts: Texts, known: int, design: TableDesign) -> None:
    keys, known = Keys(design, with_bands=False), min(known, len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_map, "_FEWEST", 1)
        found_by = KeyMap(keys)
        indexed = texts.comparable.astype(np.int64)
        found_by.add_many(texts.fingerprints[:known], texts.bands[:known], indexed[:known], at_once=17)
        hashes = found_by.hashes(texts.fingerprints, texts.bands)
        for number in range(known, len(texts)):
            asked = texts.fingerprints[number]
            closest = found_by.find_closest(number, hashes[number], texts.fingerprints, int(asked), design.radius)
            assert closest == closest_of(texts.fingerprints[:number], texts.comparable[:number], asked, design.radius)
            found_by.add(number, hashes[number], is_found=bool(indexed[number]))


def closest_of(known: NDArray[np.uint64], indexed: NDArray[np.bool_], asked: np.uint64, radius: int) -> int:
    within = np.where(indexed, np.bitwise_count(known ^ asked), 65)
    return NULL if not len(known) or within.min() > radius else int(within.argmin())
