"""What a document turned out to be, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dedup.rules.documents import Answer, Content, StoredDocument
from dedup.rules.lost_text import NOTHING_LOST, LostText
from dedup.rules.rule import Rule
from dedup.signature.signature import distance
from dedup.signature.sketch import compare


class Kept(StrEnum):
    """Why a duplicate is passed on all the same.

    KEEPER: it is the copy to export. BRAKE: nothing is dropped there any more. JOINED: when it was passed on it led
    a cluster, which has joined another one since. SAYS_MORE: it has a long stretch of text that nothing stored has.
    MARKED: nothing is dropped, duplicates are only told of.
    """

    KEEPER = "keeper"
    BRAKE = "brake"
    JOINED = "joined"
    SAYS_MORE = "says more"
    MARKED = "marked"


class Outcome(NamedTuple):
    """What a decision means for its cluster.

    Attributes:
        keeper: the key of the cluster's keeper, where the document is a duplicate.
        keeper_changed: whether that was another one before.
        kept: why it is passed on though it is a duplicate, if it is.
        replaces: the keys of the copies whose place it takes; where it is not passed on itself and its cluster
            was joined by another one, those whose place the copy takes that stays passed on.
        is_replaced: whether it is no duplicate, but a better copy has taken its place.
        joined: the key of the leader whose cluster has joined that of the document.
    """

    keeper: str | None = None
    keeper_changed: bool = False
    kept: Kept | None = None
    replaces: tuple[str, ...] = ()
    is_replaced: bool = False
    joined: str | None = None


ALONE = Outcome()


class Verdict(StrEnum):
    """What a document turned out to be.

    A document that is SIMILAR to another one is new, and kept: whether it is a copy is for a person to say.
    """

    NEW = "new"
    SIMILAR = "similar"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    EXACT_DUPLICATE = "exact duplicate"
    NEAR_DUPLICATE = "near duplicate"

    @property
    def is_duplicate(self) -> bool:
        """Whether the document is a copy of another one."""
        return self in (Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE)


DUPLICATES = tuple(verdict for verdict in Verdict if verdict.is_duplicate)
"""The verdicts on copies, as a database is asked for them."""


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
            of the decision on it, None where an earlier version decided.
        text_bytes: size of the document's text in UTF-8.
        lost: what it says that nothing stored does, where it is a near-duplicate.
        outcome: who is the keeper of its cluster, and whether it is passed on.
        key: the key that it is known by.
        is_separate: whether that is one of its own, because other texts came under its key.
        may_be_unstored: whether nobody may have stored what it holds: it is new, or unchanged only since runs that
            have not ended, and another process, which may have been killed before.
        document_id: its number in the database; 0 where there is none.
    """

    verdict: Verdict
    original: str | None = None
    matched: str | None = None
    distance: int | None = None
    similarity: float | None = None
    rule: Rule | None = None
    text_bytes: int = field(default=0, compare=False)
    lost: LostText = field(default=NOTHING_LOST, compare=False)
    outcome: Outcome = field(default=ALONE, compare=False)
    key: str = field(default="", compare=False)
    is_separate: bool = field(default=False, compare=False)
    may_be_unstored: bool = field(default=False, compare=False)
    document_id: int = field(default=0, compare=False)

    @property
    def is_dropped(self) -> bool:
        """Whether the document is a duplicate, and nothing lets it pass all the same."""
        return self.verdict.is_duplicate and self.outcome.kept is None

    @property
    def is_similar(self) -> bool:
        """Whether the document is kept though it resembles another one; its verdict may be that it was updated."""
        return self.original is not None and not self.verdict.is_duplicate


def decision_of(verdict: Verdict, content: Content | StoredDocument, answer: Answer) -> Decision:
    """Return the decision on a document.

    Args:
        verdict: what it is if it is no duplicate; a new one may be similar.
        content: what it holds.
        answer: what it is a duplicate of, or resembles.
    """
    match = answer.match or answer.similar
    if match is None:
        return Decision(verdict, text_bytes=content.text_bytes)
    leader = match.leader
    is_exact = content.text_digest == leader.text_digest
    if answer.match is not None:
        verdict = Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE
    elif verdict is Verdict.NEW:
        verdict = Verdict.SIMILAR
    return Decision(
        verdict,
        original=leader.key,
        matched=match.member.key,
        distance=distance(content.fingerprint, leader.fingerprint),
        similarity=1.0 if is_exact else compare(content.sketch, leader.sketch).jaccard,
        rule=match.rule,
        text_bytes=content.text_bytes,
        lost=answer.lost,
        outcome=Outcome(kept=Kept.SAYS_MORE if answer.lost.is_long else None, joined=match.joined and match.joined.key),
    )
