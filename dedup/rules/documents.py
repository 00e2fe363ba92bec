"""Documents as the rules for verdicts see them: what is stored, what one holds now, and what it is a duplicate of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from dedup.console import plain
from dedup.console import similarity as shown
from dedup.rules.word_comparison import NOTHING_LOST, LostText
from dedup.signature.signature import Signature, Sketch, compare, distance

T = TypeVar("T", int, str)

LONGEST_TITLE = 200
"""Characters of a title that are stored."""


class Rule(StrEnum):
    """The rule that decided on two documents; it is stored by its `short` name."""

    SAME_TEXT = "the texts are the same once normalised"
    SAME_BYTES = "the pages have no text, and their bytes are the same"
    SAME_SHORT_TEXT = "the texts are the same, or nearly, but too short, or had by too many, to say that one is a copy"
    TOO_SHORT = "too short for a near-duplicate check; the texts differ"
    TOO_FAR = "the fingerprints differ in more bits than radius, and mode is paper"
    NO_KEY = "the documents share no key: no band, and no prefix of a table with fingerprints within 3 bits"
    FAR_FROM_LEADER = "too far from the leader of the cluster: neither leader_jaccard nor leader_containment is reached"
    PAPER = "the fingerprints differ in at most radius bits, and mode is paper"
    JACCARD = "Jaccard similarity reaches min_jaccard"
    CONTAINMENT = "containment reaches min_containment, and the length ratio min_length_ratio"
    SHORT_ALIKE = "a text has fewer than short_tokens tokens, and their words and pairs of words reach short_jaccard"
    NOT_ALIKE = "neither Jaccard similarity nor containment is high enough"
    LESS_ALIKE = "alike, but less than min_jaccard and min_containment ask for"
    WITHIN_PAGE = "the texts are alike, and one page stands in the other, of which its text is a small share"
    THIN_TEXT = "the texts are alike, but one is a small share of its page, and the pages themselves are not alike"
    REPLACED = "another thing in the same frame: more than max_replaced short stretches of 100 tokens were replaced"
    REWRITTEN = "another text in the same frame: more than max_rewritten of it is in long stretches that were rewritten"
    ADDED = "another text in the same frame: words gave way, and more than max_added stands in the middle of one alone"
    SWAPPED = (
        "another thing in the same frame: more than max_swapped of 100 tokens gave way to the same ones throughout"
    )
    UPDATED = "it has changed since, by no less than its text before differed from that of its original"
    OTHER_FIELDS = "the texts are alike, and the items' other fields are not: another date, place, number or author"
    SIGNS = "the words are alike, and signs beside the same words are others: +3 and -3, $5 and €5, C++ and C#"
    ERASED = "its key, its text or its bytes are those of a document that was erased"
    RENUMBERED = (
        "another thing in the same frame: it has other numbers, of which they share less than min_numbers, or any with "
        "another name where addresses differ in numbers alone"
    )

    @classmethod
    def of(cls, short: str) -> Rule:
        """Return a rule by its `short` name."""
        return cls[short.upper()]

    @property
    def short(self) -> str:
        """Its name in databases and files."""
        return self.name.lower()

    @property
    def plain(self) -> str:
        """What it means for two documents, in a few words for people who read reports."""
        return _PLAIN[self]

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped by it."""
        return self in (Rule.SAME_TEXT, Rule.SAME_BYTES, Rule.PAPER) or self.is_by_check

    @property
    def is_by_check(self) -> bool:
        """Whether the check confirmed a candidate by it."""
        return self in (Rule.JACCARD, Rule.CONTAINMENT, Rule.SHORT_ALIKE, Rule.WITHIN_PAGE)

    @property
    def is_similar(self) -> bool:
        """Whether the documents are alike, and the second is kept all the same: a person should look at them."""
        return self in _SIMILAR


