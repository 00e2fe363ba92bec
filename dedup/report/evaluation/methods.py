"""Methods that decide pairs of documents: this library with any settings, and exact measures of texts.

The exact ones look at the whole texts, over all pairs: what a fingerprint and a sketch estimate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from dedup.errors import InputError
from dedup.rules.overlap import containment, jaccard, shingles_of
from dedup.rules.pairwise import PairDecider
from dedup.rules.settings import RuleSettings
from dedup.signature.normalise import normalise
from dedup.signature.schemes import DEFAULT, Scheme, find_scheme
from dedup.signature.signature import Signature


@dataclass(frozen=True, slots=True)
class AnalysedDocument:
    """A text and its signature."""

    text: str
    signature: Signature


class Method(Protocol):
    """Decides, by signatures of a scheme, whether the second of two documents is a duplicate of the first."""

    name: str
    scheme: Scheme

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and why."""
        ...


class Pipeline:
    """The decision that the pipeline makes: keys and check.

    The scheme, of any width, is that of the settings unless another one is given.
    """

    def __init__(self, name: str, settings: RuleSettings, scheme: Scheme | None = None) -> None:
        self.name = name
        self.scheme = scheme or find_scheme(settings.scheme)
        self._decider = PairDecider(settings, self.scheme)

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and the rule that gave it."""
        decision = self._decider.decide(first.signature, second.signature)
        likeness = decision.similarity
        return decision.rule.is_duplicate, (
            f"{decision.rule.value}: distance {decision.distance}, estimated Jaccard {likeness.jaccard:.2f}, "
            f"containment {likeness.containment:.2f}, length ratio {likeness.length_ratio:.2f}"
        )


class ExactMeasure:
    """A measure of two whole texts, and the least value at which they count as duplicates.

    Args:
        measure: `cosine` of the counts of tokens, `jaccard` or `containment` of the sets of
            shingles of three tokens.
        threshold: the least value, 0 to 1.

    Raises:
        InputError: there is no such measure.
    """

    scheme = DEFAULT

    def __init__(self, measure: str, threshold: float) -> None:
        if measure not in MEASURES:
            raise InputError(f"reference {measure!r}: expected one of {', '.join(MEASURES)}")
        self.name = f"exact {measure} {threshold:g}"
        self._measure = MEASURES[measure]
        self._threshold = threshold

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and the value of the measure."""
        value = self._measure(first.text, second.text)
        return value >= self._threshold, f"{self.name}: {value:.3f}"


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    # The compiler that this loads is not needed to read a command line.
    from dedup.signature.tokens import tokenise  # noqa: PLC0415

    return tuple(tokenise(normalise(text).encode()).words())


@lru_cache(maxsize=4096)
def _counts(text: str) -> Mapping[str, int]:
    return Counter(_tokens(text))


@lru_cache(maxsize=4096)
def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    return shingles_of(_tokens(text))


def _cosine(a: str, b: str) -> float:
    counts, others = _counts(a), _counts(b)
    product = sum(count * others.get(token, 0) for token, count in counts.items())
    norms = math.prod(sum(count * count for count in each.values()) for each in (counts, others))
    return product / math.sqrt(norms) if norms else 0.0


def _jaccard(a: str, b: str) -> float:
    return jaccard(_shingles(a), _shingles(b))


def _containment(a: str, b: str) -> float:
    return containment(_shingles(a), _shingles(b))


MEASURES = {"cosine": _cosine, "jaccard": _jaccard, "containment": _containment}
"""The exact measures by name."""
