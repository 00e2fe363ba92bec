"""The signature of one document of a corpus."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dedup.signature.batch import SIGNATURE
from dedup.signature.signature import digest
from dedup.signature.sketch import Sketch

SIGNED = np.dtype([*SIGNATURE.descr, ("text_bytes", "<i8")])
"""A signature and the size of the text in UTF-8. The digest is what `identity_of` returns; zeros for nothing."""


class Signed(NamedTuple):
    """The signature of one document.

    Attributes:
        text_digest: see `dedup.signature.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
        fingerprint: see `Signature`.
        sketch: see `Signature`.
        words: what is kept of the words; see `dedup.corpus.signing.words`.
        text_bytes: the size of the text in UTF-8.
        text: the main text of a page; None where there was a text.
    """

    text_digest: bytes
    body_digest: bytes | None
    fingerprint: int
    sketch: Sketch
    words: bytes
    text_bytes: int
    text: str | None

    @classmethod
    def of(cls, row: Any, words: bytes, body_digest: bytes | None = None, text: str | None = None) -> Signed:
        """Return a row of the type `SIGNED` with what goes with it, see the attributes."""
        return cls(
            row["digest"].tobytes(),
            body_digest,
            int(row["fingerprint"]),
            Sketch(row["minima"].tobytes(), int(row["numbers"]), int(row["tokens"]), int(row["shingles"])),
            words,
            int(row["text_bytes"]),
            text,
        )


def identity_of(tokens: int, text_digest: bytes, body_digest: bytes | None) -> bytes | None:
    """Return the digest of what makes two documents of a corpus the same; None if nothing does.

    Pages without text are the same only to the byte, texts without words never.

    Args:
        tokens: how many the text has.
        text_digest: see `dedup.signature.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
    """
    if tokens:
        return text_digest
    return None if body_digest is None else page_identity(body_digest)


def page_identity(body_digest: bytes) -> bytes:
    """Return what `identity_of` does for a page without text, by the digest of its bytes."""
    return digest(b"page without text" + body_digest)
