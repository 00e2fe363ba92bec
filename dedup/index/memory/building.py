"""From an array of fingerprints to a segment."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.segment import (
    BLOCK_BITS,
    BLOCK_VALUES,
    BLOCKS,
    MAX_FINGERPRINTS,
    TAGS_A_LINE,
    Owners,
    Segment,
)

_TOP = np.uint64(64 - BLOCK_BITS)


def build(ids: NDArray[np.int64], fingerprints: NDArray[np.uint64]) -> Segment:
    """Build a segment; the arguments are left as they are.

    Args:
        ids: the documents, 0 or more each, shape (n,).
        fingerprints: theirs, shape (n,).

    Raises:
        ValueError: there are more fingerprints than a position of 4 bytes can tell apart.
    """
    if len(fingerprints) > MAX_FINGERPRINTS:
        raise ValueError(f"{len(fingerprints):,} fingerprints in one index: at most {MAX_FINGERPRINTS:,}")
    order = _order(fingerprints)
    ordered, ids = fingerprints.take(order), ids.take(order)
    del order
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    lowest, highest = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    starts, members = np.zeros(1, np.int64), np.empty(0, np.int64)
    if is_new.all():
        owners = _owners(ids - lowest, highest - lowest)
    else:
        firsts = np.flatnonzero(is_new)
        owners, starts, members = _share(ids, firsts, np.diff(firsts, append=len(ids)), lowest, highest)
        ordered = ordered[firsts]
    del ids
    return Segment(ordered, owners, lowest, highest, starts, members, *build_tables(ordered))


def merged(segments: Iterable[Segment]) -> Segment:
    """Make one segment of several, without what was removed; they are left as they are."""
    entries = [(np.empty(0, np.int64), np.empty(0, np.uint64)), *(segment.entries() for segment in segments)]
    ids, fingerprints = (np.concatenate(column) for column in zip(*entries, strict=True))
    del entries
    return build(ids, fingerprints)


def build_tables(ordered: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint32]]:
    """Return directories, tags and positions of sorted fingerprints; see `Segment`."""
    count = len(ordered)
    directories = np.empty((BLOCKS, BLOCK_VALUES + 1), np.uint32)
    tags = np.zeros((BLOCKS - 1, -(-count // TAGS_A_LINE) * TAGS_A_LINE), np.uint16)
    positions = np.empty((BLOCKS - 1, count), np.uint32)
    _fill_directory(directories[0], ordered)
    blocks = ordered.view("<u2").reshape(-1, BLOCKS)[:, ::-1]
    for table in range(1, BLOCKS):
        # Block, tag and position in one number, which numpy sorts several times as fast as it finds an order.
        entries = np.arange(count, dtype=np.uint64)
        parts = entries.view("<u2").reshape(-1, BLOCKS)[:, ::-1]
        parts[:, 0], parts[:, 1] = blocks[:, table], blocks[:, (table + 1) % BLOCKS]
        entries.sort()
        _fill_directory(directories[table], entries)
        positions[table - 1], tags[table - 1, :count] = entries.view("<u4")[::2], parts[:, 1]
        # Before there are the next ones.
        del entries, parts
    return directories, tags, positions


def _order(fingerprints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order that sorts fingerprints."""
    # By their upper halves, of which few are equal: then by the rest where they are.
    entries = np.arange(len(fingerprints))
    halves = entries.view("<u4")[1::2]
    halves[:] = fingerprints.view("<u4")[1::2]
    entries.view(np.uint64).sort()
    alike = np.flatnonzero(halves[1:] == halves[:-1])
    alike = np.union1d(alike, alike + 1)
    halves[:] = 0
    entries[alike] = entries[alike][np.argsort(fingerprints[entries[alike]])]
    return entries


def _fill_directory(directory: NDArray[np.uint32], entries: NDArray[np.uint64]) -> None:
    directory[:-1] = np.searchsorted(entries, np.arange(BLOCK_VALUES, dtype=np.uint64) << _TOP)
    directory[-1] = len(entries)


def _share(
    ids: NDArray[np.int64], firsts: NDArray[np.int64], sizes: NDArray[np.int64], lowest: int, highest: int
) -> tuple[Owners, NDArray[np.int64], NDArray[np.int64]]:
    """Return the owners of fingerprints of which some occur several times, and the groups; see `Segment`.

    Args:
        ids: the documents, those of equal fingerprints together.
        firsts: where each fingerprint's documents begin.
        sizes: how many they are; one that is named twice is counted once afterwards.
        lowest: the smallest id.
        highest: the largest one.
    """
    numbers = np.repeat(np.arange(len(firsts)), sizes)
    of_several = np.repeat(sizes > 1, sizes)
    number, document = numbers[of_several], ids[of_several]
    order = np.lexsort((document, number))
    number, document = number[order], document[order]
    is_other = np.ones(len(number), bool)
    is_other[1:] = (number[1:] != number[:-1]) | (document[1:] != document[:-1])
    number, document = number[is_other], document[is_other]
    counts = np.bincount(number, minlength=len(firsts))
    shared = np.flatnonzero(counts > 1)
    owners = ids[firsts] - lowest
    owners[shared] = ~np.arange(len(shared))
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[shared])))
    return _owners(owners, max(highest - lowest, len(shared))), starts, document[counts[number] > 1]


def _owners(owners: NDArray[np.int64], largest: int) -> Owners:
    """Return the owners as narrow as may be."""
    return owners.astype(np.int32) if largest < 1 << 31 else owners
