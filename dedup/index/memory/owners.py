"""From positions to documents, and finds in their order."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import bytes_at, fingerprints_at, numbers_at, offsets_at
from dedup.index.memory.segment import (
    COUNT,
    FINGERPRINTS,
    GROUPS,
    LOWEST,
    MEMBER_IDS,
    MEMBERS,
    OWNER_BYTES,
    OWNERS,
    REMOVED,
    STARTS,
)

_FEW = 32


@compiled
def note(finds: NDArray[np.int64], found: int, distance: int, document: int) -> int:
    """Write a find where there is room for it, and count it."""
    if found < len(finds):
        finds[found, 0] = distance
        finds[found, 1] = document
    return found + 1


@compiled
def owner_of(row: NDArray[np.int64], position: int) -> int:
    """Return the document at a position, or ~g where there is the group g."""
    owner = signed(0)
    if row[OWNER_BYTES] == 4:
        owner = signed(offsets_at(row[OWNERS], row[COUNT])[position])
    else:
        owner = numbers_at(row[OWNERS], row[COUNT])[position]
    return owner + row[LOWEST] if owner >= 0 else owner


@compiled
def members_of(row: NDArray[np.int64], group: int) -> tuple[int, int]:
    """Return where a group starts and ends; nowhere where a damaged file says nonsense."""
    if group >= row[GROUPS]:
        return 0, 0
    starts = numbers_at(row[STARTS], row[GROUPS] + 1)
    after = max(signed(0), min(starts[group + 1], row[MEMBERS]))
    return max(signed(0), min(starts[group], after)), after


@compiled
def is_removed(row: NDArray[np.int64], slot: int) -> bool:
    """Say whether a document was removed: slot p is that at position p, slot n + m the member m."""
    if row[REMOVED] == 0:
        return False
    bits = bytes_at(row[REMOVED], (row[COUNT] + row[MEMBERS] + 7) >> 3)
    return bool((bits[slot >> 3] >> (slot & 7)) & 1)


@compiled
def slot_of(row: NDArray[np.int64], fingerprint: int, document: int) -> int:
    """Return the slot of a document with a fingerprint, given as a signed number; -1 where it is not there."""
    sought = np.uint64(fingerprint)
    stored = fingerprints_at(row[FINGERPRINTS], row[COUNT])
    position = signed(np.searchsorted(stored, sought))
    if position == row[COUNT] or stored[position] != sought:
        return -1
    owner = owner_of(row, position)
    if owner >= 0:
        return position if owner == document else -1
    first, after = members_of(row, ~owner)
    ids = numbers_at(row[MEMBER_IDS], row[MEMBERS])
    member = first + signed(np.searchsorted(ids[first:after], document))
    return row[COUNT] + member if member < after and ids[member] == document else -1


@compiled
def note_owners(
    row: NDArray[np.int64], position: int, distance: int, limit: int, finds: NDArray[np.int64], found: int
) -> int:
    """Note the documents at a position, of several the first `limit`; return how many finds there are then."""
    owner = owner_of(row, position)
    if owner >= 0:
        return found if is_removed(row, position) else note(finds, found, distance, owner)
    first, after = members_of(row, ~owner)
    ids = numbers_at(row[MEMBER_IDS], row[MEMBERS])
    noted = 0
    for member in range(first, after):
        if noted == limit:
            break
        if not is_removed(row, row[COUNT] + member):
            found = note(finds, found, distance, ids[member])
            noted += 1
    return found


@compiled
def offer(finds: NDArray[np.int64], start: int, found: int, limit: int, distance: int, document: int) -> int:
    """Put a find in its place among those of its query, of which the first `limit` are kept, each once.

    Args:
        finds: distances and documents, the closest first, then by document; shape (m, 2), with room
            for `limit` of them.
        start: where those of the query start.
        found: where they end.
        limit: how many are kept at most; at least 1.
        distance: how far away the find is, in bits.
        document: the document.

    Returns:
        Where they end now.
    """
    place = found
    while place > start and (
        finds[place - 1, 0] > distance or (finds[place - 1, 0] == distance and finds[place - 1, 1] > document)
    ):
        place -= 1
    is_there = place > start and finds[place - 1, 0] == distance and finds[place - 1, 1] == document
    if is_there or place == start + limit:
        return found
    last = min(found, start + limit - 1)
    for following in range(last, place, -1):
        finds[following, 0] = finds[following - 1, 0]
        finds[following, 1] = finds[following - 1, 1]
    finds[place, 0] = distance
    finds[place, 1] = document
    return last + 1


@compiled
def offer_owners(
    row: NDArray[np.int64],
    position: int,
    distance: int,
    limit: int,
    finds: NDArray[np.int64],
    start: int,
    found: int,
) -> int:
    """Offer the documents at a position, of several the first `limit`; return where the finds end then."""
    owner = owner_of(row, position)
    if owner >= 0:
        return found if is_removed(row, position) else offer(finds, start, found, limit, distance, owner)
    first, after = members_of(row, ~owner)
    ids = numbers_at(row[MEMBER_IDS], row[MEMBERS])
    offered = 0
    for member in range(first, after):
        if offered == limit:
            break
        if not is_removed(row, row[COUNT] + member):
            found = offer(finds, start, found, limit, distance, ids[member])
            offered += 1
    return found


@compiled
def settle(finds: NDArray[np.int64], start: int, found: int, limit: int) -> int:
    """Sort the finds of a query, the closest first, then by document; leave each once, and the first `limit`.

    Args:
        finds: distances and documents, shape (m, 2).
        start: where those of the query start.
        found: where they end; nothing is done where there was no room for them.
        limit: how many are left at most.

    Returns:
        Where they end now.
    """
    if found > len(finds):
        return found
    if found - start > 1:
        if found - start <= _FEW:
            for i in range(start + 1, found):
                _sink(finds, start, i)
        else:
            _heap_sort(finds[start:found])
        last = start
        for i in range(start + 1, found):
            if finds[i, 1] != finds[last, 1] or finds[i, 0] != finds[last, 0]:
                last += 1
                finds[last, 0] = finds[i, 0]
                finds[last, 1] = finds[i, 1]
        found = last + 1
    return found if found - start <= limit else start + limit


@compiled
def _is_before(finds: NDArray[np.int64], a: int, b: int) -> bool:
    return bool(finds[a, 0] < finds[b, 0] or (finds[a, 0] == finds[b, 0] and finds[a, 1] < finds[b, 1]))


@compiled
def _swap(finds: NDArray[np.int64], a: int, b: int) -> None:
    finds[a, 0], finds[b, 0] = finds[b, 0], finds[a, 0]
    finds[a, 1], finds[b, 1] = finds[b, 1], finds[a, 1]


@compiled
def _sink(finds: NDArray[np.int64], start: int, place: int) -> None:
    while place > start and _is_before(finds, place, place - 1):
        _swap(finds, place, place - 1)
        place -= 1


@compiled
def _heap_sort(finds: NDArray[np.int64]) -> None:
    for root in range(len(finds) // 2 - 1, -1, -1):
        _sift(finds, root, len(finds))
    for end in range(len(finds) - 1, 0, -1):
        _swap(finds, 0, end)
        _sift(finds, 0, end)


@compiled
def _sift(finds: NDArray[np.int64], root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _is_before(finds, child, child + 1):
            child += 1
        if not _is_before(finds, root, child):
            return
        _swap(finds, root, child)
        root = child
