"""Two segments into one, in steps as small as one likes.

Nothing is sorted anew: what is sorted in both is merged, first the fingerprints, then each table.
What was removed is left out.
"""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.index.memory.addresses import fingerprints_at, numbers_at, shorts_at, words_at
from dedup.index.memory.owners import is_removed, members_of, owner_of
from dedup.index.memory.ranges import directory_of
from dedup.index.memory.segment import (
    BLOCK_BITS,
    BLOCK_VALUES,
    BLOCKS,
    COUNT,
    FINGERPRINTS,
    MAX_FINGERPRINTS,
    MEMBER_IDS,
    MEMBERS,
    POSITIONS,
    TAGS,
    Owners,
    Segment,
    depth,
    directory_shapes,
    empty_owners,
    tags_length,
)

_NOWHERE = np.uint32(MAX_FINGERPRINTS + 1)

# What is remembered from step to step: what was read and written, the block and where it ends.
_A, _B, _OUT, _GROUP, _MEMBER, _FOLLOWING, _BLOCK, _A_END, _B_END = range(9)


class Merge:
    """The making of a segment from two, which stay as they are.

    Args:
        a: one of them; it may be empty.
        b: the other one.

    Attributes:
        sources: the two.
        size: how many steps of `work` there are.

    Raises:
        ValueError: there are more fingerprints than a position of 4 bytes can tell apart.
    """

    def __init__(self, a: Segment, b: Segment) -> None:
        self.sources = a, b
        room = len(a) + len(b)
        if room > MAX_FINGERPRINTS:
            raise ValueError(f"{room:,} fingerprints in one index: at most {MAX_FINGERPRINTS:,}")
        self.size = BLOCKS * (room + 1) + (BLOCKS - 1) * BLOCK_VALUES
        filled = [segment for segment in self.sources if len(segment)] or [a]
        self._lowest = min(segment.lowest for segment in filled)
        self._highest = max(segment.highest for segment in filled)
        # Room that is not needed is not touched, and so takes no memory.
        self._fingerprints = np.empty(room, np.uint64)
        self._owners = empty_owners(room, self._lowest, self._highest, room)
        self._starts = np.empty(room + 1, np.int64)
        self._starts[0] = 0
        self._members = np.empty(room + len(a.members) + len(b.members), np.int64)
        self._first_directory = np.empty(directory_shapes(room)[0], np.uint32)
        self._moves = np.empty(len(a), np.uint32), np.empty(len(b), np.uint32)
        self._state = np.zeros(9, np.int64)
        self._table = 0
        self._count = self._groups = self._used = 0

    def work(self, steps: int) -> Segment | None:
        """Do some of the work.

        Args:
            steps: how many entries are read at most; some 20 ns each.

        Returns:
            The segment once it is made.
        """
        rows = self.sources[0].row, self.sources[1].row
        if self._table == 0:
            if not _merge_fingerprints(
                *rows,
                self._state,
                steps,
                (self._fingerprints, self._owners, self._starts, self._members),
                self._lowest,
                *self._moves,
                self._first_directory,
                depth(len(self._first_directory)),
            ):
                return None
            self._begin_tables()
            return None
        table = self._table - 1
        to = self._directories[table], self._tags[table], self._positions[table]
        deeper = depth(self._directories.shape[1])
        if not _merge_table(*rows, self._table, self._state, steps, *self._moves, to, deeper):
            return None
        self._table += 1
        self._state[:] = 0
        return self._made() if self._table == BLOCKS else None

    def _begin_tables(self) -> None:
        self._count, self._groups, self._used = self._state[[_OUT, _GROUP, _MEMBER]].tolist()
        self._directories = np.empty(directory_shapes(self._count)[1], np.uint32)
        self._tags = np.empty((BLOCKS - 1, tags_length(self._count)), np.uint16)
        self._tags[:, self._count :] = 0
        self._positions = np.empty((BLOCKS - 1, self._count), np.uint32)
        self._state[:] = 0
        self._table = 1

    def _made(self) -> Segment:
        return Segment(
            self._fingerprints[: self._count],
            self._owners[: self._count],
            self._lowest,
            self._highest,
            self._starts[: self._groups + 1],
            self._members[: self._used],
            self._first_directory,
            self._directories,
            self._tags,
            self._positions,
        )


@compiled
def _append_owners(row: NDArray[np.int64], position: int, members: NDArray[np.int64], used: int) -> int:
    """Append the documents at a position that were not removed."""
    owner = owner_of(row, position)
    if owner >= 0:
        if not is_removed(row, position):
            members[used] = owner
            used += 1
        return used
    first, after = members_of(row, ~owner)
    ids = numbers_at(row[MEMBER_IDS], row[MEMBERS])
    for member in range(first, after):
        # Groups of damaged files may overlap.
        if used < len(members) and not is_removed(row, row[COUNT] + member):
            members[used] = ids[member]
            used += 1
    return used


