"""The closest of many fingerprints that probes bring, by comparing with all of them.

Fingerprints of real texts crowd: a wide look-up has to read a large part of all fingerprints anyway, whatever they
are sorted by. So they are compared one after the other, a piece that stays in cache with all queries of a batch.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.corpus.candidates.probing import Probes, brought
from dedup.index.memory.flips import Flips

AT_ONCE = 64
"""So many fingerprints are compared at the same time; as many must stand behind the last, whatever they are."""

# So many are looked at before it is told how far away those are that will be found.
_FIRST = 1024
_IN_CACHE = 8192
# So many of 64 are mostly near.
_FEW = 4
_TOGETHER = 64
_PLACE_BITS = 32
_HIGHEST_PLACE = (1 << _PLACE_BITS) - 1


class Stored(NamedTuple):
    """What is looked up in.

    Attributes:
        fingerprints: those of all documents in the order in which they came, and room for others.
        numbers: the numbers of the documents, likewise.
        flips: how a fingerprint is probed.
        radius: the largest distance, in bits.
    """

    fingerprints: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    flips: Flips
    radius: int


class Closest(NamedTuple):
    """The closest documents of some fingerprints, as far as was looked.

    Attributes:
        first: the place of the first one in its batch.
        queries: these fingerprints, shape (q,).
        keys: distance and place of each as one number, the distance on top, rising; shape (q, n), where n is
            how many are wanted.
        counts: how many there are, shape (q,).
        ends: up to which place was looked, shape (q,).
        probes: what is looked up for each.
    """

    first: int
    queries: NDArray[np.uint64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    ends: NDArray[np.int64]
    probes: Probes


def keys_of(distances: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the keys of documents, see `Closest`."""
    keys: NDArray[np.int64] = distances << _PLACE_BITS | places
    return keys


@compiled
def places_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of documents by their keys, see `Closest`."""
    places: NDArray[np.int64] = keys & _HIGHEST_PLACE
    return places


@inner
def distances_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distances of documents by their keys, see `Closest`."""
    distances: NDArray[np.int64] = keys >> _PLACE_BITS
    return distances


@compiled
def look_up(stored: Stored, end: int, first: int, after: int, closest: Closest) -> None:
    """Find the documents that the plan's probes bring, the closest first, then by place.

    Args:
        stored: the documents.
        end: how many there are.
        first: the first of the queries that it is looked around.
        after: the one behind the last of them; of all these it was looked equally far before.
        closest: the queries; takes what is found besides what was found before.
    """
    if first == after:
        return
    start = closest.ends[first]
    farthest = np.full(after - first, stored.radius)
    # What was looked at tells how far away the last one will be that is found in the end. With that nearly all
    # fingerprints need one comparison.
    while start < end:
        stop = min(max(2 * start, _FIRST), end)
        _look_up_all(stored, start, stop, first, after, farthest, closest)
        for number in range(first, after):
            expected = _expected(closest.keys[number], closest.counts[number], stop / end)
            farthest[number - first] = min(farthest[number - first], expected)
        start = stop
    for number in range(first, after):
        if _most(stored.radius, closest.keys[number], closest.counts[number]) > farthest[number - first]:
            # Fewer than expected: once more, whatever the distance.
            farthest[number - first], closest.counts[number] = stored.radius, 0
            _look_up_all(stored, 0, end, number, number + 1, farthest[number - first :], closest)
    closest.ends[first:after] = end


@inner
def _look_up_all(
    stored: Stored,
    start: int,
    end: int,
    first: int,
    after: int,
    farthest: NDArray[np.int64],
    closest: Closest,
) -> None:
    """Insert the keys of those from `start` to before `end`.

    Args:
        stored: the documents.
        start: the first of them.
        end: the one behind the last.
        first: the first of the queries.
        after: the one behind the last of them.
        farthest: how far away they may be, of each query from the first on.
        closest: the queries.
    """
    # Each array is looked up once, and handed on alone: it is counted who holds one.
    fingerprints, flips = stored.fingerprints, stored.flips
    queries, keys, counts, (values, value_counts, kept) = closest.queries, closest.keys, closest.counts, closest.probes
    exact = flips.starts[1:] - flips.starts[:-1]
    # More bits than those that are always flipped.
    exact_ends = (flips.exact_bits + 1).astype(np.uint64)
    places = np.empty(_IN_CACHE + _FEW, np.int64)
    for piece in range(start, end, _IN_CACHE):
        stop = min(piece + _IN_CACHE, end)
        for number in range(first, after):
            counts[number] = _look_up(
                fingerprints,
                piece,
                stop,
                queries[number],
                values[number],
                value_counts[number],
                kept[number],
                exact,
                exact_ends,
                farthest[number - first],
                keys[number],
                counts[number],
                places,
            )


