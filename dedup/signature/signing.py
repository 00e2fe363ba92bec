"""Texts to signatures: by compiled code, or where there is none by `dedup.signature.plain`, with the same result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import native
from dedup.signature import plain
from dedup.signature.normalise import normalise
from dedup.signature.schemes import Scheme, default_scheme
from dedup.signature.signature import Signature, without_signs
from dedup.signature.tokens import Tokens

if native is None:
    from dedup.signature.plain import bands_of, sign, words_of
else:
    from dedup.signature.analysis import bands_of, sign, words_of

__all__ = ["bands_of_words", "make_signature", "tokenise", "words_of"]


def make_signature(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text.

    Args:
        text: the main text of a document, as extracted; it is normalised here.
        scheme: the way to make it, of `dedup.signature.schemes`; by default `words`.

    Returns:
        The signature; that of a text without any pair of tokens has fingerprint 0.
    """
    return sign(text, scheme or default_scheme())


def bands_of_words(words: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by the words that its signature has, shape (24,)."""
    return bands_of(without_signs(words))


def tokenise(text: str, scheme: Scheme | None = None) -> Tokens:
    """Split a text into tokens, where they stand in it once it is normalised; by default as `words` does."""
    return plain.tokenise(normalise(text), scheme or default_scheme())