@compiled
def _merge_fingerprints(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    state: NDArray[np.int64],
    steps: int,
    to: tuple[NDArray[np.uint64], Owners, NDArray[np.int64], NDArray[np.int64]],
    lowest: int,
    a_moves: NDArray[np.uint32],
    b_moves: NDArray[np.uint32],
    directory: NDArray[np.uint32],
    deeper: int,
) -> bool:
    """Merge fingerprints and owners, and note where each position has moved; return whether all is done."""
    fingerprints, owners, starts, members = to
    a_stored, b_stored = fingerprints_at(a[FINGERPRINTS], a[COUNT]), fingerprints_at(b[FINGERPRINTS], b[COUNT])
    i, j, out = state[_A], state[_B], state[_OUT]
    group, used, following = state[_GROUP], state[_MEMBER], state[_FOLLOWING]
    shift = np.uint64(48 - deeper)
    for _ in range(steps):
        if i == a[COUNT] and j == b[COUNT]:
            break
        of_a = i < a[COUNT] and (j == b[COUNT] or a_stored[i] <= b_stored[j])
        of_b = j < b[COUNT] and (i == a[COUNT] or b_stored[j] <= a_stored[i])
        fingerprint = a_stored[i] if of_a else b_stored[j]
        start = used
        if of_a and used < len(members):
            used = _append_owners(a, i, members, used)
        if of_b and used < len(members):
            used = _append_owners(b, j, members, used)
        if of_a and of_b and used - start > 1:
            members[start:used] = np.sort(members[start:used])
            last = start
            for member in range(start + 1, used):
                if members[member] != members[last]:
                    last += 1
                    members[last] = members[member]
            used = last + 1
        to_place = _NOWHERE
        if used > start:
            fingerprints[out] = fingerprint
            if used - start == 1:
                owners[out] = members[start] - lowest
                used = start
            else:
                owners[out] = ~group
                group += 1
                starts[group] = used
            value = signed(fingerprint >> shift)
            while following <= value:
                directory[following] = out
                following += 1
            to_place = np.uint32(out)
            out += 1
        if of_a:
            a_moves[i] = to_place
            i += 1
        if of_b:
            b_moves[j] = to_place
            j += 1
    state[_A], state[_B], state[_OUT] = i, j, out
    state[_GROUP], state[_MEMBER], state[_FOLLOWING] = group, used, following
    if i == a[COUNT] and j == b[COUNT]:
        directory[following:] = out
        return True
    return False


@compiled
def _merge_table(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    table: int,
    state: NDArray[np.int64],
    steps: int,
    a_moves: NDArray[np.uint32],
    b_moves: NDArray[np.uint32],
    to: tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint32]],
    deeper: int,
) -> bool:
    """Merge one of the tables 1 to 3; return whether all is done."""
    directory, tags, positions = to
    a_directory, a_deeper = directory_of(a, table)
    b_directory, b_deeper = directory_of(b, table)
    a_tags = shorts_at(a[TAGS] + 2 * (table - 1) * tags_length(a[COUNT]), a[COUNT])
    b_tags = shorts_at(b[TAGS] + 2 * (table - 1) * tags_length(b[COUNT]), b[COUNT])
    a_positions = words_at(a[POSITIONS] + 4 * (table - 1) * a[COUNT], a[COUNT])
    b_positions = words_at(b[POSITIONS] + 4 * (table - 1) * b[COUNT], b[COUNT])
    i, j, out, following = state[_A], state[_B], state[_OUT], state[_FOLLOWING]
    block, a_end, b_end = state[_BLOCK], state[_A_END], state[_B_END]
    for _ in range(steps):
        if i == a_end and j == b_end:
            if block == BLOCK_VALUES:
                break
            block += 1
            a_end = max(i, min(signed(a_directory[block << a_deeper]), a[COUNT]))
            b_end = max(j, min(signed(b_directory[block << b_deeper]), b[COUNT]))
            continue
        # What was removed must not hold up what stands behind it.
        if i < a_end and _moved(a_moves, signed(a_positions[i])) == _NOWHERE:
            i += 1
            continue
        if j < b_end and _moved(b_moves, signed(b_positions[j])) == _NOWHERE:
            j += 1
            continue
        # The largest of all keys where a segment has no more in this block.
        a_key = b_key = signed(1) << 62
        if i < a_end:
            a_key = (signed(a_tags[i]) << 32) | _moved(a_moves, signed(a_positions[i]))
        if j < b_end:
            b_key = (signed(b_tags[j]) << 32) | _moved(b_moves, signed(b_positions[j]))
        key = a_key
        if a_key <= b_key:
            i += 1
        else:
            key = b_key
            j += 1
        position = np.uint32(key & signed(0xFFFFFFFF))
        # A fingerprint that stands in both segments comes twice.
        if out == len(positions) or (out > 0 and positions[out - 1] == position):
            continue
        tag = key >> 32
        value = ((block - 1) << deeper) | (tag >> (BLOCK_BITS - deeper))
        while following <= value:
            directory[following] = out
            following += 1
        tags[out] = tag
        positions[out] = position
        out += 1
    state[_A], state[_B], state[_OUT], state[_FOLLOWING] = i, j, out, following
    state[_BLOCK], state[_A_END], state[_B_END] = block, a_end, b_end
    if block == BLOCK_VALUES and i == a_end and j == b_end:
        directory[following:] = out
        # Of damaged files there may be too few.
        positions[out:] = _NOWHERE
        return True
    return False


@compiled
def _moved(moves: NDArray[np.uint32], position: int) -> int:
    return signed(moves[position]) if position < len(moves) else signed(_NOWHERE)
