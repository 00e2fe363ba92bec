"""The way of a text to its signature, by any scheme."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dedup.fingerprint.characters import character_classes
from dedup.fingerprint.folded_text import SLACK
from dedup.fingerprint.hashes import murmur3_of_tokens
from dedup.fingerprint.minhash import make_sketch
from dedup.fingerprint.normalise import clean, normalise
from dedup.fingerprint.schemes import Scheme, default_scheme
from dedup.fingerprint.signature import Signature, digest
from dedup.fingerprint.simhash import fingerprint_of, fold_equal, fold_wide
from dedup.fingerprint.spaced import analyse_spaced
from dedup.fingerprint.tokens import has_digit, tokenise


def analyse(text: str, scheme: Scheme | None = None) -> Signature:
    """Make the signature of a text; see `dedup.fingerprint.signature.make_signature`."""
    scheme = scheme or default_scheme()
    if scheme.is_compiled and (signature := analyse_spaced(text, scheme.tie)) is not None:
        return signature
    data = normalise(text).encode()
    tokens = tokenise(data, segmenter=scheme.segmenter, vocabulary=scheme.vocabulary)
    array = np.frombuffer(data, np.uint8)
    hashes = murmur3_of_tokens(np.frombuffer(bytearray(data) + bytes(SLACK), np.uint8), tokens.edges())
    sums = fold_equal(hashes) if scheme.is_compiled else sums_of(scheme.weighted(clean(text), tokens), scheme)
    return Signature(
        text_digest=digest(data),
        fingerprint=fingerprint_of(sums, scheme.tie),
        margins=np.abs(sums),
        sketch=make_sketch(hashes, hashes[has_digit(array, tokens.starts, tokens.ends, character_classes())]),
        words=tokens.joined(),
    )


def sums_of(features: Mapping[bytes, float], scheme: Scheme) -> NDArray[np.int64]:
    """Add up features by a scheme's weighting and hash function.

    Args:
        features: the features and their own weights: counts, or the ranks of keywords.
        scheme: the scheme; its kind of features plays no part.

    Returns:
        The sums, shape (bits,), index 0 of the least significant bit; where weights are real in units of
        1 / `dedup.published.features.UNIT`.
    """
    weights = np.array([scheme.weigh(weight) for weight in features.values()], np.int64)
    return fold_wide([scheme.hash_of(feature) for feature in features], weights, scheme.bits)
