"""What the sketches of two documents must reach: the rule that the crawl and compiled code share.

The functions are of plain numbers and call nothing, so that compiled code takes them as they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from dedup.rules.cautions import LIMITS, Caution
from dedup.rules.settings import RuleSettings

NOT_ALIKE, BY_JACCARD, BY_CONTAINMENT, LESS_ALIKE = range(4)
"""What sketches say of two documents: nothing, what makes them near-duplicates, or that they are only similar."""

SIMILAR = LIMITS[Caution.EAGER]
"""What two documents must reach to be similar, whatever is asked of duplicates."""

# Compiled code takes plain numbers.
_SIMILAR_JACCARD, _SIMILAR_CONTAINMENT, _SIMILAR_LENGTH_RATIO = SIMILAR[:3]

# Twice the standard error of an estimate by 128 minima.
_ERROR_OF_CONTAINMENT = 0.05


class Thresholds(NamedTuple):
    """The settings of the rule, see `dedup.rules.settings.RuleSettings`: a tuple, as compiled code wants it."""

    min_jaccard: float
    min_containment: float
    min_length_ratio: float
    short_tokens: int
    sure_jaccard: float
    max_rewritten: float
    leader_jaccard: float
    leader_containment: float

    @classmethod
    def of(cls, settings: RuleSettings) -> Thresholds:
        """Take them from settings."""
        # Compiled code is made for one type of each.
        values = {name: float(getattr(settings, name)) for name in cls._fields}
        return cls(**values | {"short_tokens": int(settings.short_tokens)})  # type: ignore[arg-type]


def alike_by(jaccard: float, containment: float, length_ratio: float, needed: Thresholds | RuleSettings) -> int:
    """Say whether two documents are near-duplicates by their sketches, and by what: one of the four above."""
    if jaccard >= needed.min_jaccard:
        return BY_JACCARD
    if containment >= needed.min_containment and length_ratio >= needed.min_length_ratio:
        return BY_CONTAINMENT
    # Whatever is asked of a duplicate: what the least caution takes for one is worth a person's look.
    if jaccard >= _SIMILAR_JACCARD or (containment >= _SIMILAR_CONTAINMENT and length_ratio >= _SIMILAR_LENGTH_RATIO):
        return LESS_ALIKE
    return NOT_ALIKE


def may_be_form(jaccard: float, needed: Thresholds | RuleSettings) -> bool:
    """Say whether one of two alike documents may be a form that was filled in anew, which words tell."""
    return jaccard < needed.sure_jaccard


def may_be_frame(containment: float, needed: Thresholds | RuleSettings) -> bool:
    """Say whether two alike documents may be other texts in the same frame, which words tell."""
    # What is rewritten in one text is not contained in the other.
    return containment < 1 - needed.max_rewritten + _ERROR_OF_CONTAINMENT


def is_near_leader(jaccard: float, containment: float, needed: Thresholds | RuleSettings) -> bool:
    """Say whether a document is close enough to the leader of a cluster to be a member."""
    return jaccard >= needed.leader_jaccard or containment >= needed.leader_containment
