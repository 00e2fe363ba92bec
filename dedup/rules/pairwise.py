"""Decide two documents against each other, as if one came after the other into an empty database."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.index.probes import ProbePlan
from dedup.rules.mutual import MutualProbes
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import check, fewest_tokens, plan_of
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
        table: the number of the table whose probe brought the first; None where none did.
        flipped: how many bits of the table's prefix that probe flips.
    """

    rule: Rule
    distance: int
    similarity: Similarity
    table: int | None = None
    flipped: int | None = None

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
        radius: the largest distance of a candidate, in bits.
    """

    def __init__(self, settings: RuleSettings, scheme: Scheme | None = None) -> None:
        scheme = scheme or find_scheme(settings.scheme)
        self._settings = settings
        self._plan: ProbePlan = plan_of(settings)
        self._has_tables = scheme.bits == BITS
        self._without_features = scheme.without_features
        self._mutual = MutualProbes(self._plan, scheme)
        self.radius = self._plan.radius * scheme.bits // BITS

    def decide(self, first: Signature, second: Signature, *, siblings: bool = False) -> PairDecision:
        """Decide the second document where the first is known; siblings: whether they are at sibling addresses."""
        apart = distance(first.fingerprint, second.fingerprint)
        similarity = compare(first.sketch, second.sketch)
        probe = None if self._lacks_features(first, second) else self._find(first, second)
        table, flipped = probe or (None, None)
        return PairDecision(
            self._rule(first, second, apart, probe, siblings=siblings), apart, similarity, table, flipped
        )

    def _find(self, first: Signature, second: Signature) -> tuple[int | None, int | None] | None:
        if not self._has_tables:
            return None, None
        return self._plan.find(second.fingerprint, second.margins, first.fingerprint)

    def _rule(
        self,
        first: Signature,
        second: Signature,
        apart: int,
        probe: tuple[int | None, int | None] | None,
        *,
        siblings: bool,
    ) -> Rule:
        has_words = first.sketch.tokens > 0 and second.sketch.tokens > 0
        if has_words and first.text_digest == second.text_digest:
            return Rule.SAME_TEXT
        if min(first.sketch.tokens, second.sketch.tokens) < fewest_tokens(self._settings):
            return Rule.TOO_SHORT
        if self._lacks_features(first, second):
            return Rule.NO_FEATURES
        if apart > self.radius:
            return Rule.TOO_FAR
        if probe is None:
            return Rule.NO_PROBE
        return Rule.PAPER if self._settings.mode is Mode.PAPER else self._confirm(first, second, siblings=siblings)

    def _lacks_features(self, first: Signature, second: Signature) -> bool:
        return self._without_features in (first.fingerprint, second.fingerprint)

    def _confirm(self, first: Signature, second: Signature, *, siblings: bool) -> Rule:
        words = (first.words, second.words)
        rule = check(first.sketch, second.sketch, lambda: words, self._settings, siblings=siblings)
        is_wanted_both_ways = (rule.is_duplicate or rule.is_similar) and self._has_tables
        if is_wanted_both_ways and not self._mutual.hold(second.fingerprint, first.fingerprint, lambda: first.words):
            return Rule.ONE_WAY
        return rule
