"""What a document turned out to be, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dedup.clusters import ALONE, Outcome
from dedup.fingerprint.signature import distance
from dedup.fingerprint.sketch import compare
from dedup.ledger import StoredDocument
from dedup.store import Content, Match


class Verdict(StrEnum):
    """What a document turned out to be."""

    NEW = "new"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    EXACT_DUPLICATE = "exact duplicate"
    NEAR_DUPLICATE = "near duplicate"

    @property
    def is_duplicate(self) -> bool:
        """Whether the document is a copy of another one."""
        return self in (Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reason.

    Attributes:
        verdict: the verdict.
        original: the key of the original that the document is a duplicate of.
        matched: the key of the member of the original's cluster that it was found by.
        distance: bits in which the fingerprints of document and original differ, 0 to 64.
        similarity: estimated Jaccard similarity of document and original, 0 to 1.
        text_bytes: size of the document's text in UTF-8.
        outcome: who is the keeper of its cluster, and whether it is passed on.
    """

    verdict: Verdict
    original: str | None = None
    matched: str | None = None
    distance: int | None = None
    similarity: float | None = None
    text_bytes: int = field(default=0, compare=False)
    outcome: Outcome = field(default=ALONE, compare=False)


def decision_of(verdict: Verdict, content: Content | StoredDocument, match: Match | None) -> Decision:
    """Return the decision on a document.

    Args:
        verdict: what it is if it is no duplicate.
        content: what it holds.
        match: what it is a duplicate of, if it is.
    """
    if match is None:
        return Decision(verdict, text_bytes=content.text_bytes)
    leader = match.leader
    is_exact = content.text_digest == leader.text_digest
    return Decision(
        Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE,
        original=leader.key,
        matched=match.member.key,
        distance=distance(content.fingerprint, leader.fingerprint),
        similarity=1.0 if is_exact else compare(content.sketch, leader.sketch).jaccard,
        text_bytes=content.text_bytes,
        outcome=Outcome(joined=match.joined and match.joined.key),
    )
