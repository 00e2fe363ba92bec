"""PDF files, each of which is a document; what reads their text is an extra."""

from __future__ import annotations

from dedup.readers.plain import read
from dedup.readers.streams import load_optional

__all__ = ["check", "read"]


def check(path: str, name: str) -> None:
    """Load what is needed.

    Raises:
        InputError: it is not installed.
    """
    load_optional("pypdfium2", "pypdfium2", name, extra="pdf")
