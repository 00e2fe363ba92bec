"""The way of a text to its signature, by scheme 1."""

from __future__ import annotations

import numpy as np

from dedup.fingerprint.characters import character_classes
from dedup.fingerprint.hashes import murmur3
from dedup.fingerprint.minhash import make_sketch
from dedup.fingerprint.normalise import normalise
from dedup.fingerprint.signature import Signature, digest
from dedup.fingerprint.simhash import fingerprint_of, fold
from dedup.fingerprint.tokens import has_digit, tokenise


def analyse(text: str) -> Signature:
    """Make the signature of a text; see `dedup.fingerprint.signature.make_signature`."""
    data = normalise(text).encode()
    tokens = tokenise(data)
    array = np.frombuffer(data, np.uint8)
    hashes = murmur3(array, tokens.starts, tokens.ends)
    sums = fold(hashes, np.ones(len(hashes), np.int64))
    return Signature(
        text_digest=digest(data),
        fingerprint=fingerprint_of(sums),
        margins=np.abs(sums),
        sketch=make_sketch(hashes, hashes[has_digit(array, tokens.starts, tokens.ends, character_classes())]),
    )
