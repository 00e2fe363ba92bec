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
from dedup.compiled import compiled, inlined
from dedup.corpus.noting import (
    HIGHEST_PLACE,
    PLACE_BITS,
    TOGETHER,
    Notes,
    is_full,
    lowered,
    note,
    put_in_order,
    room_for_notes,
    unpack,
)
from dedup.corpus.probing import STAGES, Probed, probe_around, room_for_probes
from dedup.index.memory.flips import Flips
from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS

AT_ONCE = 64
"""So many fingerprints are compared at the same time; as many must stand behind the last, whatever they are."""


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
        kept: for each table the bits in which all agrees that weak flips bring, shape (q, 4).
        known: among how many they are the closest.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: NDArray[np.uint64]
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
    room, notes = _room(scanned), room_for_notes(min(scanned.limit, count))
    for number in range(len(queries)):
        found = _find(scanned, count, queries[number], margins[number], closest.kept[number], room, notes)
        closest.keys[number, :found] = notes.keys[:found]
        closest.counts[number] = found


@compiled
def places_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of documents by what `find_closest` found."""
    places: NDArray[np.int64] = keys & HIGHEST_PLACE
    return places


@compiled
def distance_of(key: int) -> int:
    """Return the distance of a document by what `find_closest` found."""
    return key >> PLACE_BITS


class _Room(NamedTuple):
    """What look-ups take place in, one after the other.

    Attributes:
        probed: the values that are looked up.
        starts: where the runs start in which they stand.
        ends: where these end.
        stages: how many runs there are up to the end of each stage.
    """

    probed: Probed
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    stages: NDArray[np.int64]


@compiled
def _room(scanned: Scanned) -> _Room:
    probed = room_for_probes(scanned.flips)
    starts, ends = np.empty(probed.values.size + 1, np.int64), np.empty(probed.values.size + 1, np.int64)
    return _Room(probed, starts, ends, np.empty(STAGES + 1, np.int64))


@inlined
def _find(
    scanned: Scanned,
    count: int,
    query: np.uint64,
    margins: NDArray[np.int64],
    kept: NDArray[np.uint64],
    room: _Room,
    notes: Notes,
) -> int:
    """Write the keys of the closest documents, in order, and return how many there are."""
    grouped, places, limit = scanned.grouped, scanned.places, scanned.limit
    # Each is looked up once, and handed on alone: it is counted who holds an array.
    starts, ends, stages, masks, blocks_at = room.starts, room.ends, room.stages, notes.masks, notes.starts
    where, documents, tally = notes.near, notes.documents, notes.tally
    differing, brought, flipped = notes.differing, notes.brought, notes.flipped
    probe_around(query, margins, scanned.flips, room.probed, kept)
    _find_runs(scanned, count, room)
    tally[:] = 0
    last = scanned.radius << PLACE_BITS | HIGHEST_PLACE
    run, found, noted = 0, 0, 0
    for stage in range(STAGES + 1):
        agree = kept[stage - BLOCKS] if BLOCKS <= stage < STAGES else np.uint64(0)
        blocks, near = 0, 0
        while run < stages[stage]:
            end = ends[run]
            for at in range(starts[run], end, AT_ONCE):
                most = last >> PLACE_BITS
                # Places rise in a run: of those that are as far away as the last one, it comes first.
                if last & HIGHEST_PLACE < HIGHEST_PLACE and signed(places[at]) > last & HIGHEST_PLACE:
                    most -= 1
                here = within(grouped, at, end, query, most, agree)
                masks[blocks], blocks_at[blocks] = here, at
                # Without a branch: whether any is near cannot be foreseen.
                blocks += here != 0
                near += signed(ones(here))
                if near >= TOGETHER:
                    unpack(masks, blocks_at, near, where)
                    noted = note(
                        documents,
                        noted,
                        tally,
                        where,
                        near,
                        stage,
                        grouped,
                        query,
                        room.probed,
                        kept,
                        differing,
                        brought,
                        flipped,
                    )
                    last = lowered(tally, last, limit)
                    blocks, near = 0, 0
                    if is_full(documents, noted):
                        found, noted = min(put_in_order(notes, found, noted, last, places), limit), 0
                        last = min(last, notes.keys[found - 1])
            run += 1
        if near > 0:
            unpack(masks, blocks_at, near, where)
            noted = note(
                documents,
                noted,
                tally,
                where,
                near,
                stage,
                grouped,
                query,
                room.probed,
                kept,
                differing,
                brought,
                flipped,
            )
            last = lowered(tally, last, limit)
    return min(put_in_order(notes, found, noted, last, places), limit)


@inlined
def _find_runs(scanned: Scanned, count: int, room: _Room) -> None:
    """Write where the runs of each stage are, and in the end that of all that is not sorted yet.

    First come the values that are always looked up: what has them is the closest, and the more of the closest are
    known, the fewer others need a look.
    """
    probed, starts, runs = room.probed, scanned.starts, 0
    for stage in range(STAGES):
        table = stage % BLOCKS
        first = probed.exact[table] if stage >= BLOCKS else 0
        end = probed.counts[table] if stage >= BLOCKS else probed.exact[table]
        for value in probed.values[table, first:end]:
            room.starts[runs], room.ends[runs] = starts[table, value], starts[table, value + 1]
            runs += room.starts[runs] < room.ends[runs]
        room.stages[stage] = runs
    # What is not sorted yet is read all.
    sorted_end = signed(starts[BLOCKS - 1, BLOCK_VALUES])
    room.starts[runs] = sorted_end
    room.ends[runs] = sorted_end // BLOCKS * (BLOCKS - 1) + count
    room.stages[STAGES] = runs + 1


@compiled
def within(
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
