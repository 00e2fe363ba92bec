"""From an array of fingerprints to a segment, in one go."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.index.memory.segment import (
    BLOCK_BITS,
    BLOCK_VALUES,
    BLOCKS,
    MAX_FINGERPRINTS,
    Owners,
    Segment,
    depth,
    directory_shapes,
    empty_owners,
    tags_length,
)
from dedup.index.memory.sorting import partition, sort_by_tag, sort_in_blocks


def build(ids: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> Segment:
    """Build a segment; the arguments are left as they are.

    Args:
        ids: the documents, 0 or more each, shape (n,).
        fingerprints: theirs, shape (n,).

    Raises:
        ValueError: there are more different fingerprints than a position of 4 bytes can tell apart.
    """
    # Not made by compiled code: numpy asks for large pages, of which the processor knows more.
    ordered, moved = np.empty(len(fingerprints), np.uint64), np.empty(len(ids), np.int64)
    sort_in_blocks(ordered, moved, partition(fingerprints, ids, ordered, moved))
    count, groups, members = (int(each) for each in _count(ordered))
    if count > MAX_FINGERPRINTS:
        raise ValueError(f"{count:,} fingerprints in one index: at most {MAX_FINGERPRINTS:,}")
    lowest, highest = (int(moved.min()), int(moved.max())) if len(moved) else (0, 0)
    owners = empty_owners(count, lowest, highest, groups)
    starts, all_members = np.zeros(groups + 1, np.int64), np.empty(members, np.int64)
    used = _own(ordered, moved, lowest, owners, starts, all_members)
    starts = starts[: used[0] + 1]
    all_members = all_members[: used[1]]
    ordered = ordered[:count] if 8 * count > 7 * len(ordered) else ordered[:count].copy()
    del moved
    first_shape, shape = directory_shapes(count)
    first_directory, directories = np.empty(first_shape, np.uint32), np.empty(shape, np.uint32)
    tags = np.empty((BLOCKS - 1, tags_length(count)), np.uint16)
    tags[:, count:] = 0
    positions = np.empty((BLOCKS - 1, count), np.uint32)
    fill_first_directory(ordered, first_directory, depth(len(first_directory)))
    for table in range(1, BLOCKS):
        _build_table(ordered, table, directories[table - 1], depth(shape[1]), tags[table - 1], positions[table - 1])
    return Segment(ordered, owners, lowest, highest, starts, all_members, first_directory, directories, tags, positions)


@compiled
def _count(ordered: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Return how many fingerprints differ, how many of them occur several times, and how often these do together."""
    count = groups = members = 0
    first = 0
    while first < len(ordered):
        after = first + 1
        while after < len(ordered) and ordered[after] == ordered[first]:
            after += 1
        count += 1
        if after - first > 1:
            groups += 1
            members += after - first
        first = after
    return count, groups, members


@compiled
def _own(
    ordered: NDArray[np.uint64],
    ids: NDArray[np.int64],
    lowest: int,
    owners: Owners,
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
) -> tuple[int, int]:
    """Let every fingerprint stand once, at the front, and say whose it is.

    Returns:
        How many groups and how many members there are.
    """
    count = group = used = 0
    first = 0
    while first < len(ordered):
        after = first + 1
        while after < len(ordered) and ordered[after] == ordered[first]:
            after += 1
        ordered[count] = ordered[first]
        start = used
        if after - first > 1:
            ids[first:after] = np.sort(ids[first:after])
            for i in range(first, after):
                if i == first or ids[i] != ids[i - 1]:
                    members[used] = ids[i]
                    used += 1
        if used - start > 1:
            owners[count] = ~group
            group += 1
            starts[group] = used
        else:
            used = start
            owners[count] = ids[first] - lowest
        count += 1
        first = after
    return group, used


@compiled
def fill_first_directory(ordered: NDArray[np.uint64], directory: NDArray[np.uint32], deeper: int) -> None:
    """Write the directory of table 0."""
    shift = np.uint64(48 - deeper)
    following = 0
    for position in range(len(ordered)):
        value = signed(ordered[position] >> shift)
        while following <= value:
            directory[following] = position
            following += 1
    directory[following:] = len(ordered)


@compiled
def _build_table(
    ordered: NDArray[np.uint64],
    table: int,
    directory: NDArray[np.uint32],
    deeper: int,
    tags: NDArray[np.uint16],
    positions: NDArray[np.uint32],
) -> None:
    """Write one of the tables 1 to 3, and its directory."""
    block_shift = np.uint64(48 - BLOCK_BITS * table)
    tag_shift = np.uint64((32 - BLOCK_BITS * table) % 64)
    mask = np.uint64(BLOCK_VALUES - 1)
    starts = np.zeros(BLOCK_VALUES + 1, np.int64)
    for position in range(len(ordered)):
        starts[signed((ordered[position] >> block_shift) & mask) + 1] += 1
    starts = np.cumsum(starts)
    nexts = starts.copy()
    for position in range(len(ordered)):
        block = signed((ordered[position] >> block_shift) & mask)
        place = nexts[block]
        nexts[block] = place + 1
        tags[place] = (ordered[position] >> tag_shift) & mask
        positions[place] = position
    longest = np.max(starts[1:] - starts[:-1])
    spare = np.empty(longest, np.uint16), np.empty(longest, np.uint32), np.empty((2, 257), np.int64)
    following = 0
    for block in range(BLOCK_VALUES):
        first, after = starts[block], starts[block + 1]
        sort_by_tag(tags[first:after], positions[first:after], spare)
        for place in range(first, after):
            value = (block << deeper) | (signed(tags[place]) >> (BLOCK_BITS - deeper))
            while following <= value:
                directory[following] = place
                following += 1
    directory[following:] = len(ordered)
