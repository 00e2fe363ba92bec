"""Who belongs to which cluster: gathered while documents are decided, grouped at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
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

    def clusters(self, leaders_of: Leaders) -> Clusters:
        """Return the clusters of all that were noted up to the last checkpoint.

        Args:
            leaders_of: returns the leaders of those that were leaders when a duplicate was noted.
        """
        leaders, places = [], []
        for place, data in self._file.read_all(self._length):
            leaders.append(int.from_bytes(data[:_NUMBER_BYTES], "little"))
            places.append(place)
        return Clusters(self._file, leaders_of(np.array(leaders, np.int64)), np.array(places, np.int64))


class Clusters:
    """Duplicates by the leaders of their clusters.

    Args:
        file: where the duplicates stand.
        leaders: the number of the leader of each.
        places: where each stands.

    Attributes:
        leaders: the numbers of the leaders, rising.
    """

    def __init__(self, file: AppendingFile, leaders: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self._file = file
        order = np.argsort(leaders, kind="stable")
        self._places = places[order]
        self.leaders, starts = np.unique(leaders[order], return_index=True)
        self._bounds = np.append(starts, len(order))

    def largest(self, count: int) -> list[tuple[int, int]]:
        """Return the leaders of the largest clusters with their numbers of duplicates, the largest first."""
        sizes = np.diff(self._bounds)
        largest = np.argsort(-sizes, kind="stable")[:count]
        return list(zip(self.leaders[largest].tolist(), sizes[largest].tolist(), strict=True))

    def keys(self) -> Iterator[list[str]]:
        """Yield the keys of the duplicates of each leader, in the order in which they were noted."""
        duplicates = self._file.read_many(self._places.tolist())
        for size in np.diff(self._bounds).tolist():
            yield [data[_NUMBER_BYTES:].decode() for data in islice(duplicates, size)]
