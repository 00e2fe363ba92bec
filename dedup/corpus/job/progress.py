"""What a person sees while a corpus is read: a live line on a terminal, otherwise a line now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import TextIO

from dedup.corpus.reading.documents import Position
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.state.tally import Tally

_TERMINAL_INTERVAL = 0.5
_LINE_INTERVAL = 10.0
_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Shows how far a run is.

    Args:
        stream: where it is shown.
        files: those that are read.
        start: where reading begins, if it goes on.
    """

    def __init__(self, stream: TextIO, files: Sequence[CorpusFile], start: Position | None) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._interval = _TERMINAL_INTERVAL if self._is_terminal else _LINE_INTERVAL
        self._before = list(accumulate((file.size for file in files), initial=0))
        self._started = time.monotonic()
        self._start_bytes = self._bytes(start)
        self._start_documents: int | None = None
        self._next = self._started
        self._is_shown = False

    def show(self, tally: Tally, position: Position) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        if self._start_documents is None:
            self._start_documents = tally.documents
            # What is compiled for the first document is no part of a rate.
            self._next = now + self._interval
        if now < self._next:
            return
        self._next = now + self._interval
        line = self._line(tally, position, now - self._started)
        if self._is_terminal:
            columns = os.get_terminal_size(self._stream.fileno()).columns
            self._stream.write(_ERASE_LINE + line[: columns - 1])
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
        self._is_shown = True

    def erase(self) -> None:
        """Take the live line away."""
        if self._is_shown and self._is_terminal:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()

    def _line(self, tally: Tally, position: Position, seconds: float) -> str:
        done, total = self._bytes(position), self._before[-1]
        gained = done - self._start_bytes
        left = f"{duration((total - done) / gained * seconds)} left" if gained > 0 else ""
        rate = (tally.documents - (self._start_documents or 0)) / seconds
        return (
            f"reading   {done / max(1, total):4.0%}   {tally.documents:,} documents   "
            f"{tally.exact + tally.near:,} dropped   {rate:,.0f} documents/s   {left}"
        )

    def _bytes(self, position: Position | None) -> int:
        return 0 if position is None else self._before[position.file] + position.offset


def duration(seconds: float) -> str:
    """Write a time like 0:01:30."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
