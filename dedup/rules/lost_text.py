"""What a document says that no stored one does: the text that would be lost if it were dropped.

Texts are their tokens in UTF-8, a line feed between them, as `dedup.signature.signature` has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dedup.compiled_cache import is_in_use
from dedup.rules.cautions import LostLimit
from dedup.signature.sketch import SHINGLE_WORDS


class LostText(NamedTuple):
    """What a document says that no stored one does.

    Attributes:
        words: how many of its tokens stand in no shingle of three that a stored text has.
        bytes: the size of these tokens in UTF-8.
        is_long: whether more of them follow each other than may be lost, or twice as many stand in several stretches
            of at least 20, so that the document is passed on.
        places: in how many stretches each of the two, the text and the first stored one, says what the other does
            not; of the two numbers the lower one, so that what was only added or left out does not count.
    """

    words: int = 0
    bytes: int = 0
    is_long: bool = False
    places: int = 0


_STRETCH = 20
"""Tokens: a sentence. What is shorter was reworded."""

NOTHING_LOST = LostText()


def find_lost(text: bytes, stored: Iterable[bytes], limit: LostLimit) -> LostText:
    """Return what a text says that no stored one does.

    Args:
        text: the tokens of the text.
        stored: those of stored texts, the original first; it is asked for no more than it takes to find that nothing
            long is lost.
        limit: how long a stretch may be.
    """
    is_shared, most, is_long, places = b"", 0.0, False, 0
    for number, other in enumerate(stored):
        shared = _shared_tokens(text, other)
        is_shared = bytes(map(max, is_shared, shared)) if number else shared
        stretches = list(map(len, is_shared.split(b"\1")))
        if not number:
            most = limit.of(other.count(b"\n") + 1)
            theirs = _shared_tokens(other, text).split(b"\1")
            places = min(sum(map(bool, stretches)), sum(map(bool, theirs)))
        in_sentences = sum(length for length in stretches if length >= _STRETCH)
        is_long = max(stretches) > most or in_sentences > 2 * most
        if not is_long:
            break
    own = [token for token, is_there in zip(text.split(b"\n"), is_shared, strict=False) if not is_there]
    return LostText(len(own), sum(map(len, own)), is_long, places)


def _shared_tokens(text: bytes, other: bytes) -> bytes:
    """Return a byte for each token of a text: 1 where it stands in a shingle that the other text has, else 0."""
    if not is_in_use():
        return plain_shared_tokens(text, other)
    # The compiler takes a third of a second to load, and many processes never compare words.
    from dedup.rules.shared_shingles import shared_tokens  # noqa: PLC0415

    return shared_tokens(text, other)


def plain_shared_tokens(text: bytes, other: bytes) -> bytes:
    """Return what `dedup.rules.shared_shingles.shared_tokens` does, for processes that do without compiled code."""
    tokens = text.split(b"\n")
    known, is_shared = set(_shingles(other.split(b"\n"))), bytearray(len(tokens))
    for place, shingle in enumerate(_shingles(tokens)):
        if shingle in known:
            is_shared[place : place + SHINGLE_WORDS] = b"\1" * SHINGLE_WORDS
    return bytes(is_shared)


def _shingles(tokens: list[bytes]) -> Iterator[tuple[bytes, ...]]:
    return zip(*(tokens[start:] for start in range(SHINGLE_WORDS)), strict=False)
