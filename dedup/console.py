"""Output for a person at a terminal: colours, tables, live lines, progress."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO, TypeVar
from urllib.parse import quote, unquote_to_bytes

from dedup.files import open_output
from dedup.signature.normalise import clean, without_piles

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar


ELLIPSIS = "…"

_ESCAPED = re.compile("(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_HOST_PART = re.compile("(?:[a-z]+://)?[^/]+/", re.IGNORECASE)
_LARGEST_HEAD_SHARE = 0.7
_SHOWN_OF_DIFFERENCE = 6
_LONGEST_LOGGED = 2_000
_UNITS = ((10_000_000_000, "GB", 1_000_000_000), (10_000_000, "MB", 1_000_000), (10_000, "kB", 1000))


HEADING = "bold"
QUIET = "dim"
EXACT = "green"
NEAR = "yellow"
SIMILAR = "cyan"
WARNING = "bold red"
REMOVED = "red"
ADDED = "green"

# Terminals cut longer ones, or refuse them.
_LONGEST_LINK = 2_000
_LINKED = ("http://", "https://")
_OF_URLS = "".join(letter for letter in map(chr, range(0x21, 0x7F)) if letter not in '"<>\\^`{|}')

T = TypeVar("T")

TERMINAL_INTERVAL = 0.5
LINE_INTERVAL = 10.0


def plain(key: str) -> str:
    """Return a key as one line that cannot move the cursor, hide a part of itself or grow into other lines."""
    if key.isascii() and key.isprintable():
        return key
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in without_piles(clean(key)))


def logged(key: str) -> str:
    """Return a key as it may stand in a line of a log."""
    return cut(plain(key), _LONGEST_LOGGED)


def readable(key: str) -> str:
    """Return a key like `plain`, with the letters of all scripts in the place of their escapes.

    Escapes of ASCII stay, since they tell a slash in a name from one between names; so do those
    that are not UTF-8.
    """
    return plain(_ESCAPED.sub(_unescape, key))


def columns_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int, beside: str = "") -> str:
    """Take letters out of the middle of a text until it fits.

    Args:
        text: what to cut.
        width: columns that it may have.
        beside: a text that it is shown with: where the two begin to differ stays visible, if it can.

    Returns:
        The text, with an ellipsis where letters were taken out; its end is always there.
    """
    if columns_of(text) <= width:
        return text
    # The host and the end of the path say most, unless the difference is in between.
    host = _HOST_PART.match(text)
    start, end = _gap(text, width, min(columns_of(host[0]) if host else width, width // 2))
    differs = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, beside, strict=False)))
    if beside and start <= differs < end:
        behind_difference = columns_of(text[:differs]) + _SHOWN_OF_DIFFERENCE
        before_difference = columns_of(text[: max(0, differs - (end - start) - 1)])
        for head in (behind_difference, before_difference):
            if not 0 < head <= width * _LARGEST_HEAD_SHARE:
                continue
            shifted = _gap(text, width, head)
            if not shifted[0] <= differs < shifted[1]:
                start, end = shifted
                break
    return text[:start] + ELLIPSIS + text[end:]


def similarity(value: float) -> str:
    """Write a similarity as `.93` or `1.00`."""
    return f"{value:.2f}".removeprefix("0")


def exact_and_near(
    exact: int, near: int, distances: tuple[int, int] | None, similarities: tuple[float, float] | None
) -> str:
    """Write how many duplicates there are, such as `3 exact, 2 near (distance 0-5, similarity .74-.99)`.

    The ranges, from the smallest to the largest, are those of the near ones; None without any. Zeros are left out.
    """
    counts = ", ".join(f"{count:,} {kind}" for count, kind in ((exact, "exact"), (near, "near")) if count)
    if distances is None or similarities is None:
        return counts
    return f"{counts} (distance {_range(*map(str, distances))}, similarity {_range(*map(similarity, similarities))})"


def counted(number: int, noun: str) -> str:
    """Return a number of things, such as `1 page`, `1,200 pages` or `2 addresses`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def program(name: str) -> str:
    """Return how to call another program of the environment that this one runs in."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        return name
    return os.path.relpath(path) if Path.cwd() in path.parents else str(path)


def in_unit(size: int, total: int | None = None) -> str:
    """Write a number of bytes, such as `12 kB`, in the unit in which it, or the total of which it is, is best read."""
    whole = size if total is None else total
    unit, factor = next(((name, factor) for least, name, factor in _UNITS if whole >= least), ("B", 1))
    return f"{size / factor:,.0f} {unit}"


def saved_text(saved: int, total: int) -> str:
    """Write how many bytes of all text were saved, such as `12 of 40 kB of text`."""
    return f"{in_unit(saved, total).split()[0]} of {in_unit(total)} of text"


def lost_text(size: int) -> str:
    """Write how many bytes of text were lost with near-duplicates that were dropped."""
    return f"{in_unit(size)} of text that nothing stored has"


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least}-{most}"


def _gap(text: str, width: int, head: int) -> tuple[int, int]:
    """Return from where to where letters have to go so that `head` columns before them stay."""
    before = list(accumulate(map(_columns, text), initial=0))
    start = bisect_right(before, head) - 1
    end = bisect_left(before, before[-1] - (width - before[start] - 1))
    return start, end


@lru_cache(maxsize=10_000)
def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def _unescape(escaped: re.Match[str]) -> str:
    try:
        letters = unquote_to_bytes(escaped[0]).decode()
    except UnicodeDecodeError:
        return escaped[0]
    return letters if letters.isprintable() else escaped[0]


class Part(NamedTuple):
    """A piece of a line, how it is shown (words of `rich.style.Style`), and where a click on it leads, or ""."""

    text: str
    style: str = ""
    link: str = ""


class Styled(str):
    """A text that knows how a terminal shows it; what is made of it by methods of `str` is plain.

    Attributes:
        parts: the pieces that it consists of.
    """

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *pieces: str) -> Self:
        """Join texts, of which some may be styled."""
        styled = cls("".join(pieces))
        styled.parts = tuple(part for piece in pieces for part in _parts(piece))
        return styled


def styled(text: str, style: str = "", link: str = "") -> Styled:
    """Return a text with a style, and with an address that it leads to where there is one, see `link_to`."""
    whole = Styled(text)
    whole.parts = (Part(text, style, link),)
    return whole


def link_to(key: str) -> str:
    """Return the address that a key leads to, as a terminal may be told it; "" where it is none, or too long."""
    if len(key) > _LONGEST_LINK or not key[:8].lower().startswith(_LINKED):
        return ""
    # Nothing is left that could end the link, or begin anything else.
    address = quote(key, safe=_OF_URLS, errors="replace")
    return address if len(address) <= _LONGEST_LINK else ""


def joined(gap: str, pieces: Iterable[str]) -> Styled:
    """Join texts, of which some may be styled, with a gap between them."""
    separated = [each for piece in pieces for each in (gap, piece)]
    return Styled.of(*separated[1:])


def padded(text: str, width: int, *, right: bool = False) -> Styled:
    """Fill a text up with spaces to this many columns, behind it or before it."""
    space = " " * (width - columns_of(text))
    return Styled.of(space, text) if right else Styled.of(text, space)


def width_of(stream: TextIO) -> int | None:
    """Return how many columns the terminal has that a stream goes to; None where it goes to none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def write_lines(lines: Iterable[str], stream: TextIO) -> None:
    """Write lines, with their styles if the stream goes to a terminal."""
    if not stream.isatty():
        stream.writelines(f"{line.rstrip()}\n" for line in lines)
        return
    render = _renderer(make_console(stream))
    for line in lines:
        stream.write("".join(map(render, _without_end(line))) + "\n")


