"""How the lines of an explanation are laid out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dedup.display import cut, plain

LABEL = 13
"""Columns of the labels at the left."""


def labelled(label: str, text: str, width: int) -> Iterator[str]:
    """Yield a text in lines of so many columns, with a label at the first."""
    for number, line in enumerate(textwrap.wrap(plain(text), width - LABEL, break_on_hyphens=False)):
        yield f"{'' if number else label:<{LABEL}}{line}"


def labelled_name(label: str, name: str, width: int) -> str:
    """Return a name in one line, cut in its middle where it is too long."""
    return f"{label:<{LABEL}}{cut(plain(' '.join(name.split())), width - LABEL)}".rstrip()
