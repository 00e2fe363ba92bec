"""Texts to signatures: one by NumPy, many by compiled code, with the same result.

The compiler takes a second to load, and most processes sign few texts, or none: what is compiled is imported when it is
called.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.signature.markup import has_markup, without_markup
from dedup.signature.normalise import normalise
from dedup.signature.plain import fingerprint_of, hashes_of, make_sketch, tokenise_plainly
from dedup.signature.schemes import Scheme, default_scheme
from dedup.signature.signature import Signature, SignedTexts, Texts, digest, encoded, without_signs
from dedup.signature.tokens import Tokens


def make_signature(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text.

    Args:
        text: the main text of a document, as extracted; it is normalised here.
        scheme: the way to make it, of `dedup.signature.schemes`; by default `words`.

    Returns:
        The signature; that of a text without any pair of tokens has fingerprint 0.
    """
    tokens, have_digits = tokenise_plainly(normalise(text), scheme or default_scheme())
    parts = tokens.parts()
    hashes = hashes_of(parts)
    sketch, bands = make_sketch(hashes, hashes[have_digits])
    # No token has a line feed in it.
    words = b"\0".join((b"\n".join(parts), *tokens.signs()))
    return Signature(digest(tokens.data), fingerprint_of(hashes), sketch, bands, words)


def sign_texts(texts: Texts, scheme: Scheme, *, with_words: bool = False) -> SignedTexts:
    """Make the signatures of many texts by compiled code.

    Args:
        texts: any texts, in valid UTF-8.
        scheme: the way to make them.
        with_words: whether their words are wanted.
    """
    from dedup.signature.analysis import analyse_texts  # noqa: PLC0415 -- see above

    return analyse_texts(_without_markup(texts), scheme, with_words=with_words)


def words_of(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text as its signature has them, by compiled code, without the rest of it."""
    from dedup.signature.analysis import find_words  # noqa: PLC0415 -- see above

    return find_words(without_markup(text), scheme)


def bands_of_words(words: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by the words that its signature has, shape (24,)."""
    tokens = without_signs(words)
    hashes = hashes_of(tokens.split(b"\n") if tokens else [])
    return make_sketch(hashes, hashes[:0])[1]


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
