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

# Classes of characters for `regex`, version 1, to be put in brackets.
_UNSPACED = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
_NOT_SPACED = rf"[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}ー{_UNSPACED}]"
# Most are found by its beginning, which is faster.
LETTER = rf"[a-z0-9[[\p{{L}}\p{{N}}]--{_NOT_SPACED}]]"
"""A letter or digit of a script that writes spaces between words."""
MARK = rf"[\p{{M}}--{_NOT_SPACED}]"
"""Part of a word of such a script, but never its first character."""
HAN = r"[[\p{L}\p{N}]&&\p{Han}]"
"""A Han character."""
KANA = r"[[\p{L}\p{N}]&&[\p{Hiragana}\p{Katakana}ー]]"
"""A Japanese syllable."""
UNSPACED = rf"[[\p{{L}}\p{{M}}\p{{N}}]&&[{_UNSPACED}]]"
"""A letter, mark or digit of a script without spaces that no dictionary is at hand for."""
DIGIT = r"\p{Nd}"
"""A decimal digit."""
SIGNS = r"[\p{S}--[\p{Sk}©®℗]]\p{lb=PO}\^#&*/@\\"
"""Symbols, what stands behind numbers, and punctuation of arithmetic, code and addresses."""
# Dashes and others are signs in some places only.
SIGN = rf"[[{SIGNS}\p{{Pd}}!:]--[\p{{L}}\p{{M}}\p{{N}}]]"
"""Neither letter, mark nor digit, but a sign."""

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
_JAPANESE_KANA_SHARE = 0.1


def is_chinese(han: int, kana: int) -> bool:
    """Return whether a text with so many Han and kana characters, and so many kana, is Chinese."""
    return kana < _JAPANESE_KANA_SHARE * han


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, in the order of the text, repeated as often as they occur.

    Attributes:
        text: the text, normalised.
        spans: where each token starts and ends in it, in characters; tokens may overlap.
        written: the same text in the characters in which it was written, each where it stands in the other; "": in
            those.
    """

    text: str
    spans: list[tuple[int, int]]
    written: str = ""

    def as_written(self) -> Tokens:
        """Return the tokens for people, as they were written."""
        return Tokens(self.written or self.text, self.spans)

    def words(self) -> list[str]:
        """Return the tokens."""
        return [self.text[start:end] for start, end in self.spans]

    def parts(self) -> list[bytes]:
        """Return them in UTF-8."""
        return [word.encode() for word in self.words()]

    def __len__(self) -> int:
        return len(self.spans)
