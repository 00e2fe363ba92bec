"""The closest of many fingerprints that probes bring, by reading the runs in which they can be.

`scanning.py` keeps the fingerprints.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.fingerprint.signature import BITS
from dedup.index.memory.flips import Flips, firm_bits, outside, probe
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS

AT_ONCE = 64
"""So many fingerprints are compared at the same time; as many must stand behind the last, whatever they are."""

_PLACE_BITS = 32
_HIGHEST_PLACE = (1 << _PLACE_BITS) - 1
_MORE_FINDS = 1 << 10


class Scanned(NamedTuple):
    """What compiled code looks up in.

    Attributes:
        fingerprints: those of all documents in the order in which they came.
        numbers: the numbers of the documents, likewise.
        grouped: the fingerprints again: of the first documents four times, each time sorted by another block
            and then by place, and behind them the others as they came.
        places: where each of these stands in `fingerprints`.
        starts: where in `grouped` those with a value of a block start, shape (4, 65537).
        flips: how a fingerprint is probed.
        radius: the largest distance.
        limit: how many documents at most are wanted.
    """

    fingerprints: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    grouped: NDArray[np.uint64]
    places: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    flips: Flips
    radius: int
    limit: int


class Closest(NamedTuple):
    """The closest documents of some.

    Attributes:
        keys: distance and place of each as one number, the distance on top, rising; shape (q, n), where n is
            the limit, or how many there are if that is less.
        counts: how many there are, shape (q,).
        known: among how many they are the closest.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    known: int


