"""The limits that say how alike two documents must be, and how much may differ: one set of them for each caution."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple


class Caution(StrEnum):
    """How much evidence it takes to drop a document.

    CAREFUL drops what is hardly anything but a copy. BALANCED keeps another payload in the same frame. EAGER drops
    what shares most of its words with another document, and keeps only a form that was filled in anew.
    """

    CAREFUL = "careful"
    BALANCED = "balanced"
    EAGER = "eager"


class Limits(NamedTuple):
    """Limits, see `dedup.rules.settings.RuleSettings`."""

    min_jaccard: float
    min_containment: float
    min_length_ratio: float
    max_replaced: float
    max_rewritten: float
    max_added: float
    max_swapped: float
    min_numbers: float


LIMITS = {
    Caution.CAREFUL: Limits(0.7, 0.95, 0.75, 1.0, 0.1, 0.3, 0.3, 0.3),
    Caution.BALANCED: Limits(0.55, 0.9, 0.6, 1.25, 0.1, 0.3, 0.4, 0.3),
    Caution.EAGER: Limits(0.55, 0.9, 0.45, 1.5, 0.15, math.inf, math.inf, 0.0),
}
"""What each caution asks for; measured in docs/how-well.md."""
