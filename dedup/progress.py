"""How far something is that takes a while: a live bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")

TERMINAL_INTERVAL = 0.5
LINE_INTERVAL = 10.0


class Progress:
    """Shows how far something is, and how long it may still take; what is done soon shows nothing.

    Args:
        label: what is done, in a word.
        total: how much there is to do, in any unit.
        stream: where it is shown; None: standard error.
        before: how much of it an earlier run has done, which says nothing about this one's speed.

    Attributes:
        total: how much there is to do.
    """

    def __init__(self, label: str, total: float, stream: TextIO | None = None, *, before: float = 0) -> None:
        self._label = label
        self.total = max(1, total)
        self._stream = sys.stderr if stream is None else stream
        self._before = before
        self._is_terminal = self._stream.isatty()
        self._interval = TERMINAL_INTERVAL if self._is_terminal else LINE_INTERVAL
        self._bar: Bar | None = None
        self._started = time.monotonic()
        self._next = self._started + self._interval

    @property
    def seconds(self) -> float:
        """How long it takes already."""
        return time.monotonic() - self._started

    @property
    def is_due(self) -> bool:
        """Whether it is time to show it again."""
        return time.monotonic() >= self._next

    def show(self, done: float, detail: str = "") -> None:
        """Show it, if it is time to.

        Args:
            done: how much of the total is done.
            detail: what else there is to say, in a few words.
        """
        if not self.is_due:
            return
        self._next = time.monotonic() + self._interval
        share = min(1.0, done / self.total)
        gained = done - self._before
        left = f"{duration(max(0.0, self.total - done) / gained * self.seconds)} left" if gained > 0 else ""
        told = "   ".join(filter(None, (detail, left)))
        if self._is_terminal:
            self._show_bar(share, told)
        else:
            self._stream.write(f"{self._label:<10}{share:4.0%}   {told}\n")
            self._stream.flush()

    def erase(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def _show_bar(self, share: float, told: str) -> None:
        if self._bar is None:
            # A tenth of a second, and only terminals need it.
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
            from rich.progress import Progress as Bar  # noqa: PLC0415

            from dedup.terminal import make_console  # noqa: PLC0415

            told_column = TextColumn("{task.fields[told]}", markup=False)
            columns = (TextColumn("{task.description}", markup=False), BarColumn(20), TaskProgressColumn(), told_column)
            # Without a thread of its own, since processes may be forked meanwhile, and without a hand on other streams.
            self._bar = Bar(
                *columns,
                console=make_console(self._stream),
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.update(self._bar.add_task(self._label, total=1.0, told=""), completed=share, told=told)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=share, told=told, refresh=True)


def track(items: Iterable[T], label: str, total: int, stream: TextIO | None = None) -> Iterator[T]:
    """Yield items, and show how many of them have been taken, see `Progress`."""
    with Progress(label, total, stream) as progress:
        for done, item in enumerate(items):
            progress.show(done, f"{done:,} of {total:,}")
            yield item


def duration(seconds: float) -> str:
    """Write a time like 0:01:30."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
