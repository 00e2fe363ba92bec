"""What the tables say of a character is what `normalise` makes of it between any others."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.signature.normalise import normalise
from dedup.signature.signature import digest
from dedup.signature.signing import make_signature
from dedup.signature.text_folding import CHANGED, COMBINING, folding

# What makes words, ends them, is removed, takes several bytes, or becomes another number of them.
TRICKY = list("aZ09_-'. \t\r\n\x0b\x1c\x00\x7f\x85\xad\xa0ßéÀſŉƒΣςЖאﬁ½¼²…’“”—™℃Ⅷ①\u200b ﻿")
# What joins what stands before it, and what becomes a space and a mark.
COMBINED = list("eºA\u0301\u0308\u0345\u0e31\u0e33\u3099\u1100\u1161\u11a8가각ｶﾞﾟ´¨ͺ‾ﷺ㍿İ\ud800")
# What is removed or becomes another letter, and what it stands beside.
OPTIONAL = list("کـ\u064b\u0654ﹰﹷﱠש\u05c1ﬠа\u0300\u0951")
TEXTS = st.text(st.sampled_from(TRICKY + COMBINED + OPTIONAL) | st.characters(), max_size=60)


@cache
def alone() -> list[tuple[str, str]]:
    """Return the characters that no neighbour changes, and what each becomes; of those that stay some."""
    classes, starts, replaced = folding()
    found = []
    for point in range(0x40000):
        if point in range(0xD800, 0xE000) or classes[point] & COMBINING:
            continue
        if classes[point] & CHANGED:
            start = starts[point] + 1
            folded = replaced[start : start + replaced[start - 1]].astype(np.uint8)
            found.append((chr(point), folded.tobytes().decode()))
        elif point % 50 == 0:
            found.append((chr(point), chr(point)))
    return found


def test_every_character_between_others() -> None:
    for before, after in ("ab", "eé", "1’", "ǆσ", "가ｶ"):
        text = "|".join(before + character + after for character, _ in alone())
        own = [normalise(before) + folded + normalise(after) for _, folded in alone()]
        assert normalise(text) == normalise("|".join(own))


def test_what_characters_become_stays_as_it_is() -> None:
    classes = folding().classes
    became = {each for _, folded in alone() for each in folded} - {" "}
    assert not [each for each in became if classes[ord(each)] & (CHANGED | COMBINING)]


@given(TEXTS)
@example("")
@example(" \n ")
@example("\x00a\x00b \x01 c")
@example("e\u200d\u0301 \u0301\u200be \u0301")
@example("a´b ´ c´ \u00b4")
@example("ＡＢ\u0301 ½\u0338 <\u0338")
@example("x" * 300 + "e\u0301" + "y" * 300)
@example("x" * 300 + "\u200b" * 70 + "\u0301" * 40 + "\u200b\u0308" * 70 + "y" * 300)
@example("e\u0301" * 200)
@example("x" * 300 + " \u064e  \u064e\u0301" + "y" * 300 + "аـ\u064e\u0301 ﹶﹶ" + "z" * 300)
def test_any_text_is_normalised(text: str) -> None:
    assert make_signature(text).text_digest == digest(normalise(text).encode())
