"""Who belongs to which cluster: gathered while documents are decided, grouped at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import AppendingFile

FILE = "members"
"""The name of the file, in the folder of the state."""

_NUMBER_BYTES = 8

Leaders = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Returns the leaders of the clusters that documents belong to."""


class Members:
    """The dropped documents with the numbers of their leaders, in a file.

    Args:
        folder: where the file is.
        length: what the last checkpoint returned; 0: begin anew.

    Raises:
        InputError: the file is not what the checkpoint says.
    """

    def __init__(self, folder: Path, length: int = 0) -> None:
        self._file = AppendingFile(folder / FILE, length)
        self._length = length

    def add(self, leader: int, key: str) -> None:
        """Note that a document belongs to the cluster of a leader."""
        self._file.append(leader.to_bytes(_NUMBER_BYTES, "little") + key.encode())

    def checkpoint(self) -> int:
        """Make all of it safe; return its length."""
        self._length = self._file.checkpoint()
        return self._length

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def clusters(self, leaders_of: Leaders) -> Iterator[tuple[int, list[str]]]:
        """Yield each leader, in their order, with the keys of its duplicates, in theirs.

        Args:
            leaders_of: returns the leaders of those that were leaders when a duplicate was noted.
        """
        leaders, places = self._read(leaders_of)
        order = np.argsort(leaders, kind="stable")
        starts = np.flatnonzero(np.diff(leaders[order], prepend=-1))
        for group in np.split(order, starts[1:]) if len(order) else []:
            keys = [self._file.read(place)[_NUMBER_BYTES:].decode() for place in places[group].tolist()]
            yield int(leaders[group[0]]), keys

    def largest(self, count: int, leaders_of: Leaders) -> list[tuple[int, int]]:
        """Return the leaders of the largest clusters with their numbers of duplicates, the largest first."""
        leaders, sizes = np.unique(self._read(leaders_of)[0], return_counts=True)
        largest = np.argsort(-sizes, kind="stable")[:count]
        return list(zip(leaders[largest].tolist(), sizes[largest].tolist(), strict=True))

    def _read(self, leaders_of: Leaders) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return leader and place of all up to the last checkpoint."""
        leaders, places = [], []
        for place, data in self._file.read_all(self._length):
            leaders.append(int.from_bytes(data[:_NUMBER_BYTES], "little"))
            places.append(place)
        return leaders_of(np.array(leaders, np.int64)), np.array(places, np.int64)
