"""Clean and normalise text before anything is computed from it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import regex

from dedup.signature.markup import without_markup
from dedup.signature.tokens import is_chinese

# C0 and C1 controls except tab, line feed and carriage return, plus the bidirectional overrides
# and the byte order mark: none of them is text, and some of them break databases and terminals.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNCLEAN = re.compile(f"{_CONTROLS.pattern}|{_SURROGATES.pattern}")
# No language puts 30 marks on a letter (UAX 15, stream-safe text format), and ordering them takes
# time that grows with the square of their number.
# Two letters of halfwidth katakana become marks by normalisation.
_MOST_MARKS = 30
_ANY_MARK = regex.compile(r"\p{M}")
_MARK = regex.compile(r"[\p{M}\uff9e\uff9f]")
_PILED_MARKS = regex.compile(rf"({_MARK.pattern}{{{_MOST_MARKS}}}){_MARK.pattern}+")
# Soft hyphens, joiners, variation selectors: nobody sees them, and they cut words in two.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# What tells how to read a text, and is mostly left out: vowel signs of scripts whose letters are consonants, tones of
# the Vedas, Ethiopic gemination, Cyrillic stress. In other scripts they are as good as letters. A presentation form of
# a mark alone is one on a space.
_OPTIONAL_MARKS = regex.compile(
    r" ?[\p{Mn}&&[\p{scx=Arab}\p{Hebrew}\p{Syriac}\p{Samaritan}\p{Ethiopic}\p{InSC=Cantillation_Mark}]]+"
    r"|(?<=\p{Cyrillic})[\u0300\u0301]+",
    regex.V1,
)
_CJK = re.compile("[\u2e80-\u2fdf\u3190-\u9fff\uf900-\ufaff\U0001f200-\U0001f2ff\U00020000-\U0002fa1f]")
_RARE = (*range(0x1F200, 0x1F300), *range(0x2F800, 0x2FA20))
_KANA = re.compile("[\u3041-\u30fa\u30fc\uff66-\uff9d]")
# Keyboards for Persian and Urdu have letters of their own for what looks alike within a word, and kashida and its like
# (Joining_Type=Join_Causing) make words longer. Russian writes yo mostly as ye.
_SAME = tuple(zip("یکہۀ\u0640\u07fa\u180aё", [*"يكهه", "", "", "", "е"], strict=True))
# What every page of Chinese has. It takes the Unicode form from its fast path to one that costs as much
# as all the rest of a signature, and each of them alone becomes what it would become there.
_WIDE = tuple(zip("，：；！？（）\u3000", ",:;!?() ", strict=True))


@cache
def _traditional() -> dict[str, str]:
    """Return the simplified character in the place of each traditional one; no simplified one is among these."""
    lines = Path(__file__).with_name("simplified.txt").read_text(encoding="utf-8").splitlines()
    simplified = {each: line[0] for line in lines if not line.startswith("#") for each in line[1:]}
    # What becomes one of them: radicals, characters in circles and squares, and those of older codes.
    for each in map(chr, (*range(0x2E80, 0x2FE0), *range(0x3190, 0x3400), *range(0xF900, 0xFB00), *_RARE)):
        becomes = unicodedata.normalize("NFKC", each)
        if not simplified.keys().isdisjoint(becomes):
            simplified[each] = "".join(simplified.get(part, part) for part in becomes)
    return simplified


def simplified(text: str) -> str:
    """Return a text with Chinese in simplified characters; Japanese, which has many of the others, stays as it is."""
    if text.isascii() or _CJK.search(text) is None:
        return text
    traditional = _traditional()
    # Looking up each character is four times as fast as a pattern of all of them.
    if traditional.keys().isdisjoint(text):
        return text
    if _KANA.search(text) is not None and not is_chinese(len(_CJK.findall(text)), len(_KANA.findall(text))):
        return text
    for each in traditional.keys() & set(text):
        text = text.replace(each, traditional[each])
    return text


def clean(text: str) -> str:
    """Remove what no database, file or terminal should be given.

    Args:
        text: any string, also one with NUL characters or lone surrogates.

    Returns:
        The text without control characters (tab, line feed and carriage return stay); each lone
        surrogate is replaced by U+FFFD.
    """
    # Looking first is faster than replacing nothing.
    if (text.isascii() and text.isprintable()) or _UNCLEAN.search(text) is None:
        return text
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def without_piles(text: str) -> str:
    """Take away the marks that no language puts on one letter."""
    # A pile too high covers one of these places, wherever it is.
    return _PILED_MARKS.sub(r"\1", text) if _MARK.search(text[:: _MOST_MARKS + 1]) else text


def normalise(text: str) -> str:
    """Fold away the differences that never make two texts different.

    Args:
        text: any string, also one with markup.

    Returns:
        The cleaned text in Unicode form NFKC, case-folded, without markup, invisible characters and marks that are
        mostly left out, Chinese in simplified characters, every run of white space one space, none at either end.
    """
    return fold(simplified(without_markup(text)))


def fold(text: str) -> str:
    """Return a text without markup, and with simplified characters, normalised."""
    text = clean(text)
    if text.isascii():
        return " ".join(text.casefold().split())
    text = _INVISIBLE.sub("", text)
    text = without_piles(text)
    for wide, narrow in _WIDE:
        text = text.replace(wide, narrow)
    # Folding case can undo the form: D. Whistler, "Unicode Normalization Forms", UAX 15, and the
    # Unicode Standard, section 3.13, definition 145.
    folded = unicodedata.normalize("NFKC", text).casefold()
    for letter, same in _SAME:
        folded = folded.replace(letter, same)
    if _ANY_MARK.search(folded):
        folded = _OPTIONAL_MARKS.sub("", folded)
    return " ".join(unicodedata.normalize("NFKC", folded).split())
