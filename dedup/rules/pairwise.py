"""Decide two documents against each other, as if one came after the other into an empty database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dedup.index.keys import RADIUS
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import check, fewest_tokens, keys_of
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import BITS, Signature, distance
from dedup.signature.sketch import Similarity, compare


@dataclass(frozen=True, slots=True)
class PairDecision:
    """What became of the second of two documents, and why.

    Attributes:
        rule: what decided.
        distance: bits in which the fingerprints differ.
        similarity: as estimated by the sketches.
        tables: the numbers of the tables whose prefix the two share.
        bands: the numbers of the bands that they share.
    """

    rule: Rule
    distance: int
    similarity: Similarity
    tables: tuple[int, ...] = ()
    bands: tuple[int, ...] = ()

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped."""
        return self.rule.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether it is kept though the two are alike: whether it is a copy is for a person to say."""
        return self.rule.is_similar


class PairDecider:
    """Decides pairs as `dedup.ledger.deduplicator.Deduplicator` does.

    Args:
        settings: how matches are found and decided.
        scheme: how the signatures were made; None: as the settings say. The tables are made for 64 bits; other
            fingerprints are found by comparing all, within a radius of the same share of bits.

    Attributes:
        radius: the largest distance, in bits, of a candidate that the fingerprint brings.
    """

    def __init__(self, settings: RuleSettings, scheme: Scheme | None = None) -> None:
        scheme = scheme or find_scheme(settings.scheme)
        self._settings = settings
        self._keys = keys_of(settings)
        self._has_tables = scheme.bits == BITS
        self._without_features = scheme.without_features
        self.radius = RADIUS * scheme.bits // BITS

    def decide(self, first: Signature, second: Signature, *, siblings: bool = False) -> PairDecision:
        """Decide the second document where the first is known; siblings: whether they are at sibling addresses."""
        apart = distance(first.fingerprint, second.fingerprint)
        similarity = compare(first.sketch, second.sketch)
        tables, bands = self._shared(first, second)
        rule = self._rule(first, second, apart, has_key=bool(bands) or apart <= self.radius, siblings=siblings)
        return PairDecision(rule, apart, similarity, tables, bands)

    def _shared(self, first: Signature, second: Signature) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the tables and the bands that two documents share."""
        both = (first, second)
        if not all(each.sketch.shingles for each in both):
            return (), ()
        fingerprints = np.array([each.fingerprint if self._has_tables else 0 for each in both], np.uint64)
        ours, theirs = self._keys.of(fingerprints, np.stack([each.bands for each in both]))
        shared = np.flatnonzero(ours == theirs).tolist()
        tables = tuple(number for number in shared if number < self._keys.tables and self._has_tables)
        return tables, tuple(number - self._keys.tables for number in shared if number >= self._keys.tables)

    def _rule(self, first: Signature, second: Signature, apart: int, *, has_key: bool, siblings: bool) -> Rule:
        has_words = first.sketch.tokens > 0 and second.sketch.tokens > 0
        if has_words and first.text_digest == second.text_digest:
            return Rule.SAME_TEXT
        if min(first.sketch.tokens, second.sketch.tokens) < fewest_tokens(self._settings):
            return Rule.TOO_SHORT
        if self._without_features in (first.fingerprint, second.fingerprint):
            return Rule.NO_FEATURES
        if self._settings.mode is Mode.PAPER:
            return Rule.PAPER if apart <= self.radius else Rule.TOO_FAR
        if not has_key:
            return Rule.NO_KEY
        return check(first.words, second.words, self._settings, siblings=siblings)
