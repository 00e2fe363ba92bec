"""The entries of a table: which have a block, which fingerprint each stands for, and whether it is near."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.index.memory.addresses import array_at
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import (
    BLOCKS,
    COUNT,
    DIRECTORIES,
    DIRECTORY_LENGTH,
    FINGERPRINTS,
    POSITIONS,
    TAGS,
    TAGS_LENGTH,
)
from dedup.index.memory.top_k import note_documents


@compiled
def range_of(row: NDArray[np.int64], table: int, block: int) -> tuple[int, int]:
    """Return where the entries that have a block begin and end; damaged directories may say anything."""
    directory = array_at(row[DIRECTORIES] + 4 * DIRECTORY_LENGTH * table, np.uint32, DIRECTORY_LENGTH)
    after = min(signed(directory[block + 1]), row[COUNT])
    return min(signed(directory[block]), after), after


@inner
def tags_of(row: NDArray[np.int64], table: int) -> NDArray[np.uint16]:
    """Return the tags of one of the tables 1 to 3."""
    tags: NDArray[np.uint16] = array_at(row[TAGS] + 2 * (table - 1) * row[TAGS_LENGTH], np.uint16, row[TAGS_LENGTH])
    return tags


@inner
def position_of(row: NDArray[np.int64], table: int, place: int) -> int:
    """Return the position of the fingerprint that an entry stands for."""
    if table == 0:
        return place
    # Of a damaged file it may be any number.
    position = signed(array_at(row[POSITIONS] + 4 * (table - 1) * row[COUNT], np.uint32, row[COUNT])[place])
    return int(min(position, row[COUNT] - 1))


@inner
def compare(
    row: NDArray[np.int64],
    table: int,
    position: int,
    query: np.uint64,
    number: int,
    radius: np.uint64,
    limit: int,
    results: NDArray[np.int64],
    found: int,
) -> int:
    """Note the documents of a fingerprint that a table has found, if it is within the radius and none before found it.

    A table finds what has its block, and a tag within one bit. The arguments are those of `near.search`.
    """
    differing = array_at(row[FINGERPRINTS], np.uint64, row[COUNT])[position] ^ query
    distance = ones(differing)
    if distance > radius:
        return found
    for earlier in range(table):
        tag = block_of(differing, (earlier + 1) % BLOCKS)
        if block_of(differing, earlier) == 0 and tag & (tag - 1) == 0:
            return found
    return note_documents(row, position, number, signed(distance), limit, results, found)
