"""How keys and numbers are shown to a person, in a terminal that a stranger's URL cannot upset."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate, takewhile
from pathlib import Path
from urllib.parse import unquote_to_bytes

from dedup.signature.normalise import clean, without_piles

ELLIPSIS = "…"

_ESCAPED = re.compile("(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_HOST_PART = re.compile("(?:[a-z]+://)?[^/]+/", re.IGNORECASE)
_LARGEST_HEAD_SHARE = 0.7
_SHOWN_OF_DIFFERENCE = 6
_LONGEST_LOGGED = 2_000
_UNITS = ((10_000_000_000, "GB", 1_000_000_000), (10_000_000, "MB", 1_000_000), (10_000, "kB", 1000))


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


def pad(text: str, width: int) -> str:
    """Fill a text up with spaces to this many columns."""
    return text + " " * (width - columns_of(text))


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


def unit_for(size: int) -> tuple[str, int]:
    """Return the unit in which a number of bytes is best read, and how many bytes it has."""
    for least, name, factor in _UNITS:
        if size >= least:
            return name, factor
    return "B", 1


def lost_text(size: int) -> str:
    """Write how many bytes of text were lost with near-duplicates that were dropped."""
    unit, factor = unit_for(size)
    return f"{size / factor:,.0f} {unit} of text that nothing stored has"


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
