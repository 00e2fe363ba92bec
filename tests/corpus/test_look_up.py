"""The look-up of `dedup files`: with all or by tables, at once or one by one, it finds what brute force finds."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup.corpus.candidates.candidates import Candidates
from dedup.corpus.candidates.look_up import look_up
from dedup.corpus.deciding.briefs import BRIEF_WORDS
from dedup.corpus.deciding.confirming import find_sure, sure_flips
from dedup.corpus.deciding.kernels import Sketches
from dedup.corpus.deciding.known import NOWHERE
from dedup.index.probes import ProbePlan
from dedup.rules.cautions import Caution
from dedup.rules.documents import Match, StoredDocument
from dedup.rules.matcher import Asked, Matcher
from dedup.rules.settings import DedupSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import plan_of
from dedup.signature.sketch import Sketch

QUERIES = 40


def by_brute_force(
    plan: ProbePlan, stored: NDArray[np.uint64], query: int, margins: NDArray[np.int64], limit: int
) -> list[int]:
    distances = [(query ^ each).bit_count() for each in stored.tolist()]
    order = sorted(range(len(stored)), key=lambda place: (distances[place], place))
    near = (place for place in order if distances[place] <= plan.radius)
    found = (place for place in near if plan.find(query, margins, int(stored[place])) is not None)
    return [place for place, _ in zip(found, range(limit), strict=False)]


def crowded(seed: int, count: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return fingerprints of which many share blocks, some all bits, and margins, many of them equal."""
    random = np.random.default_rng(seed)
    bases = random.integers(0, 2**64, 3, np.uint64)
    flips = np.uint64(1) << random.integers(0, 64, (count, 9), np.uint64)
    flips[random.random((count, 9)) < 0.5] = 0
    return bases[random.integers(0, 3, count)] ^ np.bitwise_xor.reduce(flips, axis=1), random.integers(
        0, 30, (count, 64)
    )


def look_around(found: Candidates, queries: NDArray[np.uint64], margins: NDArray[np.int64]) -> list[list[int]]:
    closest = found.find(queries, margins, 0)
    return [found.numbers_of(closest, query).tolist() for query in range(len(queries))]


@given(
    st.integers(0, 2**32),
    st.integers(1, 260),
    st.sampled_from([1, 5, 64]),
    st.sampled_from([(16, 8, 1.2), (16, 8, float("inf")), (3, 0, 1.2), (0, 4, 0.0)]),
    st.integers(1, 2),
    st.sampled_from([1000, 30]),
)
@settings(max_examples=40, deadline=None)
def test_what_brute_force_finds(
    seed: int, count: int, limit: int, made: tuple[int, int, float], threads: int, most_compared: int
) -> None:
    radius, weak_bits, firm_margin = made
    stored, margins = crowded(seed, count + QUERIES)
    options = DedupSettings(max_candidates=limit, radius=radius, weak_bits=weak_bits, firm_margin=firm_margin)
    with pytest.MonkeyPatch.context() as patch, closing(Candidates(options, threads)) as candidates:
        patch.setattr("dedup.corpus.candidates.candidates.MOST_COMPARED", most_compared)
        patch.setattr("dedup.corpus.candidates.candidates.MOST_COMPARED_EXACTLY", most_compared)
        for start in range(0, count, 50):
            part = stored[start : min(start + 50, count)]
            candidates.add_many(start + np.arange(len(part)), part)
        found = look_around(candidates, stored[count:], margins[count:])
    for number in range(0, QUERIES, 7):
        query = int(stored[count + number])
        assert found[number] == by_brute_force(plan_of(options), stored[:count], query, margins[count + number], limit)


@given(st.integers(0, 2**32), st.integers(1, 120), st.integers(1, QUERIES), st.sampled_from([1, 5, 64]))
@settings(max_examples=25, deadline=None)
def test_what_was_entered_since_is_found_too(seed: int, before: int, since: int, limit: int) -> None:
    stored, margins = crowded(seed, before + since + QUERIES)
    count = before + since
    options = DedupSettings(max_candidates=limit)
    with closing(Candidates(options, 1)) as candidates:
        candidates.add_many(np.arange(before), stored[:before])
        closest = candidates.find(stored[count:], margins[count:], 0)
        candidates.add_many(np.arange(before, count), stored[before:count])
        look_up(candidates.room(0), count, 0, QUERIES, closest)
        found = [candidates.numbers_of(closest, query).tolist() for query in range(QUERIES)]
        assert found == look_around(candidates, stored[count:], margins[count:])


