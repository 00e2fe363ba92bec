"""Results of look-ups: noted as they are met, then the closest of each query in their order.

A row of results is the number of the query, the distance in bits and the document.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import inner
from dedup.index.memory.addresses import array_at
from dedup.index.memory.segment import (
    COUNT,
    GROUPS,
    LOWEST,
    MEMBER_IDS,
    MEMBERS,
    OWNER_BYTES,
    OWNERS,
    REMOVED,
    STARTS,
)


@inner
def note(results: NDArray[np.int64], found: int, number: int, distance: int, document: int) -> int:
    """Write a result where there is room for it, and count it."""
    if found < len(results):
        results[found, 0] = number
        results[found, 1] = distance
        results[found, 2] = document
    return found + 1


@inner
def note_documents(
    row: NDArray[np.int64],
    position: int,
    number: int,
    distance: int,
    limit: int,
    results: NDArray[np.int64],
    found: int,
) -> int:
    """Note the documents at a position that were not removed, of several the first `limit`.

    Args:
        row: that of the segment.
        position: that of the fingerprint.
        number: that of the query.
        distance: how far away the fingerprint is, in bits.
        limit: how many results of the query are of interest.
        results: receives them, shape (m, 3).
        found: how many are in it.

    Returns:
        How many there are now; those for which there was no room are counted too.
    """
    owner = np.int64(0)
    if row[OWNER_BYTES] == 4:
        owner = np.int64(array_at(row[OWNERS], np.int32, row[COUNT])[position])
    else:
        owner = array_at(row[OWNERS], np.int64, row[COUNT])[position]
    removed = array_at(row[REMOVED], np.uint8, (row[COUNT] + row[MEMBERS] + 7) >> 3)
    if owner >= 0:
        if row[REMOVED] == 0 or (removed[position >> 3] >> (position & 7)) & 1 == 0:
            return note(results, found, number, distance, owner + row[LOWEST])
        return found
    # Of a damaged file, or removed of the newest.
    if ~owner >= row[GROUPS]:
        return found
    starts = array_at(row[STARTS], np.int64, row[GROUPS] + 1)
    members = array_at(row[MEMBER_IDS], np.int64, row[MEMBERS])
    # Of a damaged file they may be any numbers, of which the difference may have no room in 64 bits.
    after = max(np.int64(0), min(starts[~owner + 1], row[MEMBERS]))
    noted = 0
    for member in range(max(np.int64(0), min(starts[~owner], after)), after):
        if noted == limit:
            break
        slot = row[COUNT] + member
        if row[REMOVED] == 0 or (removed[slot >> 3] >> (slot & 7)) & 1 == 0:
            found = note(results, found, number, distance, members[member])
            noted += 1
    return found


@inner
def rank(results: NDArray[np.int64], start: int, found: int, limit: int) -> int:
    """Sort the results of a query, the closest first, then by document; leave each once, and the first `limit`.

    Args:
        results: shape (m, 3).
        start: where those of the query start.
        found: where they end; nothing is done where there was no room for them.
        limit: how many are left at most.

    Returns:
        Where they end now.
    """
    if found > len(results) or found == start:
        return found
    # Shell's sort: D. Knuth, "The Art of Computer Programming" 3, 5.2.1. To compile a sort of numpy takes seconds.
    gap = 1
    while 3 * gap + 1 < found - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, found):
            distance, document = results[i, 1], results[i, 2]
            place = i
            while place >= start + gap and (
                results[place - gap, 1] > distance
                or (results[place - gap, 1] == distance and results[place - gap, 2] > document)
            ):
                results[place, 1], results[place, 2] = results[place - gap, 1], results[place - gap, 2]
                place -= gap
            results[place, 1], results[place, 2] = distance, document
        gap //= 3
    last = start
    for i in range(start + 1, found):
        if results[i, 2] != results[last, 2] or results[i, 1] != results[last, 1]:
            last += 1
            results[last, 1], results[last, 2] = results[i, 1], results[i, 2]
    return min(last + 1, start + limit)


def rank_all(results: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Do for the results of many queries, in any order, what `rank` does for those of one; ordered by query."""
    numbers = results[:, 0] << 7 | results[:, 1]
    order = np.argsort(numbers)
    in_order = numbers[order]
    if (in_order[1:] == in_order[:-1]).any():
        order = np.lexsort((results[:, 2], numbers))
        in_order = results.take(order, axis=0)
        order = order[np.append(True, (in_order[1:] != in_order[:-1]).any(axis=1))]
    ranked = results.take(order, axis=0)
    # Those farther down have one of the same query so many rows above.
    is_close = np.ones(len(ranked), bool)
    is_close[limit:] = ranked[limit:, 0] != ranked[: max(0, len(ranked) - limit), 0]
    return ranked[is_close]
