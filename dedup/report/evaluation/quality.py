"""Count how decisions agree with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Quality:
    """How well decisions agree with labels.

    Attributes:
        true_positives: duplicates that were found.
        false_positives: pairs that were found and are no duplicates.
        false_negatives: duplicates that were not found.
        true_negatives: the rest.
    """

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @classmethod
    def of(cls, decisions: Iterable[tuple[bool, bool]]) -> Self:
        """Count pairs of label and decision."""
        counts = Counter(decisions)
        return cls(counts[True, True], counts[False, True], counts[True, False], counts[False, False])

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def precision(self) -> float:
        """The share of the found pairs that are duplicates; 1 where nothing was found."""
        found = self.true_positives + self.false_positives
        return self.true_positives / found if found else 1.0

    @property
    def recall(self) -> float:
        """The share of the duplicates that were found; 1 where there are none."""
        wanted = self.true_positives + self.false_negatives
        return self.true_positives / wanted if wanted else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0
