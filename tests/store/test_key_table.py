"""The law of the index: what is within three bits or shares a band is found, in each kind of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.keys import MOST_RANKED, MOST_READ, RADIUS
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.settings import Mode
from dedup.signature.signature import BANDS, Signature
from tests.deciding import Crawl, empty, few_examples, signature_of
from tests.texts import document, edited

ALL = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, ALL - 1, ALL]
DESIGNS = ["5 choose 2", "4 choose 1", "6 choose 3"]
# More of them would make a key crowded.
FEW = MOST_READ - 1


@pytest.fixture
def open_crawl(start: Callable[..., Crawl]) -> Callable[..., Crawl]:
    def opened(**values: Any) -> Crawl:
        crawl = start(**values)
        empty(crawl)
        return crawl

    return opened


def of_keys(signature: Signature, fingerprint: int, bands: Sequence[int] | None = None) -> Signature:
    """Return the signature of a text with another fingerprint, and other bands."""
    own = signature.bands if bands is None else np.array(bands, np.uint64)
    return replace(signature, fingerprint=fingerprint, bands=own)


def text_of(number: int) -> str:
    """Return a text like no other one."""
    return document(120, f"text {number}")


def original(number: int, fingerprint: int, bands: Sequence[int] | None = None) -> Document:
    return Document(str(number), of_keys(signature_of(text_of(number)), fingerprint, bands))


def copy_of(number: int, fingerprint: int, bands: Sequence[int]) -> Document:
    """Return a document that every comparison confirms to be a copy of that text, if only it is found."""
    return Document(f"copy of {number}", of_keys(signature_of(edited(text_of(number), 1)), fingerprint, bands))


def looked_up(crawl: Crawl, number: int, fingerprint: int, bands: Sequence[int]) -> str | None:
    return crawl.deduplicator.find(copy_of(number, fingerprint, bands), crawl.run).original


def none_shared(random: Random) -> list[int]:
    return [random.getrandbits(64) for _ in range(BANDS)]


def flipped(random: Random, fingerprint: int, most: int) -> int:
    return fingerprint ^ sum(1 << bit for bit in random.sample(range(64), random.randint(0, most)))


def within_reach(one: Document, other: Document) -> bool:
    ours, theirs = one.signature, other.signature
    assert ours is not None
    assert theirs is not None
    return (ours.fingerprint ^ theirs.fingerprint).bit_count() <= RADIUS or bool((ours.bands == theirs.bands).any())


def copies_by_one_key(text: str) -> list[Signature]:
    """Return signatures of a copy of a text, each of which shares another one of its keys and no second one."""
    own, copy, random = signature_of(text), signature_of(edited(text, 1)), Random(3)
    # Of the five blocks of bits a table has two at the top.
    changed = [sum(1 << bit for bit in bits) for bits in combinations((60, 45, 30, 15, 5), 3)]
    by_table = [of_keys(copy, own.fingerprint ^ bits, none_shared(random)) for bits in changed]
    by_band = []
    for number, band in enumerate(own.bands.tolist()):
        bands = none_shared(random)
        bands[number] = band
        by_band.append(of_keys(copy, own.fingerprint ^ ALL, bands))
    return by_table + by_band


def test_each_key_alone_finds_a_document(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl()
    crawl.see("a", text_of(1))
    for copy in copies_by_one_key(text_of(1)):
        assert crawl.deduplicator.find(Document("copy", copy), crawl.run).original == "a"


@st.composite
def shelves(draw: st.DrawFn) -> tuple[list[Document], list[Document]]:
    """Give documents of near fingerprints, and a copy of each, with bands of its own or one in common."""
    random = Random(draw(st.integers(0, 2**32)))
    first = draw(st.integers(0, ALL) | st.sampled_from(EDGES))
    choice = [first, *EDGES, *(random.getrandbits(64) for _ in range(5))]
    originals, copies = [], []
    for number in range(draw(st.integers(1, FEW))):
        fingerprint = flipped(random, random.choice(choice), 6)
        originals.append(original(number, fingerprint))
        bands = none_shared(random)
        if random.random() < 0.3:
            shared = random.randrange(BANDS)
            bands[shared] = int(signature_of(text_of(number)).bands[shared])
        copies.append(copy_of(number, flipped(random, fingerprint, 6), bands))
    return originals, copies


@pytest.mark.parametrize("design", DESIGNS)
def test_all_within_3_bits_or_with_a_common_band_are_found_and_nothing_else(
    open_crawl: Callable[..., Crawl], design: str
) -> None:
    crawl = open_crawl(tables=design)

    @law(crawl)
    @given(shelves(), st.booleans(), st.randoms(use_true_random=False))
    def holds(shelf: tuple[list[Document], list[Document]], at_once: bool, random: Random) -> None:
        empty(crawl)
        originals, copies = shelf
        expected = {
            copy.key: one.key if within_reach(one, copy) else None for one, copy in zip(originals, copies, strict=True)
        }
        shown = random.sample(originals, len(originals))
        if not at_once:
            crawl.see_all(shown)
            assert {each.key: crawl.deduplicator.find(each, crawl.run).original for each in copies} == expected
        found = crawl.see_all([*shown, *copies] if at_once else copies)[-len(copies) :]
        assert {each.key: each.original for each in decided(found)} == expected

    holds()


def test_what_was_forgotten_is_found_no_more(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl()

    @law(crawl)
    @given(shelves(), st.randoms(use_true_random=False))
    def holds(shelf: tuple[list[Document], list[Document]], random: Random) -> None:
        empty(crawl)
        crawl.see_all(shelf[0])
        gone = {each.key for each in shelf[0] if random.random() < 0.5}
        crawl.deduplicator.forget(gone)
        for one, copy in zip(*shelf, strict=True):
            expected = one.key if within_reach(one, copy) and one.key not in gone else None
            assert crawl.deduplicator.find(copy, crawl.run).original == expected

    holds()


@pytest.mark.parametrize("design", DESIGNS)
def test_in_the_papers_mode_whatever_is_within_3_bits_is_found(open_crawl: Callable[..., Crawl], design: str) -> None:
    crawl = open_crawl(mode=Mode.PAPER, tables=design)

    @law(crawl)
    @given(st.integers(0, ALL) | st.sampled_from(EDGES), st.randoms(use_true_random=False), st.integers(1, 40))
    def holds(first: int, random: Random, at_once: int) -> None:
        empty(crawl)
        fingerprints = [flipped(random, random.choice([first, *EDGES]), 6) for _ in range(40)]
        seen = [original(number, each) for number, each in enumerate(fingerprints)]
        found = [each for start in range(0, 40, at_once) for each in crawl.see_all(seen[start : start + at_once])]
        leaders: list[int] = []
        for fingerprint, decision in zip(fingerprints, decided(found), strict=True):
            nearest = min([(fingerprint ^ each).bit_count() for each in leaders], default=64)
            if nearest <= RADIUS:
                assert (decision.verdict, decision.details.distance) == (Verdict.NEAR_DUPLICATE, nearest)
            else:
                assert decision.verdict is Verdict.NEW
                leaders.append(fingerprint)

    holds()


def law(crawl: Crawl) -> settings:
    return settings(max_examples=few_examples(crawl.database))


def decided(found: Sequence[Decision | None]) -> Iterator[Decision]:
    return (each for each in found if each is not None)


# Crowds


def test_of_a_crowded_key_the_earliest_are_read_and_others_once_these_are_gone(
    open_crawl: Callable[..., Crawl],
) -> None:
    crawl, random = open_crawl(), Random(1)
    crawl.see_all([original(number, 42) for number in range(60)])

    def found() -> list[int]:
        bands = none_shared(random)
        return [number for number in range(60) if looked_up(crawl, number, 42, bands) is not None]

    assert found() == list(range(MOST_READ))
    crawl.deduplicator.forget(map(str, range(5)))
    assert found() == list(range(5, 5 + MOST_READ))
    # And whoever shares a rare key comes first.
    rare = [int(signature_of(text_of(50)).bands[0]), *none_shared(random)[1:]]
    assert looked_up(crawl, 50, 42, rare) == "50"


def test_no_more_candidates_are_compared_than_are_ranked(open_crawl: Callable[..., Crawl]) -> None:
    crawl, random = open_crawl(), Random(5)
    bands = none_shared(random)
    for number in range(4 * BANDS):
        own = none_shared(random)
        own[number % BANDS] = bands[number % BANDS]
        crawl.see_all([original(number, random.getrandbits(64), own)])
    found = [number for number in range(4 * BANDS) if looked_up(crawl, number, random.getrandbits(64), bands)]
    assert found == list(range(MOST_RANKED))


def test_in_the_papers_mode_all_are_read(open_crawl: Callable[..., Crawl]) -> None:
    crawl, random = open_crawl(mode=Mode.PAPER), Random(7)
    fingerprints = [42 << 38 | random.getrandbits(38) for _ in range(200)]
    crawl.see_all([original(number, each) for number, each in enumerate(fingerprints)])
    # Of five blocks three have another bit: one table is left, which all of them share.
    last = fingerprints[-1] ^ (1 << 30 | 1 << 20 | 1 << 5)
    assert looked_up(crawl, 500, last, [0] * BANDS) == "199"
