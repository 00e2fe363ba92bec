"""The features that published simhashes are made of, from a text to weighted byte strings.

They are taken of the cleaned text as it is written, neither normalised nor folded, because their sources do
neither.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dedup.published.keywords import textrank, tfidf
from dedup.signature.parts import Features

if TYPE_CHECKING:
    from dedup.signature.schemes import Scheme
    from dedup.signature.tokens import Tokens

UNIT = 2**32
"""What a weight of 1 is where weights are real: sums of whole numbers are exact and the same in any
order and on every Python. A text of 10 million tokens is still far from 64 bits."""


def _bigrams(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count overlapping pairs of characters, spaces and punctuation among them."""
    return Counter(text[at : at + 2].encode() for at in range(max(len(text) - 1, min(len(text), 1))))


def _split(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count what stands between white space: the tokens of the acdreamers article."""
    return Counter(part.encode() for part in text.split())


def _byte_bigrams(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count overlapping pairs of bytes but the first and the last, which `shingles` of ferd/simhash never reaches."""
    data = text.encode()
    return Counter(data[at : at + 2] for at in range(1, len(data) - 2))


FEATURES = {
    "bigrams": Features(_bigrams, ("one", "count", "log"), segmenter=False),
    "split": Features(_split, ("count", "log", "one"), segmenter=False),
    "bytes": Features(_byte_bigrams, ("count", "log", "one"), segmenter=False),
    "tfidf": Features(tfidf, ("rank", "one"), segmenter=True, keywords=True),
    "textrank": Features(textrank, ("rank", "one"), segmenter=True, keywords=True),
}
"""The kinds of features by the names that schemes call them, besides `words` and `pairs`."""

WEIGHTS: dict[str, Callable[[float], int]] = {
    "one": lambda _: 1,
    "log": lambda count: round((1 + math.log(count)) * UNIT),
    "rank": lambda weight: round(weight * UNIT),
}
"""From a feature's own weight, a count or a keyword's rank, to the one that is added up: the same for
all, 1 + ln count, or the keyword's; the latter two in units of 1 / `UNIT`."""
