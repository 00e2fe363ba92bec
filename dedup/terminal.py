"""Lines for people: with colours and links on a terminal, plain everywhere else.

A `Styled` text is its text, wherever it goes; only `write_lines`, on a terminal, knows of its styles. Colours are
left out where the environment has `NO_COLOR`, and all of it where the terminal is `dumb`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO
from urllib.parse import quote

from dedup.display import columns_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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


def as_text(line: str) -> Text:
    """Return a line as rich knows it."""
    from rich.style import Style  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    text = Text(no_wrap=True)
    for part in _parts(line):
        style = Style.parse(part.style)
        text.append(part.text, style.update_link(part.link) if part.link else style)
    text.rstrip()
    return text


def _without_end(line: str) -> Iterator[Part]:
    """Yield the parts of a line without the white space at its end, which could make it too long."""
    left = len(line.rstrip())
    for part in _parts(line):
        if left > 0:
            yield part._replace(text=part.text[:left])
        left -= len(part.text)


def _parts(piece: str) -> Sequence[Part]:
    return piece.parts if isinstance(piece, Styled) else (Part(piece),)
