"""Texts to signatures: by compiled code, or where there is none by NumPy, with the same result."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import has_compiled
from dedup.signature.analysis import analyse_texts, bands_of, find_words
from dedup.signature.markup import has_markup, without_markup
from dedup.signature.normalise import normalise
from dedup.signature.plain import plain_bands_of, sign_plainly, tokenise_plainly
from dedup.signature.schemes import Scheme, default_scheme
from dedup.signature.signature import Signature, SignedTexts, Sketch, Texts, encoded, without_signs
from dedup.signature.tokens import Tokens


def make_signature(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text.

    Args:
        text: the main text of a document, as extracted; it is normalised here.
        scheme: the way to make it, of `dedup.signature.schemes`; by default `words`.

    Returns:
        The signature; that of a text without any pair of tokens has fingerprint 0.
    """
    scheme = scheme or default_scheme()
    if not has_compiled():
        return sign_plainly(normalise(text), scheme)
    rows, words = analyse_texts(Texts.of([without_markup(text)]), scheme, with_words=True)
    return signature_of(rows[0], words[0])


def signature_of(row: Any, words: bytes) -> Signature:
    """Return the signature of a row of the type `SIGNATURE`, and words."""
    digest, fingerprint, minima, shingles, tokens, numbers, bands = row
    sketch = Sketch(minima.tobytes(), int(numbers), int(tokens), int(shingles))
    return Signature(digest.tobytes(), int(fingerprint), sketch, bands, words)


def sign_texts(texts: Texts, scheme: Scheme, *, with_words: bool = False) -> SignedTexts:
    """Make the signatures of many texts by compiled code.

    Args:
        texts: any texts, in valid UTF-8.
        scheme: the way to make them.
        with_words: whether their words are wanted.
    """
    return analyse_texts(_without_markup(texts), scheme, with_words=with_words)


def words_of(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text as its signature has them, without the rest of it."""
    if not has_compiled():
        return sign_plainly(normalise(text), scheme).words
    return find_words(without_markup(text), scheme)


def bands_of_words(words: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by the words that its signature has, shape (24,)."""
    tokens = without_signs(words)
    return bands_of(tokens) if has_compiled() else plain_bands_of(tokens)


def tokenise(normalised: str, scheme: Scheme | None = None) -> Tokens:
    """Split a text, as `normalise` returns it, into tokens; by default as `words` does."""
    return tokenise_plainly(normalised, scheme or default_scheme())[0]


def _without_markup(texts: Texts) -> Texts:
    data = texts.data.tobytes()
    if not has_markup(data):
        return texts
    parts = [data[start:end] for start, end in pairwise(texts.offsets.tolist())]
    marked = [place for place, part in enumerate(parts) if has_markup(part)]
    for place in marked:
        parts[place] = encoded(without_markup(parts[place].decode()))
    return Texts.joined(parts) if marked else texts
