"""The URLs that were met lately, in bounded memory."""

from __future__ import annotations

_HALF = 32_768


class RecentUrls:
    """Remembers the last URLs that were added, between one and two times `half` of them.

    What it has forgotten costs time and no more: the frontier knows all of them.

    Args:
        half: how many are remembered at least.
    """

    def __init__(self, half: int = _HALF) -> None:
        self._half = half
        # A hash is 64 bits; the URLs themselves would take ten times the memory.
        self._newer: set[int] = set()
        self._older: set[int] = set()

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def __contains__(self, url: str) -> bool:
        return hash(url) in self._newer or hash(url) in self._older

    def add(self, url: str) -> None:
        """Remember a URL."""
        self._newer.add(hash(url))
        if len(self._newer) >= self._half:
            self._older, self._newer = self._newer, set()
