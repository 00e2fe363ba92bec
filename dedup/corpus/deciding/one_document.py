"""What is decided at once: a batch of signed documents, or one document alone."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.signing.signed import SIGNED, Signed, identity_of


class Batch(Protocol):
    """Signed documents, as `dedup.corpus.signing.batches.SignedBatch` has them.

    Attributes:
        rows: of the type `dedup.corpus.signing.signed.SIGNED`, shape (n,).
        key_bytes: how many bytes each key has with its length, shape (n,).
        word_bytes: how many bytes has what is kept of the words of each, with its length, shape (n,).
        has_digest: of which documents the digest says what they are, shape (n,); texts without words are no copies.
    """

    rows: NDArray[Any]
    key_bytes: NDArray[np.int64]
    word_bytes: NDArray[np.int64]
    has_digest: NDArray[np.bool_]

    def __len__(self) -> int: ...

    def signed(self, place: int) -> Signed:
        """Return the signature of a document."""

    def keys_of(self, places: NDArray[np.int64]) -> bytes:
        """Return the keys of some documents, each behind its length."""

    def words_of(self, places: NDArray[np.int64]) -> bytes:
        """Return what is kept of the words of some documents, each behind its length."""


class OneDocument:
    """A batch of one document; see `Batch`.

    Args:
        key: what it is called.
        signed: its signature.
    """

    def __init__(self, key: str, signed: Signed) -> None:
        identity = identity_of(signed)
        self._key, self._signed = key, signed._replace(text_digest=identity or bytes(16))
        self.has_digest = np.array([identity is not None])
        self.key_bytes = np.array([LENGTH_BYTES + len(key.encode())])
        self.word_bytes = np.array([LENGTH_BYTES + len(signed.words)])
        self.rows = np.zeros(1, SIGNED)
        row, sketch = self.rows[0], signed.sketch
        row["digest"] = np.frombuffer(self._signed.text_digest, np.uint64)
        row["fingerprint"], row["margins"] = signed.fingerprint, signed.margins
        row["minima"] = np.frombuffer(sketch.minima, np.uint64)
        row["shingles"], row["tokens"], row["text_bytes"] = sketch.shingles, sketch.tokens, signed.text_bytes

    def __len__(self) -> int:
        return 1

    def signed(self, place: int) -> Signed:
        """Return the signature."""
        return self._signed

    def keys_of(self, places: NDArray[np.int64]) -> bytes:
        """Return the key behind its length, if it is asked for."""
        return _behind_length(self._key.encode()) if len(places) else b""

    def words_of(self, places: NDArray[np.int64]) -> bytes:
        """Return what is kept of the words behind its length, if it is asked for."""
        return _behind_length(self._signed.words) if len(places) else b""


def _behind_length(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "little") + data
