"""Write the words of a text that is not stored as a text again, for people to read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dedup.signature.characters import HAN, KANA, KIND, UNSPACED, character_classes
from dedup.signature.tokens import Tokens

_PAIR = 2


def rejoin(words: bytes) -> Tokens:
    """Join the words of a text, at least one; return them as tokens that stand in the text that they give.

    Words of scripts that write spaces get one between them, Chinese words none, and pairs of characters overlap as
    they did in the text. Punctuation is lost.
    """
    tokens = words.decode().split("\n")
    kinds = [_kind(token) for token in tokens]
    overlapping = {UNSPACED, HAN} if _has_pairs(tokens, kinds) else {UNSPACED}
    data = bytearray()
    starts, ends = [], []
    for at, token in enumerate(tokens):
        written = token
        kind = kinds[at]
        is_same_script = at > 0 and kind == kinds[at - 1] and kind in (HAN, UNSPACED)
        if is_same_script and kind in overlapping and _overlap(tokens[at - 1], token):
            written = token[1:]
        elif at and not (is_same_script and kind not in overlapping):
            data += b" "
        data += written.encode()
        starts.append(len(data) - len(token.encode()))
        ends.append(len(data))
    return Tokens(bytes(data), np.array(starts, np.int32), np.array(ends, np.int32))


def _kind(token: str) -> int:
    kind = int(character_classes()[ord(token[0])]) & KIND
    # They stand in one run, and are cut alike.
    return HAN if kind == KANA else kind


def _has_pairs(tokens: list[str], kinds: list[int]) -> bool:
    """Say whether Han and kana are cut into overlapping pairs of characters, and not into words."""
    # Words overlap as rarely as a word begins with the last character of the one before it.
    neighbours = [_overlap(tokens[at], tokens[at + 1]) for at, both in enumerate(pairwise(kinds)) if both == (HAN, HAN)]
    return 2 * sum(neighbours) > len(neighbours)


def _overlap(before: str, after: str) -> bool:
    return len(before) == len(after) == _PAIR and before[1] == after[0]
