"""What became of the documents of a corpus, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from dedup.rules.decision import Decision, Verdict

NAMED = 5
"""So many of what was rejected, or could not be analysed, are named."""

T = TypeVar("T", int, float)


@dataclass
class Tally:
    """Counts of a run; part of every checkpoint.

    Attributes:
        documents: how many were read.
        kept: how many of them were kept.
        exact: how many were dropped as exact duplicates.
        near: how many as near-duplicates.
        similar: how many of those that were kept are similar to others.
        rejected: how many lines, rows, records and rests of files were no documents.
        unanalysed: how many could not be analysed, or killed their worker process; they are kept.
        wordless: how many have no words; they are kept, unless their pages are the same to the byte.
        featureless: how many have words but none that the scheme makes a feature of; they are compared exactly.
        text_bytes: bytes of all texts in UTF-8.
        saved_bytes: bytes of the texts that were dropped.
        distances: the least and the largest distance of near-duplicates.
        similarities: the least and the largest similarity of near-duplicates.
        first_rejected: the first few of them: where, and why.
        first_unanalysed: the first few of them: where, and why.
        seconds: how long the run took, all its parts together.
    """

    documents: int = 0
    kept: int = 0
    exact: int = 0
    near: int = 0
    similar: int = 0
    rejected: int = 0
    unanalysed: int = 0
    wordless: int = 0
    featureless: int = 0
    text_bytes: int = 0
    saved_bytes: int = 0
    distances: tuple[int, int] | None = None
    similarities: tuple[float, float] | None = None
    first_rejected: list[tuple[str, str]] = field(default_factory=list)
    first_unanalysed: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        # JSON has no tuples.
        self.distances = self.distances and (self.distances[0], self.distances[1])
        self.similarities = self.similarities and (self.similarities[0], self.similarities[1])
        self.first_rejected = [(source, reason) for source, reason in self.first_rejected]
        # Earlier versions did not note why.
        self.first_unanalysed = [
            (each, "") if isinstance(each, str) else (each[0], each[1]) for each in self.first_unanalysed
        ]

    def count_duplicate(self, decision: Decision, *, has_words: bool) -> None:
        """Count a document that is dropped."""
        self.documents += 1
        self.wordless += not has_words
        self.text_bytes += decision.text_bytes
        self.saved_bytes += decision.text_bytes
        if decision.verdict is Verdict.EXACT_DUPLICATE:
            self.exact += 1
            return
        self.near += 1
        if decision.distance is not None and decision.similarity is not None:
            self.distances = _widened(self.distances, decision.distance)
            self.similarities = _widened(self.similarities, decision.similarity)

    def count_new(self, documents: int, wordless: int, text_bytes: int) -> None:
        """Count documents that are new.

        Args:
            documents: how many there are.
            wordless: how many of them have no words.
            text_bytes: the size of their texts in UTF-8.
        """
        self.documents += documents
        self.kept += documents
        self.wordless += wordless
        self.text_bytes += text_bytes

    def count_unanalysed(self, source: str, reason: str) -> None:
        """Count a document that is kept without a verdict."""
        self.documents += 1
        self.kept += 1
        self.unanalysed += 1
        if len(self.first_unanalysed) < NAMED:
            self.first_unanalysed.append((source, reason))

    def count_rejected(self, source: str, reason: str) -> None:
        """Count what was no document."""
        self.rejected += 1
        if len(self.first_rejected) < NAMED:
            self.first_rejected.append((source, reason))


def _widened(ends: tuple[T, T] | None, value: T) -> tuple[T, T]:
    return (value, value) if ends is None else (min(ends[0], value), max(ends[1], value))
