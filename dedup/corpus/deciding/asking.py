"""What the rules of `dedup.rules.matcher` are asked of the documents of a corpus."""

from __future__ import annotations

from functools import partial

from dedup.corpus.signing.signed import Signed
from dedup.corpus.signing.words import WordSource
from dedup.rules.documents import Content
from dedup.rules.matcher import Asked


def asked_of(signed: Signed, key: str, source: WordSource) -> Asked:
    """Return a document as it is asked what it is a duplicate of.

    Args:
        signed: its signature.
        key: what it is called.
        source: gives its words.
    """
    return Asked(signed.fingerprint, signed.sketch, partial(source.words, signed.words), key)


def content_of(signed: Signed) -> Content:
    """Return what a decision says of a document's content."""
    return Content(signed.text_digest, signed.fingerprint, signed.sketch, signed.text_bytes, None, b"")
