"""Decisions on documents: a verdict, the original, and the rule that decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dedup.console import plain
from dedup.console import similarity as shown
from dedup.rules.documents import Content, Match, StoredDocument, Verdict
from dedup.rules.table import Rule
from dedup.rules.word_comparison import NOTHING_LOST, LostText
from dedup.signature.signature import compare, distance


class Answer(NamedTuple):
    """What a rule says of a document: it is a duplicate, resembles another one, or neither.

    Attributes:
        match: what it is a duplicate of, or resembles; None: neither.
        rule: what decided; None of a duplicate that came with a saved index.
        lost: what it says that nothing stored does, where it is a near-duplicate.
    """

    match: Match | None = None
    rule: Rule | None = None
    lost: LostText = NOTHING_LOST

    @property
    def original(self) -> StoredDocument | None:
        """The leader of the cluster that it belongs to, where it is a duplicate."""
        if self.match is None or not (self.rule is None or self.rule.is_duplicate):
            return None
        return self.match.leader


NOTHING_ALIKE = Answer()


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the original that it was found by.

    Attributes:
        verdict: the verdict.
        original: the key of the original that the document is a duplicate of, or resembles.
        matched: the key of the member of the original's cluster that it was found by.
        distance: bits in which the fingerprints of document and original differ, 0 to 64.
        similarity: estimated Jaccard similarity of document and original, 0 to 1.
        rule: what decided that it is a duplicate, or similar and none; of what is seen again unchanged that
            of the decision on it, None where it came with a saved index.
        text_bytes: size of the document's text in UTF-8.
        lost: what it says that nothing stored does, where it is a near-duplicate.
        second: the key of a second original that it is a copy of, too: reports count the clusters of both as one.
        key: the key that it is known by.
        is_separate: whether that is one of its own, because other texts came under its key.
        is_unstored: whether nobody has stored what it holds: it has just come, or another process has it under way.
        document_id: its number in the database; 0 where there is none.
        original_id: that of the original.
        is_of_earlier_run: whether its original was seen in earlier runs alone, so far.
    """

    verdict: Verdict
    original: str | None = None
    matched: str | None = None
    distance: int | None = None
    similarity: float | None = None
    rule: Rule | None = None
    text_bytes: int = field(default=0, compare=False)
    lost: LostText = field(default=NOTHING_LOST, compare=False)
    second: str | None = None
    key: str = field(default="", compare=False)
    is_separate: bool = field(default=False, compare=False)
    is_unstored: bool = field(default=False, compare=False)
    document_id: int = field(default=0, compare=False)
    original_id: int = field(default=0, compare=False)
    is_of_earlier_run: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return it in a line, such as `b: near duplicate of a, similarity .93, distance 4, by jaccard`."""
        line = f"{plain(self.key)}: {self.verdict.value}" if self.key else self.verdict.value
        if self.original is None or self.similarity is None:
            return line
        by = f", by {self.rule.short}" if self.rule else ""
        found = f"similarity {shown(self.similarity)}, distance {self.distance}"
        return f"{line} {'of' if self.verdict.is_duplicate else 'to'} {plain(self.original)}, {found}{by}"

    def columns(self) -> dict[str, Any]:
        """Return what is stored of it, but for the documents, by the names of the columns."""
        return {
            "verdict": self.verdict.value,
            "distance": self.distance,
            "similarity": self.similarity,
            "rule": self.rule and self.rule.short,
            "lost": self.lost.words,
            "lost_bytes": self.lost.bytes,
            "places": self.lost.places,
        }

    @property
    def is_dropped(self) -> bool:
        """Whether the document is a duplicate."""
        return self.verdict.is_duplicate

    @property
    def is_under_way(self) -> bool:
        """Whether the document is an original that is to be stored."""
        return self.is_unstored and not self.verdict.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether the document is kept though it resembles another one; its verdict may be that it was updated."""
        return self.original is not None and not self.verdict.is_duplicate


ERASED = Decision(Verdict.EXACT_DUPLICATE, original="erased", rule=Rule.ERASED)
"""The decision on what was erased: it is dropped, and nothing of it is stored."""


def decision_of(verdict: Verdict, content: Content | StoredDocument, answer: Answer) -> Decision:
    """Return the decision on a document.

    Args:
        verdict: what it is if it is no duplicate; a new one may be similar.
        content: what it holds.
        answer: what it is a duplicate of, or resembles.
    """
    match = answer.match
    if match is None:
        return Decision(verdict, text_bytes=content.text_bytes)
    leader = match.leader
    is_exact = content.text_digest == leader.text_digest
    if answer.original is not None:
        verdict = Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE
    elif verdict is Verdict.NEW and answer.rule is not None:
        verdict = answer.rule.verdict
    return Decision(
        verdict,
        original=leader.key,
        matched=match.member.key,
        distance=distance(content.fingerprint, leader.fingerprint),
        similarity=1.0 if is_exact else compare(content.sketch, leader.sketch).jaccard,
        rule=answer.rule,
        text_bytes=content.text_bytes,
        lost=answer.lost,
        second=match.second and match.second.key,
        original_id=leader.id,
    )
