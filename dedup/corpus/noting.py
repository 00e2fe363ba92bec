"""Notes of what is near a query, each document once, until the closest are known."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled, inlined
from dedup.corpus.probing import STAGES, Probed
from dedup.fingerprint.signature import BITS
from dedup.index.memory.flips import outside
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCKS

PLACE_BITS = 32
HIGHEST_PLACE = (1 << PLACE_BITS) - 1

TOGETHER = 1 << 6
"""So many near ones are enough to be noted together."""

_MOST_NEAR = 2 * TOGETHER
# So many more than are wanted are noted before they are put in order.
_MORE_NOTES = 1 << 10
# Whether there is room is asked where so many near ones have come together, not for the last ones of each stage.
_MOST_UNASKED = _MOST_NEAR + (STAGES + 1) * TOGETHER


class Notes(NamedTuple):
    """Room for those of one query after the other.

    Attributes:
        masks: of 64 fingerprints that were compared at once a bit for each that is near.
        starts: where each of these 64 begin.
        near: where each near one stands.
        differing: the bits in which each differs from the query.
        brought: less than nothing for each that is brought.
        flipped: whether weak flips may bring each; then which of them do.
        documents: distance of each noted one and where it stands, as one number, the distance on top.
        tally: how many were noted at each distance, shape (65,).
        ends: where those of each distance end while they are put in order, shape (65,).
        keys: distance and place of the closest ones as one number, in order.
    """

    masks: NDArray[np.uint64]
    starts: NDArray[np.int64]
    near: NDArray[np.int64]
    differing: NDArray[np.uint64]
    brought: NDArray[np.int64]
    flipped: NDArray[np.int64]
    documents: NDArray[np.int64]
    tally: NDArray[np.int64]
    ends: NDArray[np.int64]
    keys: NDArray[np.int64]


@compiled
def room_for_notes(limit: int) -> Notes:
    """Make room for looking for so many documents at a time."""
    most_noted = limit + _MORE_NOTES + _MOST_UNASKED
    return Notes(
        np.empty(TOGETHER + 1, np.uint64),
        np.empty(TOGETHER + 1, np.int64),
        np.empty(_MOST_NEAR, np.int64),
        np.zeros(_MOST_NEAR, np.uint64),
        np.empty(_MOST_NEAR, np.int64),
        np.empty(_MOST_NEAR, np.int64),
        np.empty(most_noted, np.int64),
        np.empty(BITS + 1, np.int64),
        np.empty(BITS + 1, np.int64),
        np.empty(limit + most_noted, np.int64),
    )


@inlined
def is_full(documents: NDArray[np.int64], noted: int) -> bool:
    """Say whether there may be no room for what is noted before this is asked again."""
    return noted > len(documents) - _MOST_UNASKED


@inlined
def note(
    documents: NDArray[np.int64],
    noted: int,
    tally: NDArray[np.int64],
    where: NDArray[np.int64],
    near: int,
    stage: int,
    grouped: NDArray[np.uint64],
    query: np.uint64,
    probed: Probed,
    kept: NDArray[np.uint64],
    differing: NDArray[np.uint64],
    brought: NDArray[np.int64],
    flipped: NDArray[np.int64],
) -> int:
    """Note near ones that no earlier stage brings, or, after all stages, those that any brings.

    Args:
        documents: takes the notes, see `Notes`, as all arrays that are not explained here.
        noted: how many are noted.
        tally: counts them.
        where: where the near ones stand.
        near: how many they are, at most 127.
        stage: which stage brings them; 8: none of all.
        grouped: where they stand.
        query: the fingerprint that is looked around.
        probed: the values that are looked up for it.
        kept: see `dedup.corpus.probing.probe_around`.
        differing: room.
        brought: room.
        flipped: room.

    Returns:
        How many are noted now.
    """
    exact_bits = probed.exact_bits
    for number in range(near):
        differing[number] = grouped[where[number]] ^ query
    # All there is room for, whatever it is: of a number that it knows the compiler does several at once.
    for number in range(_MOST_NEAR):
        brought[number] = 0
        flipped[number] = 0
    for table in range(min(stage, BLOCKS)):
        block_bits, most = ~outside(table), exact_bits[table]
        for number in range(_MOST_NEAR):
            # Less than nothing if no more bits than these differ.
            brought[number] |= signed(ones(differing[number] & block_bits)) - most - 1
    if stage > BLOCKS:
        _find_flipped(differing, brought, flipped, near, stage - BLOCKS, query, probed, kept)
    is_wanted = stage == STAGES
    for number in range(near):
        distance = signed(ones(differing[number]))
        documents[noted] = distance << PLACE_BITS | where[number]
        # Without a branch: whether it was noted before cannot be foreseen.
        is_new = (brought[number] < 0) == is_wanted
        noted += is_new
        tally[distance] += is_new
    return noted


@inlined
def lowered(tally: NDArray[np.int64], last: int, limit: int) -> int:
    """Return the largest key that may be wanted now that further documents are noted."""
    found = 0
    for distance in range(last >> PLACE_BITS):
        found += tally[distance]
        if found >= limit:
            last = distance << PLACE_BITS | HIGHEST_PLACE
            break
    return last


@inlined
def put_in_order(notes: Notes, found: int, noted: int, last: int, places: NDArray[np.uint32]) -> int:
    """Put what is noted among the keys, those of all that may be wanted in order.

    Args:
        notes: the notes.
        found: how many keys there are.
        noted: how many documents are noted since.
        last: the largest key that may be wanted.
        places: the place of each fingerprint that the notes are of.

    Returns:
        How many keys there are now.
    """
    keys, ends, tally, documents = notes.keys, notes.ends, notes.tally, notes.documents
    wanted, end = 0, last | HIGHEST_PLACE
    for number in range(noted):
        each = documents[number]
        documents[wanted] = each
        wanted += each <= end
    if found > 0:
        for number in range(wanted):
            each = documents[number]
            keys[found + number] = each & ~HIGHEST_PLACE | signed(places[each & HIGHEST_PLACE])
        found += wanted
        keys[:found].sort()
    else:
        # First those of each distance are put together.
        for distance in range((last >> PLACE_BITS) + 1):
            ends[distance] = found
            found += tally[distance]
        for number in range(wanted):
            each = documents[number]
            distance = each >> PLACE_BITS
            keys[ends[distance]] = each & ~HIGHEST_PLACE | signed(places[each & HIGHEST_PLACE])
            ends[distance] += 1
        _sort_near(keys, found)
    return found


@inlined
def unpack(masks: NDArray[np.uint64], starts: NDArray[np.int64], near: int, where: NDArray[np.int64]) -> None:
    """Write where so many near ones stand; see `Notes`."""
    block, here = 0, masks[0]
    for number in range(near):
        where[number] = starts[block] + signed(ones((here & -here) - np.uint64(1)))
        here &= here - np.uint64(1)
        # Without a branch: how many there are in a block cannot be foreseen.
        is_last = here == 0
        block += is_last
        here = masks[block] if is_last else here


@inlined
def _find_flipped(
    differing: NDArray[np.uint64],
    brought: NDArray[np.int64],
    flipped: NDArray[np.int64],
    near: int,
    tables: int,
    query: np.uint64,
    probed: Probed,
    kept: NDArray[np.uint64],
) -> None:
    """Say of which near ones the weak flips of the first tables bring them."""
    values, exact, counts = probed.values, probed.exact, probed.counts
    for table in range(tables):
        bits = kept[table]
        for number in range(_MOST_NEAR):
            flipped[number] |= signed(differing[number] & bits == 0)
    few = 0
    for number in range(near):
        is_one = flipped[number]
        flipped[few] = number
        few += is_one
    for each in range(few):
        number = flipped[each]
        is_brought = 0
        for table in range(tables):
            if differing[number] & kept[table] == 0:
                block = block_of(query ^ differing[number], table)
                for place in range(np.uint64(exact[table]), np.uint64(counts[table])):
                    is_brought |= values[table, place] == block
        brought[number] |= -signed(is_brought)


@inlined
def _sort_near(keys: NDArray[np.int64], count: int) -> None:
    """Sort keys that stand close to where they belong."""
    for number in range(1, count):
        key, place = keys[number], number
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key
