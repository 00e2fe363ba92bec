"""Decide two documents against each other, as if one came after the other into an empty database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dedup.index.keys import RADIUS
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import check, fewest_tokens, keys_of
from dedup.signature.signature import Signature, distance
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
    """

    def __init__(self, settings: RuleSettings) -> None:
        self._settings = settings
        self._keys = keys_of(settings)

    def decide(self, first: Signature, second: Signature, *, siblings: bool = False) -> PairDecision:
        """Decide the second document where the first is known; siblings: whether they are at sibling addresses."""
        apart = distance(first.fingerprint, second.fingerprint)
        similarity = compare(first.sketch, second.sketch)
        tables, bands = self._shared(first, second)
        rule = self._rule(first, second, apart, has_key=bool(bands) or apart <= RADIUS, siblings=siblings)
        return PairDecision(rule, apart, similarity, tables, bands)

    def _shared(self, first: Signature, second: Signature) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the tables and the bands that two documents share."""
        both = (first, second)
        if not all(each.sketch.shingles for each in both):
            return (), ()
        fingerprints = np.array([each.fingerprint for each in both], np.uint64)
        ours, theirs = self._keys.of(fingerprints, np.stack([each.bands for each in both]))
        shared = np.flatnonzero(ours == theirs).tolist()
        tables = tuple(number for number in shared if number < self._keys.tables)
        return tables, tuple(number - self._keys.tables for number in shared if number >= self._keys.tables)

    def _rule(self, first: Signature, second: Signature, apart: int, *, has_key: bool, siblings: bool) -> Rule:
        has_words = first.sketch.tokens > 0 and second.sketch.tokens > 0
        if has_words and first.text_digest == second.text_digest:
            return Rule.SAME_TEXT
        if min(first.sketch.tokens, second.sketch.tokens) < fewest_tokens(self._settings):
            return Rule.TOO_SHORT
        if self._settings.mode is Mode.PAPER:
            return Rule.PAPER if apart <= RADIUS else Rule.TOO_FAR
        if not has_key:
            return Rule.NO_KEY
        return check(first.words, second.words, self._settings, siblings=siblings)
