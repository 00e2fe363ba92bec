"""Two texts decided as a search decides them: do they share a key, and what is the second beside the first?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dedup.console import percent
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.measures import SharedKeys
from dedup.rules.pair import Pair
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Signature, Similarity


@dataclass(frozen=True, slots=True)
class PairDecision:
    """The decision on the second of two documents, and its reason.

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

    def __str__(self) -> str:
        """Return it in a line, such as `duplicate, 93% alike: most of the text is the same`."""
        found = "duplicate" if self.is_duplicate else "similar" if self.is_similar else "different"
        # Texts that are too short for a sketch are compared by their digests.
        alike = percent(self.similarity.jaccard, is_same=self.rule is Rule.SAME_TEXT)
        return f"{found}, {alike} alike: {self.rule}"

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped."""
        return self.rule.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether it is kept though the two are alike: whether it is a copy is for a person to say."""
        return self.rule.is_similar


class PairDecider:
    """Decides pairs as `dedup.store.deduplicator.Deduplicator` does.

    Args:
        settings: how matches are found and decided.
    """

    def __init__(self, settings: RuleSettings) -> None:
        self._settings = settings
        self._keys = settings.keys

    def decide(self, first: Signature, second: Signature) -> PairDecision:
        """Decide the second document where the first is stored."""
        return decision_of_pair(self.pair(first, second))

    def pair(
        self,
        first: Signature,
        second: Signature,
        known: Match | None = None,
        *,
        key: str = "",
        title: str = "",
        fields: str = "",
        in_full: bool = False,
    ) -> Pair:
        """Return two documents side by side.

        Args:
            first: the signature of the one that is stored.
            second: that of the one that comes.
            known: what else is known of the first, and the leader of its cluster; None: nothing, and it leads itself.
            key: the key of the second.
            title: its title.
            fields: its fields, see `dedup.rules.other_fields`.
            in_full: whether no measure is left out to save time.
        """
        return Pair(
            Content.of(second, key, title, fields),
            known or _alone(first),
            self._settings,
            lambda _: first.words,
            keys=self._shared(first, second),
            in_full=in_full,
        )

    def _shared(self, first: Signature, second: Signature) -> SharedKeys:
        """Return the tables and the bands that two documents share."""
        both = (first, second)
        if not all(each.sketch.shingles for each in both):
            return SharedKeys()
        fingerprints = np.array([each.fingerprint for each in both], np.uint64)
        ours, theirs = self._keys.of(fingerprints, np.stack([each.bands for each in both]))
        shared = np.flatnonzero(ours == theirs).tolist()
        tables = tuple(number for number in shared if number < self._keys.tables)
        bands = tuple(number - self._keys.tables for number in shared if number >= self._keys.tables)
        return SharedKeys(tables, bands)


def decision_of_pair(pair: Pair) -> PairDecision:
    """Return the decision on the second document of a pair."""
    return PairDecision(decide(pair), pair.distance, pair.of_texts, *(pair.keys or SharedKeys()))


def _alone(signature: Signature) -> Match:
    stored = StoredDocument(0, "", signature.text_digest, signature.fingerprint, signature.sketch)
    return Match(stored, stored)
