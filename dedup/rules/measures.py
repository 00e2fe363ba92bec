"""What is measured of two documents, and the limits that it is held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dedup.rules.settings import LIMITS, Caution, Limits, RuleSettings
from dedup.signature.signature import Similarity

SIMILAR = LIMITS[Caution.EAGER]
"""What two documents must reach to be similar, whatever is asked of duplicates."""

# Twice the standard error of an estimate by 128 minima.
_ERROR = 0.1


class SharedKeys(NamedTuple):
    """The keys that two documents share: the numbers of the tables, and of the bands."""

    tables: tuple[int, ...] = ()
    bands: tuple[int, ...] = ()


class Measure(NamedTuple):
    """What was measured of two documents, and the limit that it was held against.

    Attributes:
        name: the setting that holds the limit; `max_` are not to be exceeded, all others are to be reached.
        value: what was measured.
        limit: the limit, as it is for these two documents.
        what: what was measured, where that is not the words of both.
    """

    name: str
    value: float
    limit: float
    what: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit if self.name.startswith("max_") else self.value >= self.limit


def measured(found: Similarity, limits: Limits, what: str = "") -> Iterator[Measure]:
    """Yield what was measured of how alike two documents are; one of the two ways is enough."""
    names = ("jaccard", "containment", "length_ratio")
    by_jaccard = found.jaccard >= limits.min_jaccard
    needed = names[:1] if by_jaccard else names[1:] if reaches(found, limits) else names
    for name in needed:
        yield Measure(f"min_{name}", getattr(found, name), getattr(limits, f"min_{name}"), what)


def reaches(found: Similarity, needed: Limits) -> bool:
    """Return whether enough of all shingles is shared, or nearly all of a text that is not much shorter."""
    return found.jaccard >= needed.min_jaccard or (
        found.containment >= needed.min_containment and found.length_ratio >= needed.min_length_ratio
    )


def may_be_alike(jaccard: float, containment: float, length_ratio: float, tokens: int, needed: Limits) -> bool:
    """Return whether the words of two documents may be alike, by the estimates of their sketches.

    Args:
        jaccard: estimated Jaccard similarity.
        containment: estimated containment.
        length_ratio: tokens of the shorter text by tokens of the longer one.
        tokens: those of the shorter text; of short ones the sketches tell too little.
        needed: what is to be reached.
    """
    return (
        tokens < RuleSettings.short_tokens
        or jaccard >= min(needed.min_jaccard, SIMILAR.min_jaccard) - _ERROR
        or (
            containment >= min(needed.min_containment, SIMILAR.min_containment) - _ERROR
            and length_ratio >= min(needed.min_length_ratio, SIMILAR.min_length_ratio)
        )
    )


def is_near_leader(to_leader: Similarity, settings: RuleSettings) -> bool:
    """Return whether a document is close enough to the leader of the cluster of what it matched."""
    return to_leader.jaccard >= settings.leader_jaccard or to_leader.containment >= settings.leader_containment
