"""Columns of text in a terminal: aligned, and cut to its width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from dedup.display import columns_of, cut, pad, plain

GAP = "  "
NARROWEST_COLUMN = 12
LABEL = 13
"""Columns of the labels at the left."""


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """Align a first column of names, which is cut if need be, and columns of numbers.

    Args:
        heading: what stands over the columns.
        rows: as many cells each.
        width: columns of the terminal; None where nothing has to be cut.

    Yields:
        The lines, without line ends.
    """
    sizes = [max(map(columns_of, column)) for column in zip(heading, *rows, strict=True)]
    if width is not None:
        sizes[0] = max(NARROWEST_COLUMN, min(sizes[0], width - sum(sizes[1:]) - len(GAP) * len(sizes[1:])))
    for name, *numbers in (heading, *rows):
        cells = [pad(cut(name, sizes[0]), sizes[0])]
        yield GAP.join(cells + [f"{number:>{size}}" for number, size in zip(numbers, sizes[1:], strict=True)])


def more(count: int, what: str) -> Iterator[str]:
    """Say how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if what and count > 1 else ''}".rstrip()


def fit(text: str, width: int | None, beside: str = "") -> str:
    """Cut a text to a width, but not to less than the narrowest column, see `dedup.display.cut`."""
    return text if width is None else cut(text, max(width, NARROWEST_COLUMN), beside)


def labelled(label: str, text: str, width: int) -> Iterator[str]:
    """Yield a text in lines of so many columns, with a label at the first."""
    for number, line in enumerate(textwrap.wrap(plain(text), width - LABEL, break_on_hyphens=False)):
        yield f"{'' if number else label:<{LABEL}}{line}"


def labelled_name(label: str, name: str, width: int) -> str:
    """Return a name in one line, cut in its middle where it is too long."""
    return f"{label:<{LABEL}}{cut(plain(' '.join(name.split())), width - LABEL)}".rstrip()
