"""What two documents must have in common: the rule that the check by words and compiled code share.

The functions are of plain numbers and call nothing, so that compiled code takes them as they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from dedup.rules.cautions import LIMITS, Caution
from dedup.rules.settings import RuleSettings

NOT_ALIKE, BY_JACCARD, BY_CONTAINMENT, LESS_ALIKE = range(4)
"""What the shingles say of two documents: nothing, what makes them near-duplicates, or that they are only similar."""

SIMILAR = LIMITS[Caution.EAGER]
"""What two documents must reach to be similar, whatever is asked of duplicates."""

# Compiled code takes plain numbers.
_SIMILAR_JACCARD, _SIMILAR_CONTAINMENT, _SIMILAR_LENGTH_RATIO = SIMILAR[:3]

# Twice the standard error of an estimate by 128 minima.
_ERROR = 0.1


class Thresholds(NamedTuple):
    """The settings of the rule, see `dedup.rules.settings.RuleSettings`: a tuple, as compiled code wants it."""

    min_jaccard: float
    min_containment: float
    min_length_ratio: float
    short_tokens: int

    @classmethod
    def of(cls, settings: RuleSettings) -> Thresholds:
        """Take them from settings."""
        # Compiled code is made for one type of each.
        values = {name: float(getattr(settings, name)) for name in cls._fields}
        return cls(**values | {"short_tokens": int(settings.short_tokens)})  # type: ignore[arg-type]


def alike_by(jaccard: float, containment: float, length_ratio: float, needed: Thresholds | RuleSettings) -> int:
    """Say whether two documents are near-duplicates by their shingles, and by what: one of the four above."""
    if jaccard >= needed.min_jaccard:
        return BY_JACCARD
    if containment >= needed.min_containment and length_ratio >= needed.min_length_ratio:
        return BY_CONTAINMENT
    # Whatever is asked of a duplicate: what the least caution takes for one is worth a person's look.
    if jaccard >= _SIMILAR_JACCARD or (containment >= _SIMILAR_CONTAINMENT and length_ratio >= _SIMILAR_LENGTH_RATIO):
        return LESS_ALIKE
    return NOT_ALIKE


def may_be_alike(
    jaccard: float, containment: float, length_ratio: float, tokens: int, needed: Thresholds | RuleSettings
) -> bool:
    """Say whether `alike_by` may find two documents alike, by what their sketches tell of their shingles.

    Args:
        jaccard: estimated Jaccard similarity.
        containment: estimated containment.
        length_ratio: tokens of the shorter text by tokens of the longer one.
        tokens: those of the shorter text; of short ones the sketches tell too little.
        needed: what is to be reached.
    """
    return (
        tokens < needed.short_tokens
        or jaccard >= min(needed.min_jaccard, _SIMILAR_JACCARD) - _ERROR
        or (
            containment >= min(needed.min_containment, _SIMILAR_CONTAINMENT) - _ERROR
            and length_ratio >= min(needed.min_length_ratio, _SIMILAR_LENGTH_RATIO)
        )
    )
