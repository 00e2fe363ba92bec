"""Rows of documents to pairs: who shares which keys with whom, by a sort a key instead of an index.

As `dedup.store.key_table` in SQL: of each key the earliest `MOST_READ`, of all that these give the `MOST_RANKED` that
share the rarest keys, of these such as share a band or are within the radius, and of these those that the check may
confirm, the most similar first.
"""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.parts import Parts, places_in_runs, starts_of_runs
from dedup.keys import MOST_RANKED, MOST_READ, RADIUS, RARITIES, Keys
from dedup.rules.measures import may_be_alike
from dedup.rules.settings import Limits, RuleSettings
from dedup.signature.signature import BITS, similarity_of

PAIR = np.dtype([("number", "<i8"), ("candidate", "<i8")])
"""A document and an earlier one that the check may confirm."""

SKETCH = np.dtype([("minima", "<u8", 8), ("shingles", "<u4"), ("tokens", "<u4")])
"""The sketch of a text, without its numbers, as a row of an array."""

_AT_ONCE = 1 << 14
# Each sorts a key at a time, which takes some 60 bytes a document.
_THREADS = min(4, os.cpu_count() or 1)
_LOWEST_BITS = np.uint64(0x1111111111111111)
_HALF = np.uint64(32)
_LATER_HALF = np.uint64((1 << 32) - 1)


class _Shared(NamedTuple):
    """The documents that share a key of one number, by their places among those that are compared.

    Attributes:
        places: those that come behind others with the same key, rising.
        before: how many there are before each, at most so many as are read.
        heads: where in `earliest` these stand.
        earliest: the first of each key.
        is_band: whether it is the key of a band.
    """

    places: NDArray[np.uint32]
    before: NDArray[np.uint8]
    heads: NDArray[np.uint32]
    earliest: NDArray[np.uint32]
    is_band: bool


def pairs_of(parts: Parts, settings: RuleSettings, tell: Callable[[float], object] | None = None) -> NDArray[Any]:
    """Return which documents have to be compared with which.

    Args:
        parts: the documents.
        settings: how they are compared.
        tell: is given the share of the work that is done, now and then.

    Returns:
        Of the type `PAIR`, by rising numbers; the candidates of each the most similar first, then the earliest.
    """
    tell = tell or (lambda _: None)
    keys, rows, compared = settings.keys, parts.rows, parts.compared()
    fingerprints = np.ascontiguousarray(rows["fingerprint"][compared])
    start = int(np.searchsorted(compared, parts.known))
    found: list[NDArray[Any]] = [np.empty(0, PAIR)]
    ranges = [range(each, min(each + _AT_ONCE, len(compared))) for each in range(start, len(compared), _AT_ONCE)]
    shared: list[_Shared] = []
    with ThreadPoolExecutor(_THREADS) as threads:
        for each in threads.map(partial(_shared, rows, compared, fingerprints, keys), range(keys.count)):
            shared.append(each)
            tell(len(shared) / keys.count / 2)
        for places, others in threads.map(partial(_candidates, shared, fingerprints), ranges):
            tell((1 + places[-1] / len(compared)) / 2 if len(places) else 0.5)
            numbers, candidates = compared[places], compared[others]
            sketches = sketches_of(rows, numbers), sketches_of(rows, candidates)
            similarities, may_be = estimate(*sketches, settings.limits)
            order = np.lexsort((candidates, -similarities, numbers))
            order = order[may_be[order]]
            pairs = np.empty(len(order), PAIR)
            pairs["number"], pairs["candidate"] = numbers[order], candidates[order]
            found.append(pairs)
    return np.concatenate(found)


def _shared(
    rows: NDArray[Any], compared: NDArray[np.int64], fingerprints: NDArray[np.uint64], keys: Keys, number: int
) -> _Shared:
    """Return which documents share the keys of one number."""
    if number < keys.tables:
        values = keys.numbered(number, fingerprints, np.empty((0, 0), np.uint64))
    else:
        values = rows["bands"][:, number - keys.tables][compared]
    order = np.argsort(values, kind="stable").astype(np.uint32)
    values = values[order]
    starts = starts_of_runs(values)
    sizes = np.diff(np.append(starts, len(values)))
    is_shared = sizes > 1
    starts, sizes = starts[is_shared], sizes[is_shared]
    before = places_in_runs(sizes)
    places = order[np.repeat(starts, sizes) + before]
    read = np.minimum(sizes, MOST_READ)
    heads = np.repeat(np.cumsum(read) - read, sizes)
    earliest = places[before < MOST_READ]
    is_behind = before > 0
    behind = places[is_behind]
    rising = np.argsort(behind, kind="stable")
    return _Shared(
        behind[rising],
        np.minimum(before[is_behind], MOST_READ)[rising].astype(np.uint8),
        heads[is_behind][rising].astype(np.uint32),
        earliest,
        number >= keys.tables,
    )


