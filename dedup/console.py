"""Output for a person at a terminal: colours, tables, live lines, progress."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO, TypeAlias, TypeVar
from urllib.parse import quote, unquote_to_bytes

from dedup.atomic_files import open_output
from dedup.signature.normalise import clean, without_piles

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress as Bar
    from rich.table import Table
    from rich.text import Text

_ESCAPED = re.compile("(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
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

LABEL = 12
"""Columns of the labels at the left."""

# Of what is no terminal: nothing is folded.
_UNBOUNDED = 1_000_000
# Terminals cut longer ones, or refuse them.
_LONGEST_LINK = 2_000
_ORIGIN = re.compile("https?://[^/?#]+", re.IGNORECASE)
_LINKED = ("http://", "https://")
_OF_URLS = "".join(letter for letter in map(chr, range(0x21, 0x7F)) if letter not in '"<>\\^`{|}')

T = TypeVar("T")

Line: TypeAlias = "str | Text | Table"
"""What is written below each other: text, with or without styles, and tables."""

TERMINAL_INTERVAL = 0.5
LINE_INTERVAL = 10.0


def print_message(command: str, message: str) -> None:
    """Print a message of a command that is no result on standard error."""
    print(f"dedup {command}: {plain(message)}", file=sys.stderr, flush=True)


def plain(key: str) -> str:
    """Return a key as one line that cannot move the cursor, hide a part of itself or grow into other lines."""
    if key.isascii() and key.isprintable():
        return key
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in without_piles(clean(key)))


def logged(key: str) -> str:
    """Return a key as it may stand in a line of a log."""
    return shortened(plain(key), _LONGEST_LOGGED)


def readable(key: str) -> str:
    """Return a key like `plain`, with the letters of all scripts in the place of their escapes.

    Escapes of ASCII stay, since they tell a slash in a name from one between names; so do those
    that are not UTF-8.
    """
    return plain(_ESCAPED.sub(_unescape, key))


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most, with an ellipsis in the place of its end where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def similarity(value: float) -> str:
    """Write a similarity as `.93` or `1.00`."""
    return f"{value:.2f}".removeprefix("0")


def percent(share: float, *, is_same: bool = False) -> str:
    """Write how alike two texts are, such as `93%`; only what is the same is all the same: estimates may be 1."""
    return "100%" if is_same else f"{min(99, int(100 * share + 0.5))}%"


def counted(number: int, noun: str) -> str:
    """Return a number of things, such as `1 page`, `1,200 pages` or `2 addresses`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def parted(counts: Mapping[str, int], noun: str) -> str:
    """Return a number of things and of what kinds they are, such as `33 pages   32 new, 1 similar`; without zeros."""
    parts = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in counts.items() if count)
    return "   ".join(filter(None, (counted(sum(counts.values()), noun), parts)))


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
    """Write how many bytes of all text were saved, such as `12 kB of 40 kB of text`."""
    return f"{in_unit(saved, total)} of {in_unit(total)} of text"


def lost_text(size: int, noun: str) -> str:
    """Write how many bytes of text were lost with near-duplicates that were dropped; noun: what they are."""
    return f"{in_unit(size)} of text that is in no kept {noun}"


def _unescape(escaped: re.Match[str]) -> str:
    try:
        letters = unquote_to_bytes(escaped[0]).decode()
    except UnicodeDecodeError:
        return escaped[0]
    return letters if letters.isprintable() else escaped[0]


def styled(text: str, style: str = "", link: str = "") -> Text:
    """Return a text with a style (words of `rich.style.Style`), and with an address that it leads to, if any."""
    # A twentieth of a second, and what is imported by every project needs none of it.
    from rich.style import Style  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    return Text(text, Style.parse(style) + Style(link=link or None), end="")


def joined(*parts: str | Text) -> Text:
    """Join texts, of which some are styled."""
    from rich.text import Text  # noqa: PLC0415 -- as above

    return Text.assemble(*parts, end="")


def linked(key: str, shown: str = "") -> Text:
    """Return a key, readable, or what is shown in its place, as a link to where it leads."""
    return styled(shown or readable(key), link=link_to(key))


