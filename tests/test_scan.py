"""The scan of `dedup files`: sorted or not, at once or one by one, it finds what every fingerprint says of itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.corpus import scanning
from dedup.corpus.briefs import BRIEF_WORDS
from dedup.corpus.closest import Closest, Scanned, places_of
from dedup.corpus.confirming import Sureness, find_sure
from dedup.corpus.entered import near_enough, with_entered
from dedup.corpus.kernels import Sketches
from dedup.corpus.known import NOWHERE
from dedup.corpus.noting import TOGETHER, is_full, room_for_notes
from dedup.corpus.probing import STAGES
from dedup.corpus.scanning import Scan
from dedup.fingerprint.sketch import Sketch
from dedup.index.probes import ProbePlan
from dedup.rules.confirmation import Confirmation
from dedup.rules.documents import Match, StoredDocument
from dedup.rules.verification import plan_of
from dedup.settings import DedupSettings

QUERIES = 40


@cache
def plan(radius: int, weak_bits: int, firm_margin: float) -> ProbePlan:
    return replace(plan_of(DedupSettings()), radius=radius, weak_bits=weak_bits, firm_margin=firm_margin)


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


@given(
    st.integers(0, 2**32),
    st.integers(1, 260),
    st.sampled_from([1, 5, 64]),
    st.sampled_from([(16, 8, 1.2), (16, 8, float("inf")), (3, 0, 1.2), (0, 4, 0.0)]),
    st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_a_scan_finds_what_brute_force_finds(
    seed: int, count: int, limit: int, made: tuple[int, int, float], threads: int
) -> None:
    stored, margins = crowded(seed, count + QUERIES)
    queries = stored[count:]
    with pytest.MonkeyPatch.context() as patch:
        # So that there are both, sorted ones and others, and one more run than can be noted at once.
        patch.setattr(scanning, "_LEAST_UNSORTED", 20)
        patch.setattr(scanning, "_AT_A_TIME", 4)
        scan = Scan(plan(*made), limit, threads)
        for start in range(0, count, 50):
            part = stored[start : min(start + 50, count)]
            scan.add_many(start + np.arange(len(part)), part)
        found = scan.find_closest(queries, margins[count:])
        scan.close()
    for number in range(0, QUERIES, 7):
        expected = by_brute_force(plan(*made), stored[:count], int(queries[number]), margins[count + number], limit)
        assert places_of(found.keys[number, : found.counts[number]]).tolist() == expected


def test_far_more_equal_fingerprints_than_are_wanted() -> None:
    stored = np.full(5_000, 0x0123456789ABCDEF, np.uint64)
    stored[::2] ^= np.uint64(1)
    scan = Scan(plan(16, 8, 1.2), 64)
    scan.add_many(np.arange(len(stored)), stored)
    for query, first in ((0x0123456789ABCDEF, 1), (0x0123456789ABCDEE, 0)):
        assert scan.closest(query, np.full(64, 9)).tolist() == list(range(first, 128, 2))
    scan.close()


@pytest.mark.parametrize("limit", [1, 64, 10**12])
def test_more_that_are_equally_far_away_than_are_noted_at_once(limit: int) -> None:
    random = np.random.default_rng(1)
    query = 0x0123456789ABCDEF
    stored = np.uint64(query) ^ np.uint64(1) << random.integers(0, 64, 6_000, np.uint64)
    stored[4_000:] ^= np.uint64(1) << random.integers(0, 64, 2_000, np.uint64)
    margins = random.integers(0, 30, 64)
    scan = Scan(plan(16, 8, 1.2), limit)
    scan.add_many(np.arange(5_000), stored[:5_000])
    # The last stand behind those that are sorted.
    scan.add_many(np.arange(5_000, 6_000), stored[5_000:])
    expected = by_brute_force(plan(16, 8, 1.2), stored, query, margins, limit)
    assert scan.closest(query, margins).tolist() == expected
    scan.close()


def apart(query: int, block: int, count: int) -> NDArray[np.uint64]:
    """Return fingerprints three bits away from a query, which have only one block of 16 bits in common with it."""
    bits = np.random.default_rng(block).integers(0, 16, (count, 3), np.uint64)
    bits += np.array([16 * other for other in range(4) if other != block], np.uint64)
    return np.uint64(query) ^ np.bitwise_or.reduce(np.uint64(1) << bits, axis=1)


@pytest.mark.parametrize("first", [1_024 + 63, 1_024 + 64])
def test_equally_far_away_ones_that_end_one_stage_after_the_other(first: int) -> None:
    query = 0x0123456789ABCDEF
    # The stages come from the topmost block on. So few of a stage are noted only when it ends.
    stored = np.concatenate([apart(query, block, count) for block, count in ((3, first), (2, 63), (1, 64), (0, 64))])
    scan = Scan(plan(16, 0, 1.2), 1)
    scan.add_many(np.arange(len(stored)), stored)
    scan.add_many(len(stored) + np.arange(3_000), np.full(3_000, ~np.uint64(query)))
    assert scan.closest(query, np.full(64, 9)).tolist() == [0]
    scan.close()


@pytest.mark.parametrize("limit", [1, 64, 5_000])
def test_there_is_room_for_all_that_is_noted_before_that_is_asked_again(limit: int) -> None:
    notes = room_for_notes(limit)
    noted = max(count for count in range(len(notes.documents)) if not is_full.py_func(notes.documents, count))
    # The last ones of each stage and of those that are not sorted, and then as many as come together in a stage.
    most = noted + (STAGES + 1) * (TOGETHER - 1) + 2 * TOGETHER - 1
    assert limit <= noted
    assert most <= len(notes.documents)
    assert limit + most <= len(notes.keys)


@compiled
def ask_with_entered(
    scanned: Scanned, closest: Closest, end: int, queries: NDArray[np.uint64], margins: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    return [with_entered(scanned, closest, each, end, queries[each], margins[each]) for each in range(len(queries))]


@given(st.integers(0, 2**32), st.integers(0, 120), st.integers(0, 60), st.sampled_from([1, 5, 64]))
@settings(max_examples=25, deadline=None)
def test_what_was_entered_since_is_found_too(seed: int, before: int, since: int, limit: int) -> None:
    stored, margins = crowded(seed, before + since + QUERIES)
    count = before + since
    queries, asked = stored[count:], margins[count:]
    scan, whole = Scan(plan(16, 8, 1.2), limit), Scan(plan(16, 8, 1.2), limit)
    scan.add_many(np.arange(before), stored[:before])
    with pytest.MonkeyPatch.context() as patch:
        # So that all are sorted while look-ups are under way.
        patch.setattr(scanning, "_LEAST_UNSORTED", 20)
        look_ups = scan.begin(queries, asked)
        scan.add_many(np.arange(before, count), stored[before:count])
        closest = look_ups.result()
    whole.add_many(np.arange(count), stored[:count])
    found = ask_with_entered(scan.room(0), closest, count, queries, asked)
    assert [each.tolist() for each in found] == [
        whole.closest(int(query), each).tolist() for query, each in zip(queries, asked, strict=True)
    ]
    for each, places in enumerate(found):
        nearest = closest.keys[each, : closest.counts[each]]
        may_be, certain = near_enough(scan.room(0), nearest, closest.known, count, queries[each])
        assert set(places.tolist()) <= set(may_be.tolist())
        sure = may_be[:certain].tolist()
        assert [place for place in places.tolist() if place in sure] == sure
    scan.close()
    whole.close()


@given(st.integers(0, 2**32), st.floats(0, 0.4), st.integers(0, 5), st.integers(40, 200), st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_is_sure_is_what_is_confirmed_without_words(
    seed: int, changed: float, flipped: int, tokens: int, is_led: bool
) -> None:
    random = np.random.default_rng(seed)
    made = DedupSettings()
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
        Sureness.of(made),
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
    is_confirmed = Confirmation(made).holds(fingerprint, sketches[2], match, words, words)
    assert (found == 1) == (is_confirmed and not asked)
    assert found in (1, NOWHERE)