@pytest.mark.parametrize("limit", [1, 64, 5_000])
def test_far_more_that_are_equally_far_away_than_are_wanted(limit: int) -> None:
    random = np.random.default_rng(1)
    query = 0x0123456789ABCDEF
    stored = np.uint64(query) ^ np.uint64(1) << random.integers(0, 64, 6_000, np.uint64)
    stored[4_000:] ^= np.uint64(1) << random.integers(0, 64, 2_000, np.uint64)
    margins = random.integers(0, 30, (1, 64))
    options = DedupSettings(max_candidates=limit)
    with closing(Candidates(options, 1)) as candidates:
        candidates.add_many(np.arange(6_000), stored)
        [found] = look_around(candidates, np.array([query], np.uint64), margins)
    assert found == by_brute_force(plan_of(options), stored, query, margins[0], limit)


def test_fewer_near_ones_than_the_first_documents_let_expect() -> None:
    random = np.random.default_rng(2)
    queries = np.array([0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x0F1E2D3C4B5A6978], np.uint64)
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    stored = random.integers(0, 2**64, 20_000, np.uint64)
    for number, query in enumerate(queries):
        # In the first piece 60 at one bit, later ones at eight; of the first query enough at one bit.
        stored[number : 3 * 60 : 3] = query ^ bits[:60]
        stored[5_000 + number :: 5] = query ^ np.uint64(0xFF if number else 1)
    margins = random.integers(0, 30, (3, 64))
    options = DedupSettings(max_candidates=64)
    with closing(Candidates(options, 1)) as candidates:
        candidates.add_many(np.arange(20_000), stored)
        found = look_around(candidates, queries, margins)
    for number, query in enumerate(queries.tolist()):
        assert found[number] == by_brute_force(plan_of(options), stored, query, margins[number], 64)


@given(
    st.integers(0, 2**32),
    st.floats(0, 0.4),
    st.integers(0, 5),
    st.integers(40, 200),
    st.booleans(),
    st.sampled_from(Caution),
)
@settings(max_examples=200, deadline=None)
def test_what_is_sure_is_what_is_confirmed_without_words(
    seed: int, changed: float, flipped: int, tokens: int, is_led: bool, caution: Caution
) -> None:
    random = np.random.default_rng(seed)
    made = DedupSettings(caution=caution)
    base = random.integers(0, 16, 128)
    nibbles = np.array([np.where(random.random(128) < changed, random.integers(0, 16, 128), base) for _ in range(3)])
    minima = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    sketches = [Sketch(each.tobytes(), 0, tokens, tokens - 2) for each in minima]
    fingerprint = int(random.integers(0, 2**63))
    others = [fingerprint ^ sum(1 << int(bit) for bit in set(random.integers(0, 64, flipped))) for _ in range(2)]
    leaders = np.array([NOWHERE, 0 if is_led else NOWHERE])
    found = find_sure(
        np.array([1]),
        Sketches(
            minima[:2].view(np.uint64),
            *(np.full(2, n, np.uint32) for n in (tokens - 2, tokens)),
            np.empty((0, BRIEF_WORDS), np.uint64),
        ),
        np.array(others, np.uint64),
        leaders,
        np.uint64(fingerprint),
        minima[2].view(np.uint64),
        tokens - 2,
        tokens,
        Thresholds.of(made),
        sure_flips(made),
    )
    leader, member = (
        StoredDocument(number, str(number), None, bytes([number]), 0, others[number], sketches[number], True, None)
        for number in range(2)
    )
    asked = []

    def words() -> bytes:
        asked.append(True)
        return b""

    match = Match(leader if is_led else member, member)
    rule = Matcher(made).decide(Asked(fingerprint, np.zeros(64, np.int64), sketches[2], words), match, words)
    assert (found == 1) == (rule.is_duplicate and not asked)
    assert found in (1, NOWHERE)