@compiled
def find_closest(
    scanned: Scanned, count: int, queries: NDArray[np.uint64], margins: NDArray[np.int64], closest: Closest
) -> None:
    """Find the documents that the plan's probes bring, the closest first, then by place.

    Args:
        scanned: the documents.
        count: how many there are.
        queries: the fingerprints that are looked around, shape (q,).
        margins: their margins, shape (q, 64).
        closest: takes what is found.
    """
    # A bit for each document.
    seen = np.zeros(count // BITS + 1, np.uint64)
    for number in range(len(queries)):
        keys, found = _find(scanned, count, queries[number], margins[number], seen)
        closest.keys[number, :found] = keys[:found]
        closest.counts[number] = found


@compiled
def places_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of documents by what `find_closest` found."""
    places: NDArray[np.int64] = keys & _HIGHEST_PLACE
    return places


@compiled
def distance_of(key: int) -> int:
    """Return the distance of a document by what `find_closest` found."""
    return key >> _PLACE_BITS


@compiled
def with_entered(
    scanned: Scanned, keys: NDArray[np.int64], start: int, end: int, query: np.uint64, margins: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the places of the closest documents, those that were entered since they were found among them.

    Args:
        scanned: the documents.
        keys: what `find_closest` found.
        start: how many documents there were then.
        end: how many there are now.
        query: the fingerprint that is looked around.
        margins: its margins.
    """
    last = scanned.radius << _PLACE_BITS | _HIGHEST_PLACE
    if len(keys) == scanned.limit:
        last = keys[-1]
    all_keys, count = np.empty(len(keys) + end - start, np.int64), len(keys)
    all_keys[:count] = keys
    values, exact, counts = np.empty((0, 0), np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    firm = np.uint64(0)
    for at in range(start, end, AT_ONCE):
        here = _within(scanned.fingerprints, at, end, query, last >> _PLACE_BITS, np.uint64(0))
        while here:
            place = at + signed(ones((here & -here) - np.uint64(1)))
            here &= here - np.uint64(1)
            fingerprint = scanned.fingerprints[place]
            key = signed(ones(fingerprint ^ query)) << _PLACE_BITS | place
            if key > last:
                continue
            if values.size == 0:
                values, exact, counts = _values(query, margins, scanned.flips)
                firm = firm_bits(margins, scanned.flips.firm_margin)
            if _is_probed(fingerprint, query, firm, values, exact, counts):
                all_keys[count] = key
                count += 1
    return all_keys[: _keep_best(all_keys, count, last, scanned.limit)] & _HIGHEST_PLACE


@compiled
def _find(
    scanned: Scanned, count: int, query: np.uint64, margins: NDArray[np.int64], seen: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], int]:
    """Return the keys of the closest documents, distance and place as one number, and how many there are."""
    grouped, places, limit = scanned.grouped, scanned.places, scanned.limit
    firm = firm_bits(margins, scanned.flips.firm_margin)
    values, exact, counts = _values(query, margins, scanned.flips)
    run_starts, run_ends, agreeing, runs = _runs(values, exact, counts, scanned.starts, firm)
    # What is not sorted yet is read all.
    sorted_end = signed(scanned.starts[BLOCKS - 1, BLOCK_VALUES])
    run_starts[runs], agreeing[runs] = sorted_end, 0
    run_ends[runs] = sorted_end // BLOCKS * (BLOCKS - 1) + count
    keys, found = np.empty(min(2 * limit, count) + _MORE_FINDS, np.int64), 0
    # How many are noted at each distance, and how many of them up to that of the last one that is wanted.
    tally, within = np.zeros(BITS + 1, np.int64), 0
    last = scanned.radius << _PLACE_BITS | _HIGHEST_PLACE
    for run in range(runs + 1):
        end, agree = run_ends[run], agreeing[run]
        for at in range(run_starts[run], end, AT_ONCE):
            most = last >> _PLACE_BITS
            # Places rise in a run: of those that are as far away as the last one, it comes first.
            if last & _HIGHEST_PLACE < _HIGHEST_PLACE and signed(places[at]) > last & _HIGHEST_PLACE:
                most -= 1
            here = _within(grouped, at, end, query, most, agree)
            while here:
                where = at + signed(ones((here & -here) - np.uint64(1)))
                here &= here - np.uint64(1)
                distance, place = signed(ones(grouped[where] ^ query)), signed(places[where])
                key = distance << _PLACE_BITS | place
                bit = np.uint64(1) << np.uint64(place & 63)
                # Several runs may bring the same one.
                if key > last or seen[place >> 6] & bit:
                    continue
                if run == runs and not _is_probed(grouped[where], query, firm, values, exact, counts):
                    continue
                if found == len(keys):
                    _forget(seen, keys[:found])
                    found = within = _keep_best(keys, found, last, limit)
                    last = keys[found - 1]
                    tally[:] = 0
                    for each in keys[:found]:
                        tally[each >> _PLACE_BITS] += 1
                        seen[(each & _HIGHEST_PLACE) >> 6] |= np.uint64(1) << np.uint64(each & 63)
                    if key > last:
                        continue
                keys[found] = key
                seen[place >> 6] |= bit
                found += 1
                within += 1
                tally[distance] += 1
                while within - tally[last >> _PLACE_BITS] >= limit:
                    within -= tally[last >> _PLACE_BITS]
                    last = ((last >> _PLACE_BITS) - 1) << _PLACE_BITS | _HIGHEST_PLACE
    _forget(seen, keys[:found])
    return keys, _keep_best(keys, found, last, limit)


@compiled
def _values(
    query: np.uint64, margins: NDArray[np.int64], flips: Flips
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each table the values that are looked up, how many of them always are, and how many there are."""
    values = np.empty((BLOCKS, len(flips.exact) + (1 << flips.weak_bits)), np.int64)
    counts = np.empty(BLOCKS, np.int64)
    for table in range(BLOCKS):
        counts[table] = probe(query, margins, table, flips, values[table])
    return values, flips.starts[1:] - flips.starts[:-1], counts


@compiled
def _runs(
    values: NDArray[np.int64],
    exact: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.uint32],
    firm: np.uint64,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], int]:
    """Return starts and ends of runs, the bits in which all that counts there agrees with the query, and their number.

    First come the values that are always looked up: what has them is the closest, and the more of the closest are
    known, the fewer others need a look.
    """
    run_starts, run_ends = np.empty(values.size + 1, np.int64), np.empty(values.size + 1, np.int64)
    agreeing, runs = np.empty(values.size + 1, np.uint64), 0
    for is_weak in range(2):
        for table in range(BLOCKS):
            agree = firm & outside(table) if is_weak else np.uint64(0)
            for number in range(exact[table] * is_weak, counts[table] if is_weak else exact[table]):
                value = values[table, number]
                run_starts[runs], run_ends[runs] = starts[table, value], starts[table, value + 1]
                agreeing[runs] = agree
                runs += run_starts[runs] < run_ends[runs]
    return run_starts, run_ends, agreeing, runs


@compiled
def _is_probed(
    stored: np.uint64,
    query: np.uint64,
    firm: np.uint64,
    values: NDArray[np.int64],
    exact: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> bool:
    for table in range(BLOCKS):
        block = block_of(stored, table)
        agrees = (stored ^ query) & firm & outside(table) == 0
        for number in range(counts[table] if agrees else exact[table]):
            if values[table, number] == block:
                return True
    return False


@compiled
def _within(
    fingerprints: NDArray[np.uint64], start: int, end: int, query: np.uint64, most: int, agree: np.uint64
) -> np.uint64:
    """Return a bit for each of 64 fingerprints before an end that is not too far away, and agrees in some bits."""
    here = np.uint64(0)
    if most < 0:
        return here
    first = np.uint64(start)
    # Without a branch: the compiler does this for several at once.
    for place in range(AT_ONCE):
        differing = fingerprints[first + np.uint64(place)] ^ query
        counts = (ones(differing) <= np.uint64(most)) & (differing & agree == 0)
        here |= np.uint64(counts) << np.uint64(place)
    if end - start < AT_ONCE:
        here &= (np.uint64(1) << np.uint64(end - start)) - np.uint64(1)
    return here


@compiled
def _forget(seen: NDArray[np.uint64], keys: NDArray[np.int64]) -> None:
    for key in keys:
        seen[(key & _HIGHEST_PLACE) >> 6] = 0


@compiled
def _keep_best(keys: NDArray[np.int64], count: int, last: int, limit: int) -> int:
    """Put the smallest keys in order, up to one, and return how many there are, at most so many as are wanted."""
    found = 0
    for number in range(count):
        key = keys[number]
        if key > last:
            continue
        # Few count, and those of a run come in order.
        place = found
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key
        found += 1
    return min(found, limit)