def print_answer(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Write what a command answers to standard output.

    Args:
        value: the answer for a program, of what JSON has.
        lines: the same for a person.
        as_json: whether the program's is wanted.
    """
    with open_output("") as stream:
        write_lines([json.dumps(value, indent=2)] if as_json else lines, stream)


def make_console(stream: TextIO) -> Console:
    """Return a console of rich, which takes nothing in a text for a mark of its own."""
    # A twentieth of a second, and only terminals need it.
    from rich.console import Console  # noqa: PLC0415

    return Console(file=stream, markup=False, highlight=False, emoji=False)


def _renderer(console: Console) -> Callable[[Part], str]:
    """Return what writes a part as a console's terminal knows it: ten times as fast as the console itself."""
    from rich.color import ColorSystem  # noqa: PLC0415
    from rich.style import Style  # noqa: PLC0415

    systems = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
    system = systems.get(console.color_system or "")

    @cache
    def style_of(name: str) -> Style:
        style = Style.parse(name)
        return style.without_color if console.no_color else style

    def render(part: Part) -> str:
        if system is None or not (part.style or part.link):
            return part.text
        style = style_of(part.style)
        return (style.update_link(part.link) if part.link else style).render(part.text, color_system=system)

    return render


def _without_end(line: str) -> Iterator[Part]:
    """Yield the parts of a line without the white space at its end, which could make it too long."""
    left = len(line.rstrip())
    for part in _parts(line):
        if left > 0:
            yield part._replace(text=part.text[:left])
        left -= len(part.text)


def _parts(piece: str) -> Sequence[Part]:
    return piece.parts if isinstance(piece, Styled) else (Part(piece),)


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
