"""Sorting keys finds what comparing those of all documents does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus import pairing
from dedup.corpus.chains import by_chains
from dedup.corpus.pairing import PAIR, closest_of, pairs_of
from dedup.corpus.parts import DOCUMENT, NULL, Parts, RowsFile
from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, Keys, TableDesign, choose
from dedup.rules.settings import Mode, RuleSettings
from dedup.signature.signature import BANDS, distance

DESIGNS = ["5 choose 2", "4 choose 1", "6 choose 3"]


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
        self.compared = chance.random(count) < 0.9

    def __len__(self) -> int:
        return len(self.fingerprints)

    def parts(self, folder: Path, known: int) -> Parts:
        """Write them into a folder; so many are known before."""
        rows = np.zeros(len(self), DOCUMENT)
        rows["digest"][:, 0], rows["leader"] = np.arange(len(self)) + 1, NULL
        rows["fingerprint"], rows["bands"], rows["indexed"] = self.fingerprints, self.bands, self.compared
        rows["shingles"], rows["tokens"] = 98, 100
        rows["known"][:known] = True
        with closing(RowsFile(folder)) as file:
            file.add(rows)
        return Parts(folder)


texts = st.builds(
    Texts,
    st.integers(0, 2**32),
    st.integers(1, 150),
    values=st.sampled_from([1, 3, 40]),
    share=st.sampled_from([0.03, 0.2, 0.9]),
)


def by_hand(texts: Texts, keys: Keys) -> Iterator[list[int]]:
    """Yield the candidates of each text, rising, by comparing its keys with those of all before it."""
    every = keys.of(texts.fingerprints, texts.bands)
    for number, own in enumerate(every):
        before = np.flatnonzero(texts.compared[:number])
        shared = every[before] == own
        found = [
            (key, before[shared[:, key]][:MOST_READ].tolist()) for key in range(keys.count) if shared[:, key].any()
        ]
        chosen = choose(found, keys) if texts.compared[number] else []
        fingerprint = int(texts.fingerprints[number])
        near = [
            other
            for other, shares_band in chosen
            if shares_band or distance(fingerprint, int(texts.fingerprints[other])) <= RADIUS
        ]
        yield sorted(near)


def by_sorting(texts: Texts, design: str = "5 choose 2", known: int = 0) -> list[list[int]]:
    """Return what is found of each text that is not known before."""
    settings = RuleSettings(tables=TableDesign.parse(design), caution="eager", min_jaccard=0.0)
    with tempfile.TemporaryDirectory() as folder:
        pairs = pairs_of(texts.parts(Path(folder), known), settings)
    assert (np.diff(pairs["number"]) >= 0).all()
    return [pairs["candidate"][pairs["number"] == number].tolist() for number in range(known, len(texts))]


@given(texts, st.integers(0, 60), st.sampled_from(DESIGNS), st.sampled_from([1, 7, 1 << 14]))
def test_it_finds_what_comparing_the_keys_of_all_finds(texts: Texts, known: int, design: str, at_once: int) -> None:
    known = min(known, len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairing, "_AT_ONCE", at_once)
        assert by_sorting(texts, design, known) == list(by_hand(texts, Keys(TableDesign.parse(design))))[known:]


def test_of_a_key_of_many_the_earliest_are_read_and_the_rarest_keys_come_first() -> None:
    texts = Texts(1, 100, values=1, share=0)
    texts.compared[:] = True
    # One band is shared by all, and the last one shares another with one alone.
    texts.bands[:, 0] = 7
    texts.bands[[60, 99], 1] = 8
    *others, last = by_sorting(texts)
    assert last == [*range(MOST_READ), 60]
    assert others[-1] == list(range(MOST_READ))


def test_no_more_are_looked_at_than_can_be_ranked() -> None:
    texts = Texts(2, 200, values=1, share=0)
    texts.compared[:] = True
    # The last one shares each of its bands with other ones.
    for number in range(199):
        texts.bands[number, number % BANDS] = 9
    texts.bands[199] = 9
    *_, last = by_sorting(texts)
    assert len(last) == MOST_RANKED
    assert last == list(by_hand(texts, Keys(TableDesign(5, 2))))[-1]


@given(texts, st.integers(0, 60), st.sampled_from([*DESIGNS, "9 choose 1"]))
def test_in_the_papers_mode_it_finds_the_closest_of_all_that_are_kept(texts: Texts, known: int, design: str) -> None:
    known = min(known, len(texts))
    tables = TableDesign.parse(design)
    settings = RuleSettings(mode=Mode.PAPER, radius=tables.radius, tables=tables)
    with tempfile.TemporaryDirectory() as folder:
        found = dict(closest_of(texts.parts(Path(folder), known), settings))
    kept = np.zeros(len(texts), np.bool_)
    kept[:known] = texts.compared[:known]
    for number in np.flatnonzero(texts.compared[known:]).tolist():
        place = known + number
        within = np.where(kept, np.bitwise_count(texts.fingerprints ^ texts.fingerprints[place]), 65)
        closest = int(within.argmin()) if within.min() <= tables.radius else None
        assert found.pop(place, None) == closest
        kept[place] = closest is None
    assert found == {}


def test_what_resembles_members_of_one_known_cluster_is_decided_together() -> None:
    pairs = np.array([(3, 1), (4, 2), (5, 0), (6, 5)], PAIR)
    leaders = np.array([NULL, NULL, 1, *[NULL] * 4])
    ordered, tasks = by_chains(pairs, leaders)
    assert ordered["number"].tolist() == [5, 6, 3, 4]
    assert tasks == [(0, 4)]
    ordered, _ = by_chains(pairs[::2], np.full(7, NULL))
    assert ordered["number"].tolist() == [5, 3]
