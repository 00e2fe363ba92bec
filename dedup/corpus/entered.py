"""Which documents that were entered since the closest ones were found are candidates too."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.corpus.closest import AT_ONCE, Closest, Scanned, distance_of, places_of, within
from dedup.corpus.noting import HIGHEST_PLACE, PLACE_BITS
from dedup.corpus.probing import is_brought, may_be_brought, probe_around, room_for_probes


@compiled
def near_enough(
    scanned: Scanned, keys: NDArray[np.int64], start: int, end: int, query: np.uint64
) -> tuple[NDArray[np.int64], int]:
    """Return at least the places that `with_entered` does, and how many of them, the first, are certain to be there.

    Which of those entered since are probed is not asked: sketches tell in a fraction of that time that of
    nearly all documents no candidate is worth it.

    Args:
        scanned: the documents.
        keys: what `find_closest` found.
        start: how many documents there were then.
        end: how many there are now.
        query: the fingerprint that is looked around.
    """
    # Of those that are as far away as the last one, it comes first.
    reach = np.uint64(scanned.radius + 1 if len(keys) < scanned.limit else distance_of(keys[-1]))
    places, found = np.empty(len(keys) + end - start, np.int64), len(keys)
    places[:found] = places_of(keys)
    for at in range(start, end, AT_ONCE):
        stop, near = min(at + AT_ONCE, end), 0
        # Without a branch: the compiler does this for several at once.
        for place in range(at, stop):
            near += signed(ones(scanned.fingerprints[place] ^ query) < reach)
        for place in range(at, stop if near else at):
            if ones(scanned.fingerprints[place] ^ query) < reach:
                places[found] = place
                found += 1
    # Each of those entered since may take the place of one that was found before.
    return places[:found], max(0, min(len(keys), scanned.limit + len(keys) - found))


@compiled
def with_entered(
    scanned: Scanned,
    closest: Closest,
    number: int,
    end: int,
    query: np.uint64,
    margins: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the places of the closest documents, those that were entered since they were found among them.

    Args:
        scanned: the documents.
        closest: what `find_closest` found.
        number: which of the queries it is.
        end: how many documents there are now.
        query: the fingerprint that is looked around.
        margins: its margins.
    """
    keys, kept = closest.keys[number, : closest.counts[number]], closest.kept[number]
    last = scanned.radius << PLACE_BITS | HIGHEST_PLACE
    if len(keys) == scanned.limit:
        last = keys[-1]
    more, count = np.empty(end - closest.known, np.int64), 0
    probed, is_probed = room_for_probes(scanned.flips), False
    for at in range(closest.known, end, AT_ONCE):
        # They stand behind all others.
        here = within(scanned.fingerprints, at, end, query, last >> PLACE_BITS, np.uint64(0))
        while here:
            place = at + signed(ones((here & -here) - np.uint64(1)))
            here &= here - np.uint64(1)
            differing = scanned.fingerprints[place] ^ query
            key = signed(ones(differing)) << PLACE_BITS | place
            if key > last or not may_be_brought(differing, probed, kept):
                continue
            if not is_probed:
                probe_around(query, margins, scanned.flips, probed, kept)
                is_probed = True
            if is_brought(differing, query, probed, kept):
                more[count] = key
                count += 1
    return _merged(keys, more, count, scanned.limit)


@compiled
def _merged(keys: NDArray[np.int64], more: NDArray[np.int64], count: int, limit: int) -> NDArray[np.int64]:
    """Return the places of keys in order, further ones among them, at most so many as are wanted."""
    merged = np.empty(len(keys) + count, np.int64)
    merged[: len(keys)] = keys
    for number in range(count):
        place = len(keys) + number
        while place > 0 and merged[place - 1] > more[number]:
            merged[place] = merged[place - 1]
            place -= 1
        merged[place] = more[number]
    return merged[:limit] & HIGHEST_PLACE
