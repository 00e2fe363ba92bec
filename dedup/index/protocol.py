"""What the deduplicator asks of an index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # an index in memory needs no database
    from sqlalchemy import Connection


class Candidate(NamedTuple):
    """A stored fingerprint that a probe brought, and its distance in bits."""

    document_id: int
    distance: int


class Index(Protocol):
    """Fingerprints of documents, and what is near one of them.

    All calls but `close` take a connection inside a writing transaction. What one of them has stored
    is found by the next one, and by nobody any more once the transaction is rolled back.
    """

    def add(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Store fingerprints.

        Args:
            connection: inside a writing transaction.
            entries: pairs of document id and fingerprint.
        """

    def remove(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Take fingerprints out; the arguments are those of `add`."""

    def query(
        self, connection: Connection, fingerprint: int, margins: NDArray[np.int64], limit: int
    ) -> list[Candidate]:
        """Find the stored fingerprints that the plan's probes bring.

        Args:
            connection: inside a writing transaction.
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,).
            limit: how many candidates at most; the closest are returned.

        Returns:
            The candidates, the closest first, equally close ones by document id.
        """

    def close(self) -> None:
        """Save what is to be saved; nothing is asked any more."""
