"""Columns of text in a terminal: aligned, and cut to its width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from dedup.display import columns_of, cut, plain, readable
from dedup.terminal import HEADING, Styled, joined, link_to, padded, styled

GAP = "  "
NARROWEST_COLUMN = 12
LABEL = 13
"""Columns of the labels at the left."""
LABELS = "bold"


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
    yield styled(_line(heading, sizes), HEADING)
    for row in rows:
        yield _line(row, sizes)


def more(count: int, what: str) -> Iterator[str]:
    """Say how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if what and count > 1 else ''}".rstrip()


def fit(text: str, width: int | None, beside: str = "") -> str:
    """Cut a text to a width, but not to less than the narrowest column, see `dedup.display.cut`."""
    return text if width is None else cut(text, max(width, NARROWEST_COLUMN), beside)


def address(key: str, width: int | None, beside: str = "") -> Styled:
    """Return a key like `fit`, readable, as a link to where it leads; `beside` is another key."""
    return styled(fit(readable(key), width, readable(beside)), link=link_to(key))


def _line(cells: Sequence[str], sizes: Sequence[int]) -> Styled:
    name, *numbers = cells
    first = name if columns_of(name) <= sizes[0] else cut(name, sizes[0])
    others = (padded(number, size, right=True) for number, size in zip(numbers, sizes[1:], strict=True))
    return joined(GAP, [padded(first, sizes[0]), *others])


def labelled(label: str, text: str, width: int, style: str = "") -> Iterator[str]:
    """Yield a text in lines of so many columns, with a label at the first."""
    for number, line in enumerate(textwrap.wrap(plain(text), width - LABEL, break_on_hyphens=False)):
        yield Styled.of(label_of("" if number else label), styled(line, style))


def labelled_name(label: str, name: str, width: int) -> str:
    """Return a name in one line, cut in its middle where it is too long."""
    return Styled.of(label_of(label), styled(cut(plain(" ".join(name.split())), width - LABEL), link=link_to(name)))


def label_of(label: str) -> Styled:
    """Return a label, with the spaces between it and what stands beside it."""
    return styled(f"{label:<{LABEL}}", LABELS)
