"""Text to signature: everything that the later stages need to know of a document's text."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import mmh3
import numpy as np
from numpy.typing import NDArray

from dedup.fingerprint.normalise import normalise
from dedup.fingerprint.simhash import fingerprint_of, fold
from dedup.fingerprint.sketch import Sketch, make_sketch
from dedup.fingerprint.tokens import tokenise

SCHEME = "1:words/count/mmh3/64/sketch3x128x4"
"""Name and version of the way signatures are made; stored with every index and never mixed."""

DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What analysis yields of one text.

    Attributes:
        text_digest: 16 bytes, equal for texts that are equal once normalised.
        fingerprint: the 64-bit simhash of the tokens, weighted by their counts; unsigned.
        margins: for each bit (0 the least significant) the absolute sum behind it, shape (64,);
            the bits with the smallest margins are the weak ones.
        sketch: the sketch of the shingles of three tokens.
    """

    text_digest: bytes
    fingerprint: int
    margins: NDArray[np.int64]
    sketch: Sketch


def digest(data: bytes) -> bytes:
    """Return 16 bytes that stand for `data` wherever equality of content is asked for."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def make_signature(text: str) -> Signature:
    """Make the signature of a text, by scheme 1.

    Args:
        text: the main text of a document, as extracted; it is normalised here.

    Returns:
        The signature; that of a text without any token has fingerprint 0 and no tokens.
    """
    normalised = normalise(text)
    numbers_of: dict[str, int] = {}
    # Every token as the number of its first occurrence: the rest is arithmetic on arrays.
    order = np.array([numbers_of.setdefault(token, len(numbers_of)) for token in tokenise(normalised)], np.intp)
    distinct = list(numbers_of)
    hashes = np.array([mmh3.hash64(token, signed=False)[0] for token in distinct], np.uint64)
    has_digit = np.array([not token.isalpha() and any(map(str.isdigit, token)) for token in distinct], np.bool_)
    sums = fold(hashes, np.bincount(order, minlength=len(distinct)))
    return Signature(
        text_digest=digest(normalised.encode()),
        fingerprint=fingerprint_of(sums),
        margins=np.abs(sums),
        sketch=make_sketch(hashes[order], hashes[has_digit]),
    )
