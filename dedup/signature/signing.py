"""Texts to signatures, one and many: by compiled code where it is in use, else by NumPy.

The compiler takes a second to load, and most processes only pass signatures on: what makes them is imported when it is
called.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.compiled_cache import is_in_use
from dedup.signature.markup import has_markup, without_markup
from dedup.signature.schemes import Scheme, default_scheme
from dedup.signature.signature import SIGNATURE, Signature, SignedTexts, Texts, encoded, without_signs
from dedup.signature.tokens import Tokens


def make_signature(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text.

    Args:
        text: the main text of a document, as extracted; it is normalised here.
        scheme: the way to make it, of `dedup.signature.schemes`; by default `words`.

    Returns:
        The signature; that of a text without any pair of tokens has fingerprint 0.
    """
    if is_in_use():
        from dedup.signature.analysis import analyse

        return analyse(without_markup(text), scheme)
    from dedup.signature.plain import analyse_plainly

    return analyse_plainly(text, scheme)


def sign_texts(texts: Texts, scheme: Scheme, *, with_words: bool = False) -> SignedTexts:
    """Make the signatures of texts.

    Args:
        texts: any texts, in valid UTF-8.
        scheme: the way to make them.
        with_words: whether their words are wanted.
    """
    if is_in_use():
        from dedup.signature.analysis import analyse_texts

        return analyse_texts(_without_markup(texts), scheme, with_words=with_words)
    from dedup.signature.plain import analyse_plainly

    rows = np.zeros(len(texts.offsets) - 1, SIGNATURE)
    words = []
    for place in range(len(rows)):
        signature = analyse_plainly(texts.bytes_of(place).decode(), scheme)
        sketch = signature.sketch
        rows[place] = (
            np.frombuffer(signature.text_digest, "<u8"),
            signature.fingerprint,
            np.frombuffer(sketch.minima, "<u8"),
            sketch.shingles,
            sketch.tokens,
            sketch.numbers,
            signature.bands,
        )
        if with_words:
            words.append(signature.words)
    return SignedTexts(rows, words)


def words_of(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text as its signature has them, without the rest of it."""
    if not is_in_use():
        return make_signature(text, scheme).words
    from dedup.signature.analysis import find_words

    return find_words(without_markup(text), scheme)


def bands_of_words(words: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by the words that its signature has, shape (24,)."""
    tokens = without_signs(words)
    if not is_in_use():
        from dedup.signature.plain import plain_bands_of

        return plain_bands_of(tokens)
    from dedup.signature.analysis import bands_of

    return bands_of(tokens)


def tokenise(normalised: str, scheme: Scheme | None = None) -> Tokens:
    """Split a text, as `normalise` returns it, into tokens; by default as `words` does."""
    scheme = scheme or default_scheme()
    if is_in_use():
        from dedup.signature.analysis import tokenise_compiled

        return tokenise_compiled(normalised, scheme)
    from dedup.signature.plain import tokenise_plainly

    return tokenise_plainly(normalised, scheme)[0]


def _without_markup(texts: Texts) -> Texts:
    data = texts.data.tobytes()
    if not has_markup(data):
        return texts
    parts = [data[start:end] for start, end in pairwise(texts.offsets.tolist())]
    marked = [place for place, part in enumerate(parts) if has_markup(part)]
    for place in marked:
        parts[place] = encoded(without_markup(parts[place].decode()))
    return Texts.joined(parts) if marked else texts
