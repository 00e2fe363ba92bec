"""Text to signature: everything that the later stages need to know of a document's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dedup.compiled_cache import is_in_use
from dedup.signature.sketch import Sketch

if TYPE_CHECKING:
    from dedup.signature.schemes import Scheme

BITS = 64
"""The width of a fingerprint."""

DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What analysis yields of one text.

    Attributes:
        text_digest: 16 bytes, equal for texts that are equal once normalised.
        fingerprint: the simhash of the distinct pairs of neighbouring tokens, 64 bits, unsigned.
        sketch: the sketch of the shingles of three tokens.
        bands: a number for each band of minima of these shingles, see `dedup.signature.minhash`, shape (24,).
        words: the tokens themselves in UTF-8, a line feed between them; empty where they are not
            known. Candidates are compared by them.
    """

    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    bands: NDArray[np.uint64]
    words: bytes = b""


def digest(data: bytes | memoryview) -> bytes:
    """Return 16 bytes that stand for `data` wherever equality of content is asked for."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def make_signature(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text.

    Args:
        text: the main text of a document, as extracted; it is normalised here.
        scheme: the way to make it, of `dedup.signature.schemes`; by default `words`.

    Returns:
        The signature; that of a text without any pair of tokens has fingerprint 0.
    """
    return _analyser(is_compiled=is_in_use())(text, scheme)


@cache
def _analyser(*, is_compiled: bool) -> Callable[[str, Scheme | None], Signature]:
    # The compiler takes a second to load, and most processes only pass signatures on.
    if not is_compiled:
        from dedup.signature.plain import analyse_plainly  # noqa: PLC0415

        return analyse_plainly
    from dedup.signature.analysis import analyse  # noqa: PLC0415

    return analyse


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two fingerprints of the same scheme, in bits."""
    return (a ^ b).bit_count()
