"""What each character is to the tokeniser, in one table of a byte for each code point.

The classes come from the `regex` package, whose Unicode version is pinned with it, and not from
Python's own tables, which change with Python's version.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

SEPARATOR = 0
"""Neither letter, mark nor digit."""
START = 0x40
"""A letter or digit of a script that writes spaces between words."""
CONTINUE = 0x04
"""A mark: part of a word, but never its first character."""
HAN = 0x20
"""A Han character."""
KANA = 0x28
"""A Japanese syllable; it has the bit of a Han character too."""
UNSPACED = 0x10
"""A letter, mark or digit of a script without spaces that no dictionary is at hand for."""
KIND = 0x7C
"""The bits that hold one of the above."""
DIGIT = 0x80
"""The bit that says that the character is a decimal digit."""

# Each rule overrides those before it.
_RULES = (
    (r"\p{M}+", CONTINUE),
    (r"[\p{L}\p{N}]+", START),
    # A mark of these scripts is no part of a word of another one.
    (r"[\p{M}&&[\p{Han}\p{Hiragana}\p{Katakana}]]+", SEPARATOR),
    (r"[[\p{L}\p{N}]&&\p{Han}]+", HAN),
    (r"[[\p{L}\p{N}]&&[\p{Hiragana}\p{Katakana}ー]]+", KANA),
    (r"[[\p{L}\p{M}\p{N}]&&[\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}]]+", UNSPACED),
)
_SURROGATES = slice(0xD800, 0xE000)
# From here on there is only private use, and variation selectors, which normalisation removes.
_END = 0x40000
_ALL = 0x110000


@cache
def character_classes() -> NDArray[np.uint8]:
    """Return the class of each code point, shape (1,114,112); made in some 30 ms, once."""
    points = np.arange(_END, dtype="<u4")
    # A placeholder for what is no character keeps positions equal to code points.
    points[_SURROGATES] = ord(" ")
    every = points.tobytes().decode("utf-32-le")
    classes = np.zeros(_ALL, np.uint8)
    for pattern, kind in _RULES:
        for match in regex.finditer(pattern, every, regex.V1):
            classes[match.start() : match.end()] = kind
    for match in regex.finditer(r"\p{Nd}+", every):
        classes[match.start() : match.end()] |= DIGIT
    return classes
