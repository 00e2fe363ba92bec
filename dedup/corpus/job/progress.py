"""What a person sees while a corpus is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TextIO

from dedup.corpus.reading.documents import Position
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.state.tally import Tally
from dedup.progress import Progress


class CorpusProgress:
    """Shows how far a run is.

    Args:
        stream: where it is shown.
        files: those that are read.
        start: where reading begins, if it goes on.
    """

    def __init__(self, stream: TextIO, files: Sequence[CorpusFile], start: Position | None) -> None:
        self._start = start
        self._stream = stream
        self._before = list(accumulate((file.size for file in files), initial=0))
        self._progress: Progress | None = None
        self._start_documents = 0

    def show(self, tally: Tally, position: Position) -> None:
        """Show how far it is, if it is time to."""
        if self._progress is None:
            # What is compiled for the first document is no part of a rate.
            self._progress = Progress("reading", self._before[-1], self._stream, before=self._bytes(self._start))
            self._start_documents = tally.documents
        if not self._progress.is_due:
            return
        rate = (tally.documents - self._start_documents) / self._progress.seconds
        self._progress.show(
            self._bytes(position),
            f"{tally.documents:,} documents   {tally.exact + tally.near:,} dropped   {rate:,.0f} documents/s",
        )

    def erase(self) -> None:
        """Take the live line away."""
        if self._progress is not None:
            self._progress.erase()

    def _bytes(self, position: Position | None) -> int:
        return 0 if position is None else self._before[position.file] + position.offset
