"""The limits that say how alike two documents must be, and how much may differ: one set of them for each caution."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import NamedTuple

_LOST_LIMIT = re.compile(r"([0-9]*\.[0-9]+) ([0-9]+)-([0-9]+)", re.ASCII)


class Caution(StrEnum):
    """How much evidence it takes to drop a document.

    CAREFUL drops what is hardly anything but a copy. BALANCED keeps another payload in the same frame. EAGER drops
    what shares most of its words with another document, and keeps only a form that was filled in anew.
    """

    CAREFUL = "careful"
    BALANCED = "balanced"
    EAGER = "eager"


class LostLimit(NamedTuple):
    """How many tokens that follow each other, and that stand in nothing stored, a dropped document may have.

    In several stretches of at least 20 it may have twice as many.

    Attributes:
        share: a share of the tokens of its original,
        least: but so many at least,
        most: and so many at most.
    """

    share: float
    least: float
    most: float

    @classmethod
    def parse(cls, text: str) -> LostLimit:
        """Read what `str` writes: a number of tokens, `none` for any number, or `SHARE LEAST-MOST`.

        Raises:
            ValueError: it is none of these; the message is what they are.
        """
        if text == "none":
            return cls(0.0, math.inf, math.inf)
        if text.isdecimal():
            return cls(0.0, int(text), int(text))
        if found := _LOST_LIMIT.fullmatch(text):
            return cls(float(found[1]), int(found[2]), int(found[3]))
        raise ValueError("a number of tokens, 'none', or a share and two numbers as '0.2 20-50'")

    def __str__(self) -> str:
        if self.least == math.inf:
            return "none"
        return f"{self.share:g} {self.least}-{self.most}" if self.share else f"{self.least}"

    def of(self, tokens: int) -> float:
        """Return how many there may be where the original has so many."""
        return max(self.least, min(self.most, self.share * tokens))


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
    max_lost: LostLimit


LIMITS = {
    Caution.CAREFUL: Limits(0.7, 0.95, 0.75, 1.0, 0.1, 0.3, 0.3, 0.3, LostLimit(0.15, 20, 50)),
    Caution.BALANCED: Limits(0.55, 0.9, 0.6, 1.25, 0.1, 0.3, 0.4, 0.3, LostLimit(0.2, 20, 50)),
    Caution.EAGER: Limits(0.55, 0.9, 0.45, 1.5, 0.15, math.inf, math.inf, 0.0, LostLimit(0.25, 25, 100)),
}
"""What each caution asks for; measured in docs/results.md."""
