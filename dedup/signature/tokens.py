"""Split a normalised text into tokens: the words of languages that write spaces, jieba's words
for Chinese, overlapping character pairs for the scripts that neither rule fits.

| script | tokens |
|---|---|
| Latin, Cyrillic, Greek, Arabic, Hebrew, Devanagari, Hangul, ...; digits | runs of letters, marks and digits |
| Chinese | words by jieba, without its hidden Markov model; without a segmenter, overlapping pairs of characters |
| Japanese: Han and kana, in a text with kana | overlapping pairs of characters |
| Thai, Lao, Burmese, Khmer | overlapping pairs of characters |

Punctuation and white space separate tokens and are dropped; signs that can mean something beside words, such as those
of prices and of arithmetic, are kept beside the tokens, for the check alone.
"""

from __future__ import annotations

from dataclasses import dataclass
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
SIGN = 0x08
"""Neither of them, but a sign."""
KIND = 0x7C
"""The bits that hold one of the above."""
DIGIT = 0x80
"""The bit that says that the character is a decimal digit."""

SIGNS = r"[\p{S}--[\p{Sk}©®℗]]\p{lb=PO}\^#&*/@\\"
"""Symbols, what stands behind numbers, and punctuation of arithmetic, code and addresses, to be put in brackets."""

# Each rule overrides those before it.
_RULES = (
    # Dashes and others are signs in some places only.
    (rf"[{SIGNS}\p{{Pd}}!:]+", SIGN),
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

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
_JAPANESE_KANA_SHARE = 0.1


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


def is_chinese(han: int, kana: int) -> bool:
    """Return whether a text with so many Han and kana characters, and so many kana, is Chinese."""
    return kana < _JAPANESE_KANA_SHARE * han


def _has_sign(text: str) -> bool:
    return any(character_classes()[ord(character)] & KIND == SIGN for character in text)


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a text, in the order of the text, repeated as often as they occur.

    Attributes:
        data: the text in UTF-8.
        starts: where each token starts in it, in bytes, shape (n,).
        ends: where each token ends, shape (n,); tokens may overlap.
    """

    data: bytes
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def parts(self) -> list[bytes]:
        """Return the tokens in UTF-8."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.data[start:end] for start, end in spans]

    def signs(self) -> list[bytes]:
        """Return each place with a sign: the token before it, what stands there, and the next, line feeds between."""
        if not len(self):
            return []
        data = np.frombuffer(self.data + b" ", np.uint8)
        starts, ends = np.append(0, self.ends), np.append(self.starts, len(self.data))
        # Between most tokens there is a space.
        may_have = (ends - starts > 1) | ((ends - starts == 1) & (data[starts] != ord(" ")))
        signs = []
        for place in np.flatnonzero(may_have).tolist():
            between = self.data[starts[place] : ends[place]]
            if _has_sign(between.decode()):
                before = self._part(place - 1) if place else b""
                after = self._part(place) if place < len(self) else b""
                signs.append(b"\n".join((before, between, after)))
        return signs

    def _part(self, place: int) -> bytes:
        return self.data[self.starts[place] : self.ends[place]]

    def words(self) -> list[str]:
        """Return the tokens as strings."""
        return [part.decode() for part in self.parts()]

    def __len__(self) -> int:
        return len(self.starts)
