"""Texts to signatures, many at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled_cache import is_in_use
from dedup.signature.schemes import Scheme
from dedup.signature.signature import BANDS, make_signature

SIGNATURE = np.dtype(
    [
        ("digest", "<u8", 2),
        ("fingerprint", "<u8"),
        ("minima", "<u8", 8),
        ("shingles", "<u4"),
        ("tokens", "<u4"),
        ("numbers", "<u8"),
        ("bands", "<u8", BANDS),
    ]
)
"""A signature; see `dedup.signature.signature.Signature` and `.sketch.Sketch`."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class Texts(NamedTuple):
    """Texts behind each other in one buffer, as a column of Arrow has them.

    Attributes:
        data: the texts in UTF-8, shape (m,).
        offsets: where each starts, and where the last one ends, shape (n + 1,).
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Put texts behind each other; each lone surrogate becomes U+FFFD."""
        return cls.joined([encoded(text) for text in texts])

    @classmethod
    def joined(cls, parts: Sequence[bytes]) -> Texts:
        """Put texts in UTF-8 behind each other."""
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets)

    def bytes_of(self, place: int) -> bytes:
        """Return a text in UTF-8."""
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()


class SignedTexts(NamedTuple):
    """Signatures of texts.

    Attributes:
        rows: of the type `SIGNATURE`, shape (n,).
        words: of each text its tokens as `dedup.signature.signature.Signature` has them; nothing where they were
            not asked for.
    """

    rows: NDArray[Any]
    words: list[bytes]


def encoded(text: str) -> bytes:
    """Return a text in UTF-8, each lone surrogate as U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def sign_texts(texts: Texts, scheme: Scheme, *, with_words: bool = False) -> SignedTexts:
    """Make the signatures of texts.

    Args:
        texts: any texts, in valid UTF-8.
        scheme: the way to make them.
        with_words: whether their words are wanted.
    """
    if is_in_use():
        from dedup.signature.analysis import analyse_texts  # noqa: PLC0415 -- loads the compiler

        return analyse_texts(texts, scheme, with_words=with_words)
    rows = np.zeros(len(texts.offsets) - 1, SIGNATURE)
    words = []
    for place in range(len(rows)):
        signature = make_signature(texts.bytes_of(place).decode(), scheme)
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
    from dedup.signature.analysis import find_words  # noqa: PLC0415 -- loads the compiler

    return find_words(text, scheme)


def bands_of_words(words: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by the words that its signature has, shape (24,)."""
    if not is_in_use():
        from dedup.signature.plain import plain_bands_of  # noqa: PLC0415

        return plain_bands_of(words)
    from dedup.signature.analysis import bands_of  # noqa: PLC0415 -- loads the compiler

    return bands_of(words)