def _candidates(
    shared: list[_Shared], fingerprints: NDArray[np.uint64], places: range
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of some documents with whom they share the rarest keys, where these are near enough."""
    rarities = np.array(RARITIES, np.int64)
    joined, weights = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for each in shared:
        some = slice(*np.searchsorted(each.places, [places.start, places.stop]).tolist())
        before = each.before[some].astype(np.int64)
        others = each.earliest[np.repeat(each.heads[some], before) + places_in_runs(before)]
        joined.append(np.repeat(each.places[some].astype(np.uint64) << _HALF, before) | others)
        # The lowest bit says whether a band is shared.
        weights.append(np.repeat(rarities[before] << 1 | each.is_band, before))
    pairs, weight = np.concatenate(joined), np.concatenate(weights)
    order = np.argsort(pairs, kind="stable")
    pairs, weight = pairs[order], weight[order]
    starts = starts_of_runs(pairs)
    if not len(starts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    pairs = pairs[starts]
    own, others = (pairs >> _HALF).astype(np.int64), (pairs & _LATER_HALF).astype(np.int64)
    order = np.lexsort((others, -np.add.reduceat(weight >> 1, starts), own))
    own, others = own[order], others[order]
    shares_band = np.bitwise_or.reduceat(weight & 1, starts).astype(np.bool_)[order]
    rank = places_in_runs(np.diff(np.append(starts_of_runs(own), len(own))))
    is_near = shares_band | (np.bitwise_count(fingerprints[own] ^ fingerprints[others]) <= RADIUS)
    chosen = (rank < MOST_RANKED) & is_near
    return own[chosen], others[chosen]


def sketches_of(rows: NDArray[Any], numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sketches of some documents, of the type `SKETCH`."""
    sketches = np.empty(len(numbers), SKETCH)
    for name in SKETCH.names or ():
        sketches[name] = rows[name][numbers]
    return sketches


def estimate(ours: NDArray[Any], theirs: NDArray[Any], needed: Limits) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return of pairs of sketches the Jaccard similarity, and whether the check may confirm them.

    As `dedup.rules.matcher.Matcher.rank` does.

    Args:
        ours: one of each pair, of the type `SKETCH`.
        theirs: the other one, at the same place.
        needed: what is to be reached.
    """
    bits = ours["minima"] ^ theirs["minima"]
    bits |= bits >> np.uint64(2)
    bits |= bits >> np.uint64(1)
    differing = np.bitwise_count(bits & _LOWEST_BITS).sum(axis=1)
    counts = [each[name].tolist() for name in ("shingles", "tokens") for each in (ours, theirs)]
    pairs = [*zip(differing.tolist(), *counts, strict=True)]
    found = [similarity_of(*pair) for pair in pairs]
    may_be = [may_be_alike(*each, min(pair[3:]), needed) for each, pair in zip(found, pairs, strict=True)]
    return np.array([jaccard for jaccard, *_ in found], np.float64), np.array(may_be, np.bool_)


def closest_of(parts: Parts, settings: RuleSettings) -> Iterator[tuple[int, int]]:
    """Yield the duplicates of the paper's mode, each with the closest of those that are kept before it.

    Manku, Jain, Das Sarma, WWW 2007, section 4: what shares the prefix of a table is compared, and what is within the
    radius is a duplicate. Who is compared with whom depends on what was dropped, so this goes one by one.

    Args:
        parts: the documents.
        settings: with the radius.
    """
    keys, radius, compared = settings.keys, settings.radius, parts.compared()
    fingerprints = np.ascontiguousarray(parts.rows["fingerprint"][compared])
    groups = _groups(fingerprints, keys)
    kept: defaultdict[int, tuple[array[int], array[int]]] = defaultdict(lambda: (array("q"), array("Q")))
    for place in np.flatnonzero((groups >= 0).any(axis=1)).tolist():
        own, fingerprint = [each for each in groups[place].tolist() if each >= 0], int(fingerprints[place])
        if compared[place] >= parts.known:
            near = (_closest(*kept[group], fingerprint) for group in own if group in kept)
            distance, closest = min(near, default=(BITS, 0))
            if distance <= radius:
                yield int(compared[place]), int(compared[closest])
                continue
        for group in own:
            places, theirs = kept[group]
            places.append(place)
            theirs.append(fingerprint)


def _closest(places: array[int], fingerprints: array[int], fingerprint: int) -> tuple[int, int]:
    """Return the distance and the place of the document closest to a fingerprint, of equally close ones the first."""
    distances = np.bitwise_count(np.frombuffer(fingerprints, np.uint64) ^ np.uint64(fingerprint))
    nearest = int(distances.argmin())
    return int(distances[nearest]), places[nearest]


def _groups(fingerprints: NDArray[np.uint64], keys: Keys) -> NDArray[np.int64]:
    """Return of each document and table the number of those that share its prefix; -1: it is alone there."""
    groups = np.full((len(fingerprints), keys.tables), -1, np.int64)
    end = 0
    for number in range(keys.tables):
        values = keys.numbered(number, fingerprints, np.empty((0, 0), np.uint64))
        _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
        groups[:, number] = np.where(sizes[group] > 1, end + group, -1)
        end += len(sizes)
    return groups
