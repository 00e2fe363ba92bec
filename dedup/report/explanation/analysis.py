"""What the fingerprint of a side is made of: its features, by the scheme, and its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.sides import Side
from dedup.rules.mutual import margins_of
from dedup.signature.normalise import clean, normalise
from dedup.signature.schemes import Scheme
from dedup.signature.tokens import Tokens, tokenise


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """A side, taken apart.

    Attributes:
        tokens: its tokens, in the order of its text.
        weights: the weight of each feature, as it is added up; None where the features cannot be told
            from the tokens, which are all that is stored.
        hashes: the hash of each feature; empty where there are no weights.
    """

    tokens: Tokens
    weights: Mapping[bytes, int] | None
    hashes: Mapping[bytes, int]


def analyse_side(side: Side, scheme: Scheme) -> Analysis | None:
    """Take a side apart; None where neither its text nor its words are stored."""
    if side.text is not None:
        return _analysis(clean(side.text), tokens_of(side.text, scheme), scheme)
    if not side.signature.words:
        return None
    tokens = rejoin(side.signature.words)
    return _analysis("", tokens, scheme) if scheme.is_of_tokens else Analysis(tokens, None, {})


def tokens_of(text: str, scheme: Scheme) -> Tokens:
    """Split a text into tokens as a scheme does."""
    return tokenise(normalise(text).encode(), segmenter=scheme.segmenter, vocabulary=scheme.vocabulary)


def margins_of_words(words: bytes, scheme: Scheme) -> NDArray[np.int64]:
    """Return the margins, shape (bits,), of a text of which only the words are stored; none where there are no words.

    None either where the scheme's features are not made of them.
    """
    if not words or not scheme.is_of_tokens:
        return np.empty(0, np.int64)
    return margins_of(words, scheme)


def _analysis(text: str, tokens: Tokens, scheme: Scheme) -> Analysis:
    features = scheme.weighted(text, tokens)
    return Analysis(
        tokens,
        {feature: scheme.weigh(weight) for feature, weight in features.items()},
        {feature: scheme.hash_of(feature) for feature in features},
    )