def linked_beside(key: str, other: str) -> Text:
    """Return a key like `linked`, without scheme and host where another one beside it has the same."""
    own, others = _ORIGIN.match(key), _ORIGIN.match(other)
    return linked(key, readable(key[own.end() :]) if own and others and own[0] == others[0] else "")


def link_to(key: str) -> str:
    """Return the address that a key leads to, as a terminal may be told it; "" where it is none, or too long."""
    if len(key) > _LONGEST_LINK or not key[:8].lower().startswith(_LINKED):
        return ""
    # Nothing is left that could end the link, or begin anything else.
    address = quote(key, safe=_OF_URLS, errors="replace")
    return address if len(address) <= _LONGEST_LINK else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a table whose cells, but for numbers, are folded where the terminal has too few columns for them.

    Args:
        headings: what stands over the columns; those with `>` before them are numbers, and stand at the right.
        rows: as many cells each.
    """
    from rich.table import Table  # noqa: PLC0415 -- as above

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=HEADING)
    for heading in headings:
        is_number = heading.startswith(">")
        justify: JustifyMethod = "right" if is_number else "left"
        made.add_column(heading.removeprefix(">"), justify=justify, overflow="fold", no_wrap=is_number)
    for row in rows:
        made.add_row(*row)
    return made


def labelled(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Return texts with labels at their left; a text that is longer than a line goes on beside its label."""
    from rich.table import Table  # noqa: PLC0415 -- as above

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style=HEADING, min_width=LABEL, no_wrap=True)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def write_lines(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines and tables: to a terminal with their styles, elsewhere plain and as wide as they are."""
    from rich.text import Text  # noqa: PLC0415 -- as above

    # Written to a stream that is not there any more, a console would end the program.
    drawn = io.StringIO()
    console = make_console(drawn, is_terminal=stream.isatty())
    for line in lines:
        is_text = isinstance(line, Text)
        if isinstance(line, str) or (is_text and not stream.isatty()):
            stream.write(f"{str(line).rstrip()}\n")
            continue
        # The terminal wraps a text itself, so that it can be copied as one line.
        console.print(line, soft_wrap=is_text)
        stream.writelines(f"{each.rstrip()}\n" for each in drawn.getvalue().removesuffix("\n").split("\n"))
        drawn.seek(0)
        drawn.truncate()


def print_answer(value: object, lines: Iterable[Line], *, as_json: bool) -> None:
    """Write what a command answers to standard output.

    Args:
        value: the answer for a program, of what JSON has.
        lines: the same for a person.
        as_json: whether the program's is wanted.
    """
    with open_output("") as stream:
        write_lines([json.dumps(value, indent=2)] if as_json else lines, stream)


def make_console(stream: TextIO, *, is_terminal: bool) -> Console:
    """Return a console of rich, which takes nothing in a text for a mark of its own."""
    from rich.console import Console  # noqa: PLC0415 -- as above

    width = None if is_terminal else _UNBOUNDED
    return Console(file=stream, width=width, force_terminal=is_terminal, markup=False, highlight=False, emoji=False)


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
        detail_shown = "   ".join(filter(None, (detail, left)))
        if self._is_terminal:
            self._show_bar(share, detail_shown)
        else:
            self._stream.write(f"{self._label:<10}{share:4.0%}   {detail_shown}\n")
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

    def _show_bar(self, share: float, detail_shown: str) -> None:
        if self._bar is None:
            # A tenth of a second, and only terminals need it.
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
            from rich.progress import Progress as Bar  # noqa: PLC0415

            detail_column = TextColumn("{task.fields[detail]}", markup=False)
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(20),
                TaskProgressColumn(),
                detail_column,
            )
            # Without a thread of its own, since processes may be forked meanwhile, and without a hand on other streams.
            self._bar = Bar(
                *columns,
                console=make_console(self._stream, is_terminal=True),
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.update(
                self._bar.add_task(self._label, total=1.0, detail=""), completed=share, detail=detail_shown
            )
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=share, detail=detail_shown, refresh=True)


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
