"""Tokens written as a text again, in which they stand as in the one that they were cut from."""

from __future__ import annotations

from itertools import pairwise

import regex

from dedup.signature.signature import without_signs
from dedup.signature.tokens import HAN, KANA, UNSPACED, Tokens

_PAIR = 2
# Han and kana stand in one run, and are cut alike.
_SCRIPT = regex.compile(rf"([{HAN}{KANA}])|{UNSPACED}", regex.V1)
_OF_HAN, _OF_UNSPACED, _SPACED = 1, 2, 0


def rejoin(words: bytes) -> Tokens:
    """Join the words of a text, at least one; return them as tokens that stand in the text that they give.

    Words of scripts that write spaces get one between them, Chinese words none, and pairs of characters overlap as
    they did in the text. What stood between is lost.
    """
    tokens = without_signs(words).decode().split("\n")
    scripts = [_script(token) for token in tokens]
    overlapping = {_OF_UNSPACED, _OF_HAN} if _has_pairs(tokens, scripts) else {_OF_UNSPACED}
    text = Written()
    for at, token in enumerate(tokens):
        script = scripts[at]
        is_same_script = at > 0 and script == scripts[at - 1] != _SPACED
        if is_same_script and script in overlapping and _overlap(tokens[at - 1], token):
            text.add("", token, overlap=1)
        else:
            text.add("" if not at or (is_same_script and script not in overlapping) else " ", token)
    return text.tokens()


def _script(token: str) -> int:
    found = _SCRIPT.match(token)
    return _SPACED if found is None else found.lastindex or _OF_UNSPACED


def _has_pairs(tokens: list[str], scripts: list[int]) -> bool:
    """Return whether Han and kana are cut into overlapping pairs of characters, and not into words."""
    # Words overlap as rarely as a word begins with the last character of the one before it.
    of_han = [at for at, both in enumerate(pairwise(scripts)) if both == (_OF_HAN, _OF_HAN)]
    return 2 * sum(_overlap(tokens[at], tokens[at + 1]) for at in of_han) > len(of_han)


class Written:
    """Writes tokens behind each other."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[tuple[int, int]] = []

    def add(self, before: str, token: str, *, overlap: int = 0) -> None:
        """Write a token behind what stands before it, or with its first characters the last ones of that before."""
        self._parts += before, token[overlap:]
        self._length += len(before) + len(token) - overlap
        self._spans.append((self._length - len(token), self._length))

    def tokens(self) -> Tokens:
        """Return them as they stand in what was written."""
        return Tokens("".join(self._parts), self._spans)


def _overlap(before: str, after: str) -> bool:
    return len(before) == len(after) == _PAIR and before[1] == after[0]
