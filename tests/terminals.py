"""What a terminal is sent, and what a person sees of it."""

from __future__ import annotations

import io
import re

_LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b\\")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that says it goes to a terminal."""

    def isatty(self) -> bool:
        return True


def seen(sent: str) -> str:
    """Return what a person sees: without styles, and without where links lead."""
    return _STYLE.sub("", _LINK.sub("", sent))


def links_in(sent: str) -> list[str]:
    """Return where the links lead."""
    return [address for address in _LINK.findall(sent) if address]


def styles_in(sent: str) -> set[str]:
    """Return the sequences that set styles."""
    return set(_STYLE.findall(sent))
