"""Decisions on documents: a verdict, the original, and the rule that decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from dedup.console import percent, plain
from dedup.rules.documents import Content, Match, StoredDocument, Verdict
from dedup.rules.table import Rule
from dedup.rules.word_comparison import NOTHING_LOST, LostText
from dedup.signature.signature import compare, distance


class Answer(NamedTuple):
    """The outcome of a rule for a document: a duplicate, similar to another one, or neither.

    Attributes:
        match: what it is a duplicate of, or resembles; None: neither.
        rule: what decided; None of a duplicate that came with a saved index.
        lost: its text that nothing stored has, where it is a near-duplicate.
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
class Details:
    """What there is to know of a decision besides, for what stores it and acts on it.

    Attributes:
        matched: the key of the member of the original's cluster that the document was found by.
        second: the key of a second original that it is a copy of, too: reports count the clusters of both as one.
        distance: bits in which the fingerprints of document and original differ, 0 to 64.
        lost: text of the document that nothing stored has, where it is a near-duplicate.
        text_bytes: size of its text in UTF-8.
        is_separate: whether its key is one of its own, because other texts came under its key.
        is_unstored: whether nobody has stored what it holds: it has just come, or another process has it under way.
        document_id: its number in the database; 0 where there is none.
        original_id: that of the original.
        is_of_earlier_run: whether its original was seen in earlier runs alone, so far.
    """

    matched: str | None = None
    second: str | None = None
    distance: int | None = None
    lost: LostText = NOTHING_LOST
    text_bytes: int = 0
    is_separate: bool = False
    is_unstored: bool = False
    document_id: int = 0
    original_id: int = 0
    is_of_earlier_run: bool = False


@dataclass(frozen=True)
class Decision:
    """A verdict on a document, and the original that it was found by.

    Attributes:
        key: the key of the document.
        verdict: the verdict.
        original: the key of the original that the document is a duplicate of, or resembles.
        similarity: estimated Jaccard similarity of document and original, 0 to 1.
        rule: what decided that it is a duplicate, or similar and none; of what is seen again unchanged that
            of the decision on it, None where it came with a saved index.
        lost: how many words the document has that nothing kept has, where it is a near-duplicate.
    """

    key: str = field(compare=False)
    verdict: Verdict
    original: str | None = None
    similarity: float | None = None
    rule: Rule | None = None
    lost: int = field(default=0, compare=False)

    # No field: a table of decisions has no column for it.
    details = Details()

    @classmethod
    def of(cls, key: str, verdict: Verdict, details: Details, **found: Any) -> Self:
        """Return a decision with its details; found: its other fields."""
        decision = cls(key, verdict, lost=details.lost.words, **found)
        object.__setattr__(decision, "details", details)
        return decision

    def __str__(self) -> str:
        """Return it in a line, such as `b: near duplicate of a, 93% alike: most of the text is the same`."""
        return f"{plain(self.key)}: {self.why}" if self.key else self.why

    @property
    def why(self) -> str:
        """The verdict and its reason, such as `near duplicate of a, 93% alike: most of the text is the same`."""
        if self.original is None or self.similarity is None:
            return self.verdict.value
        own = Verdict.SIMILAR.value if self.verdict in (Verdict.NEW, Verdict.SIMILAR) else f"{self.verdict}, similar"
        relation = f"{self.verdict} of" if self.verdict.is_duplicate else f"{own} to"
        original = "an earlier text of this key" if self.original == self.key else plain(self.original)
        is_same = self.verdict is Verdict.EXACT_DUPLICATE or self.rule is Rule.SAME_SHORT_TEXT
        alike = "" if is_same else f", {percent(self.similarity)} alike"
        return f"{relation} {original}{alike}" + (f": {self.rule}" if self.rule else "")

    def columns(self) -> dict[str, Any]:
        """Return what is stored of it, but for the documents, by the names of the columns."""
        return {
            "verdict": self.verdict.value,
            "distance": self.details.distance,
            "similarity": self.similarity,
            "rule": self.rule and self.rule.short,
            "lost": self.lost,
            "lost_bytes": self.details.lost.bytes,
            "places": self.details.lost.places,
        }

    @property
    def is_dropped(self) -> bool:
        """Whether the document is a duplicate."""
        return self.verdict.is_duplicate

    @property
    def is_under_way(self) -> bool:
        """Whether the document is an original that is to be stored."""
        return self.details.is_unstored and not self.verdict.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether the document is kept though it resembles another one; its verdict may be that it was updated."""
        return self.original is not None and not self.verdict.is_duplicate


def erased(key: str) -> Decision:
    """Return the decision on what was erased: it is dropped, and nothing of it is stored."""
    return Decision(key, Verdict.EXACT_DUPLICATE, original="erased", rule=Rule.ERASED)


def decision_of(
    verdict: Verdict, content: Content | StoredDocument, answer: Answer, key: str = "", **details: Any
) -> Decision:
    """Return the decision on a document.

    Args:
        verdict: what it is if it is no duplicate; a new one may be similar.
        content: what it holds.
        answer: what it is a duplicate of, or resembles.
        key: the key that it is known by.
        **details: what else is known, see `Details`.
    """
    match = answer.match
    if match is None:
        return Decision.of(key, verdict, Details(text_bytes=content.text_bytes, **details))
    leader = match.leader
    is_exact = content.text_digest == leader.text_digest
    if answer.original is not None:
        verdict = Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE
    elif verdict is Verdict.NEW and answer.rule is not None:
        verdict = answer.rule.verdict
    found = Details(
        matched=match.member.key,
        second=match.second and match.second.key,
        distance=distance(content.fingerprint, leader.fingerprint),
        lost=answer.lost,
        text_bytes=content.text_bytes,
        original_id=leader.id,
        **details,
    )
    similarity = 1.0 if is_exact else compare(content.sketch, leader.sketch).jaccard
    return Decision.of(key, verdict, found, original=leader.key, similarity=similarity, rule=answer.rule)