@inner
def _expected(keys: NDArray[np.int64], found: int, share: float) -> int:
    """Return how far away the last of the closest will be, with three standard deviations to spare.

    Args:
        keys: the closest so far, see `Closest`.
        found: how many they are.
        share: the share of all fingerprints that was looked at.
    """
    expected = len(keys) * share
    rank = int(expected + 3 * np.sqrt(expected)) + 1
    return signed(keys[rank] >> _PLACE_BITS) if rank < found else 1 << 62


@inner
def _look_up(
    fingerprints: NDArray[np.uint64],
    start: int,
    end: int,
    query: np.uint64,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    kept: NDArray[np.uint64],
    exact: NDArray[np.int64],
    exact_ends: NDArray[np.uint64],
    radius: int,
    keys: NDArray[np.int64],
    found: int,
    places: NDArray[np.int64],
) -> int:
    """Insert the keys of those from `start` to before `end`; return how many there are then."""
    most = _most(radius, keys, found)
    near = places[: _near_places(fingerprints, start, end, query, most, places)]
    left = brought(fingerprints, near, query, values, counts, kept, exact, exact_ends)
    # To insert each of them into all keys would take longer than to find it.
    latest, count = np.empty(_TOGETHER, np.int64), 0
    for place in places[:left]:
        distance = signed(ones(fingerprints[place] ^ query))
        if distance <= most:
            count = _insert(latest, count, distance << _PLACE_BITS | place)
            if count == _TOGETHER:
                found, count = _merge(keys, found, latest, count), 0
                most = _most(radius, keys, found)
    return _merge(keys, found, latest, count)


@inner
def _near_places(
    fingerprints: NDArray[np.uint64], start: int, end: int, query: np.uint64, most: int, places: NDArray[np.int64]
) -> int:
    """Write the places from `start` to before `end` of fingerprints that are not too far away; return how many."""
    count = 0
    for at in range(start, end, AT_ONCE):
        here = _near(fingerprints, at, query, most)
        if end - at < AT_ONCE:
            here &= (np.uint64(1) << np.uint64(end - at)) - np.uint64(1)
        found = signed(ones(here))
        # Nearly always as many of them are written, whether they are there or not: nothing is to be foreseen.
        for first in range(count, count + found, _FEW):
            for place in range(first, first + _FEW):
                places[place] = at + signed(ones((here & -here) - np.uint64(1)))
                here &= here - np.uint64(1)
        count += found
    return count


@inner
def _most(radius: int, keys: NDArray[np.int64], found: int) -> int:
    """Return how far away a document may be: of those as far away as the last one that one comes first."""
    return radius if found < len(keys) else min(radius, signed(keys[found - 1] >> _PLACE_BITS) - 1)


@inner
def _near(fingerprints: NDArray[np.uint64], at: int, query: np.uint64, most: int) -> np.uint64:
    """Return a bit for each of 64 fingerprints that is not too far away; of most below 0 those that are equal."""
    here, first, farthest = np.uint64(0), np.uint64(at), np.uint64(max(most, 0))
    # Without a branch: the compiler does this for several at once.
    for place in range(AT_ONCE):
        here |= np.uint64(ones(fingerprints[first + np.uint64(place)] ^ query) <= farthest) << np.uint64(place)
    return here


@inner
def _insert(keys: NDArray[np.int64], count: int, key: int) -> int:
    """Insert a key in order where there is room for it; return how many there are."""
    place = count
    while place > 0 and keys[place - 1] > key:
        keys[place] = keys[place - 1]
        place -= 1
    keys[place] = key
    return count + 1


@inner
def _merge(keys: NDArray[np.int64], count: int, latest: NDArray[np.int64], further: int) -> int:
    """Merge further keys, in order as well, into others, as many as there is room for; return how many there are."""
    merged = min(count + further, len(keys))
    for _ in range(count + further - merged):
        if count == 0 or (further > 0 and latest[further - 1] > keys[count - 1]):
            further -= 1
        else:
            count -= 1
    place = merged
    while further > 0:
        place -= 1
        if count > 0 and keys[count - 1] > latest[further - 1]:
            count -= 1
            keys[place] = keys[count]
        else:
            further -= 1
            keys[place] = latest[further]
    return merged