_PLAIN = {
    Rule.SAME_TEXT: "the same text",
    Rule.SAME_BYTES: "the same file",
    Rule.SAME_SHORT_TEXT: "the same few words",
    Rule.TOO_SHORT: "too short to compare",
    Rule.TOO_FAR: "fingerprints far apart",
    Rule.NO_KEY: "nothing in common",
    Rule.FAR_FROM_LEADER: "too far from its cluster",
    Rule.PAPER: "fingerprints close together",
    Rule.JACCARD: "most of the text is the same",
    Rule.CONTAINMENT: "one text holds the other",
    Rule.SHORT_ALIKE: "short, and mostly the same",
    Rule.NOT_ALIKE: "little in common",
    Rule.LESS_ALIKE: "alike, but not enough",
    Rule.WITHIN_PAGE: "one page stands in the other",
    Rule.THIN_TEXT: "alike, but a small part of the page",
    Rule.REPLACED: "words replaced here and there",
    Rule.REWRITTEN: "a long part is another",
    Rule.ADDED: "much stands in one alone",
    Rule.SWAPPED: "another name throughout",
    Rule.RENUMBERED: "other numbers",
    Rule.UPDATED: "it has changed since",
    Rule.OTHER_FIELDS: "a date, a place or a number differs",
    Rule.ERASED: "erased",
    Rule.SIGNS: "other signs beside the same words",
}
_SIMILAR = {
    Rule.SAME_SHORT_TEXT,
    Rule.LESS_ALIKE,
    Rule.THIN_TEXT,
    Rule.REPLACED,
    Rule.REWRITTEN,
    Rule.ADDED,
    Rule.SWAPPED,
    Rule.RENUMBERED,
    Rule.SIGNS,
    Rule.OTHER_FIELDS,
    Rule.UPDATED,
    Rule.FAR_FROM_LEADER,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A document to decide.

    Attributes:
        key: what identifies it; in a crawl its URL.
        signature: the signature of its text; None where its bytes are known already.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
        canonical: the key that it names as its own, such as a page's canonical address: of copies in one batch the one
            that is named comes first.
        spider: the spider that found it; it counts where duplicates are looked for among those of one spider.
        item_class: the class of its item: the same keys of two classes are two. Texts are compared whatever it is.
        separate: whether another text is another document under a key that this `Deduplicator` has decided
            before in this run, with a key of its own; the same text again is then an exact duplicate of itself.
            Else the document has changed.
        is_keyless: whether its key is made of where it was found and what it says: a list that has moved on has it
            under another one, and what an earlier run has seen there is unchanged.
        may_repeat: whether the same text may come again under its key and be another item, as two comments of a page
            have no key but its address.
        fields: what tells it from others of its text, such as a date or a price, see `dedup.rules.other_fields`: with
            other fields it is no copy, and under its key it has changed.
        title: what it is called, for people; empty: nobody knows.
        similar_below: a text of fewer tokens that is equal to another one is similar to it, and no copy: two who write
            the same few words have written two things. 0: it is a copy, however short.
    """

    key: str
    signature: Signature | None
    text_bytes: int = 0
    body_digest: bytes | None = None
    canonical: str | None = None
    spider: str = ""
    item_class: str = ""
    separate: bool = False
    is_keyless: bool = False
    may_repeat: bool = False
    fields: str = ""
    title: str = ""
    similar_below: int = 0


class StoredDocument(NamedTuple):
    """One row of `dedup_documents`, as the deduplicator needs it."""

    id: int
    key: str
    text_digest: bytes | None
    fingerprint: int
    sketch: Sketch
    indexed: bool = True
    leader_id: int | None = None
    body_digest: bytes | None = None
    text_bytes: int = 0
    last_run_id: int = 0
    space: str = ""
    title: str = ""
    fields: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a document, as it is stored.

    Attributes:
        text_digest: digest of its normalised text.
        fingerprint: the 64-bit simhash, unsigned.
        sketch: the sketch of its text.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
        words: its words, as its signature has them; empty where they are not at hand.
        title: what it is called, in one line of `LONGEST_TITLE` characters at most; empty: nobody knows.
        fields: its short fields, see `dedup.rules.other_fields`.
        keys: what it is found by, see `dedup.store.key_table`; None where it is not.
    """

    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    text_bytes: int
    body_digest: bytes | None
    words: bytes
    title: str = ""
    fields: str = ""
    keys: list[int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Match:
    """The document that another one duplicates, or resembles.

    Attributes:
        leader: the leader of the cluster that it belongs to.
        member: the member of the cluster that it was found by.
        second: the leader of another cluster that the duplicate is a copy of, too.
        rule: what decided; None where that was in an earlier decision.
        is_other: whether its fields say that it is another thing, or it is not clear which of several it is.
    """

    leader: StoredDocument
    member: StoredDocument
    second: StoredDocument | None = None
    rule: Rule | None = None
    is_other: bool = False


class Answer(NamedTuple):
    """The answer of a `Matcher`: a document is a duplicate, resembles another one, or neither.

    Attributes:
        match: what it is a duplicate of.
        similar: what it resembles, where it is no duplicate: the most similar of those documents that are alike.
        lost: what it says that nothing stored does, where it is a near-duplicate.
        has_moved: whether what it is a duplicate of is the same document, which had another address in an earlier run.
    """

    match: Match | None = None
    similar: Match | None = None
    lost: LostText = NOTHING_LOST
    has_moved: bool = False


NOTHING_ALIKE = Answer()


class Kept(StrEnum):
    """Why a duplicate is passed on all the same.

    NEW_TEXT: it has a long stretch of text found in nothing stored.
    MOVED: its site has moved, and what an earlier run has seen under the old address has another one now. MARKED:
    nothing is dropped, duplicates are only told of.
    """

    NEW_TEXT = "new text"
    MOVED = "moved"
    MARKED = "marked"


class Verdict(StrEnum):
    """The verdict on a document.

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


def join_clusters(pairs: Iterable[tuple[T, T]]) -> dict[T, T]:
    """Return of leaders that are to be counted as one the first of all that belong together.

    Args:
        pairs: two leaders that a document is a copy of, by what orders them.

    Returns:
        By each leader of a pair the smallest of those that pairs lead to from it, which may be itself.
    """
    parents: dict[T, T] = {}

    def root_of(leader: T) -> T:
        parent = parents.setdefault(leader, leader)
        while parent != parents[parent]:
            parents[leader] = parent = parents[parents[parent]]
        return parent

    for pair in pairs:
        first, later = sorted(map(root_of, pair))
        parents[later] = first
    return {leader: root_of(leader) for leader in parents}


DUPLICATES = tuple(verdict for verdict in Verdict if verdict.is_duplicate)
"""The verdicts on copies, for queries."""


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
        kept: why it is passed on though it is a duplicate, if it is.
        second: the key of a second original that it is a copy of, too: reports count the clusters of both as one.
        key: the key that it is known by.
        is_separate: whether that is one of its own, because other texts came under its key.
        may_be_unstored: whether nobody may have stored what it holds: it is new, or unchanged only since runs that
            have not ended, and another process, which may have been killed before.
        document_id: its number in the database; 0 where there is none.
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
    kept: Kept | None = field(default=None, compare=False)
    second: str | None = None
    key: str = field(default="", compare=False)
    is_separate: bool = field(default=False, compare=False)
    may_be_unstored: bool = field(default=False, compare=False)
    document_id: int = field(default=0, compare=False)
    is_of_earlier_run: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return it in a line, such as `b: near duplicate of a, similarity .93, distance 4, by jaccard`."""
        line = f"{plain(self.key)}: {self.verdict.value}" if self.key else self.verdict.value
        if self.original is None or self.similarity is None:
            return line
        kept = f", kept: {self.kept.value}" if self.kept else ""
        by = f", by {self.rule.short}" if self.rule else ""
        found = f"similarity {shown(self.similarity)}, distance {self.distance}"
        return f"{line} {'of' if self.verdict.is_duplicate else 'to'} {plain(self.original)}, {found}{by}{kept}"

    def columns(self) -> dict[str, Any]:
        """Return what is stored of it, but for the documents, by the names of the columns."""
        return {
            "verdict": self.verdict.value,
            "distance": self.distance,
            "similarity": self.similarity,
            "rule": self.rule and self.rule.short,
            "kept": self.kept and self.kept.value,
            "lost": self.lost.words,
            "lost_bytes": self.lost.bytes,
            "places": self.lost.places,
        }

    @property
    def is_dropped(self) -> bool:
        """Whether the document is a duplicate, and nothing lets it pass all the same."""
        return self.verdict.is_duplicate and self.kept is None

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
        kept=Kept.NEW_TEXT if answer.lost.is_long else None,
        second=match.second and match.second.key,
    )
