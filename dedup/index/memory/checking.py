"""Whether the arrays of a segment fit together: what a checksum cannot tell of a file that was written wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.segment import BLOCK_BITS, BLOCKS, Segment, depth

_AT_ONCE = 1 << 22
_TABLES = ("", "second", "third", "fourth")


def find_damage(segment: Segment) -> str | None:
    """Look for the first thing in a segment that is not as it must be.

    Args:
        segment: of a file, with nothing removed.

    Returns:
        What is wrong, in a few words; None if nothing is.
    """
    return next(_damages(segment), None)


def entries_of(segment: Segment) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the documents of a segment and the fingerprint of each, in the order of the fingerprints.

    Args:
        segment: one in which `find_damage` finds none.
    """
    owners = segment.owners.astype(np.int64)
    is_group = owners < 0
    groups = np.where(is_group, ~owners, 0)
    sizes = np.where(is_group, np.diff(segment.starts, append=0)[groups], 1)
    ids = np.repeat(owners + segment.lowest, sizes)
    of_groups = np.repeat(is_group, sizes)
    # Where each entry stands among those of its fingerprint.
    places = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ids[of_groups] = segment.members[(np.repeat(segment.starts[groups], sizes) + places)[of_groups]]
    return ids, np.repeat(segment.fingerprints, sizes)


def _damages(segment: Segment) -> Iterator[str]:
    if not _rises(segment.fingerprints):
        yield "its fingerprints are not sorted"
    yield from _damages_of_owners(segment)
    if not _is_directory(segment.first_directory, segment.fingerprints, 64):
        yield "its first directory does not fit the fingerprints"
    for table in range(1, BLOCKS):
        yield from _damages_of_table(segment, table)


def _damages_of_owners(segment: Segment) -> Iterator[str]:
    owners, starts, members = segment.owners, segment.starts, segment.members
    groups = ~owners[owners < 0].astype(np.int64)
    if not np.array_equal(np.sort(groups), np.arange(len(starts) - 1)):
        yield "its groups of equal fingerprints are not those of its owners"
    if starts[0] != 0 or starts[-1] != len(members) or (len(starts) > 1 and int(np.diff(starts).min()) < 2):
        yield "its groups of equal fingerprints have wrong ends"
        return
    inside = np.ones(len(members), bool)
    inside[starts[:-1]] = False
    if len(members) > 1 and not (np.diff(members)[inside[1:]] > 0).all():
        yield "the documents of a group are not sorted"
    single = owners[owners >= 0]
    largest = [int(single.max()) + segment.lowest] if len(single) else []
    if len(members):
        largest.append(int(members.max()))
        if int(members.min()) < segment.lowest:
            yield "it has a document below its lowest one"
    if largest and max(largest) > segment.highest:
        yield "it has a document above its highest one"


def _damages_of_table(segment: Segment, table: int) -> Iterator[str]:
    count = len(segment)
    tags, positions = segment.tags[table - 1][:count], segment.positions[table - 1]
    name = _TABLES[table]
    seen = np.zeros(count, bool)
    for start in range(0, count, _AT_ONCE):
        some = positions[start : start + _AT_ONCE]
        if int(some.max()) >= count:
            yield f"its {name} table points beyond the fingerprints"
            return
        seen[some] = True
    if not seen.all():
        yield f"its {name} table does not have every fingerprint"
    # Block and tag together, as a table is sorted.
    keys = np.empty(count, np.uint32)
    for start in range(0, count, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        turned = _turned(segment.fingerprints[positions[part]], table)
        keys[part] = turned >> np.uint64(32)
        if not np.array_equal(keys[part].astype(np.uint16), tags[part]):
            yield f"the tags of its {name} table are not those of its fingerprints"
            return
    falls = keys[1:] < keys[:-1]
    if falls.any() or ((keys[1:] == keys[:-1]) & (positions[1:] <= positions[:-1])).any():
        yield f"its {name} table is not sorted"
    if not _is_directory(segment.directories[table - 1], keys, 32):
        yield f"the directory of its {name} table does not fit it"


def _turned(fingerprints: NDArray[np.uint64], table: int) -> NDArray[np.uint64]:
    """Bring the block of a table to the top, and the next one behind it."""
    shift = np.uint64(BLOCK_BITS * table)
    return (fingerprints << shift) | (fingerprints >> (np.uint64(64) - shift))


def _rises(values: NDArray[Any]) -> bool:
    for start in range(0, len(values), _AT_ONCE):
        some = values[start : start + _AT_ONCE + 1]
        if not (some[1:] > some[:-1]).all():
            return False
    return True


def _is_directory(directory: NDArray[np.uint32], values: NDArray[Any], bits: int) -> bool:
    """Say whether a directory tells for each value of the top bits where the first one with it, or a higher one, is.

    Args:
        directory: see `Segment`.
        values: sorted ones.
        bits: how many bits each of them has.
    """
    shift = np.uint64(bits - BLOCK_BITS - depth(len(directory)))
    lowest = np.arange(len(directory) - 1, dtype=np.uint64) << shift
    places = np.searchsorted(values, lowest.astype(values.dtype))
    return np.array_equal(directory[:-1], places) and int(directory[-1]) == len(values)
