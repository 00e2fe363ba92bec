"""The URLs that a worker has taken and not yet begun to fetch."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable

from crawler.frontier.entries import TakenUrl
from crawler.frontier.table import SUSPECT


class Ready:
    """URLs in the order in which they were taken.

    Args:
        turns: whether the host with the fewest requests under way comes first, so that one that
            is slow does not hold up the others; else the order is kept.
    """

    def __init__(self, *, turns: bool) -> None:
        self._turns = turns
        self._taken: deque[TakenUrl] = deque()

    def __len__(self) -> int:
        return len(self._taken)

    @property
    def rows(self) -> set[int]:
        """Their rows."""
        return {taken.id for taken in self._taken}

    @property
    def has_suspect(self) -> bool:
        """Whether several processes died with one of them."""
        return any(taken.attempts >= SUSPECT for taken in self._taken)

    def add(self, taken: Iterable[TakenUrl]) -> None:
        """Put URLs behind the others."""
        self._taken += taken

    def next(self, under_way: Counter[str]) -> TakenUrl:
        """Remove a URL and return it; there must be one.

        Args:
            under_way: how many requests go to each host now.
        """
        if not self._turns:
            return self._taken.popleft()
        place, _ = min(enumerate(self._taken), key=lambda each: under_way[each[1].host])
        taken = self._taken[place]
        del self._taken[place]
        return taken

    def remove(self, *, rows: Collection[int] = (), hosts: Collection[str] = ()) -> list[int]:
        """Remove URLs by their rows and their hosts; return the rows."""
        removed = [taken.id for taken in self._taken if taken.id in rows or taken.host in hosts]
        if removed:
            self._taken = deque(taken for taken in self._taken if taken.id not in removed)
        return removed

    def clear(self) -> None:
        """Remove all of them."""
        self._taken.clear()
