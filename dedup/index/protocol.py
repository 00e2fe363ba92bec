"""What a look-up brings."""

from __future__ import annotations

from typing import NamedTuple


class Candidate(NamedTuple):
    """A stored fingerprint that a probe brought, and its distance in bits."""

    document_id: int
    distance: int
