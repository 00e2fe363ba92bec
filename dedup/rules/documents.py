"""Documents as the rules for verdicts see them: what is stored, what one holds now, and what it is a duplicate of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dedup.rules.lost_text import NOTHING_LOST, LostText
from dedup.rules.rule import Rule
from dedup.signature.signature import Signature
from dedup.signature.sketch import Sketch

LONGEST_TITLE = 200
"""Characters of a title that are stored."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document to decide.

    Attributes:
        key: what identifies it; in a crawl its URL.
        signature: the signature of its text; None where its bytes are known already.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
        canonical: the key that it names as its own, such as a page's canonical address.
        redirected: whether a redirect of another key led to it.
        spider: the spider that found it; it counts where duplicates are looked for among those of one spider.
        item_class: the class of its item: the same keys of two classes are two. Texts are compared whatever it is.
        separate: whether another text is another document under a key that this `Deduplicator` has decided
            before in this run, with a key of its own; the same text again is then an exact duplicate of itself.
            Else the document has changed.
        is_keyless: whether its key is made of where it was found and what it says: a list that has moved on has it
            under another one, and what an earlier run has seen there is unchanged.
        may_repeat: whether the same text may come again under its key and be another item, as two comments of a page
            have no key but its address.
        variant: what sets it apart from others of its text, such as a colour or a price: of another variant it is
            neither a copy nor similar, and under its key it has changed.
        title: what it is called, for people; empty: nobody knows.
        similar_below: a text of fewer tokens that is equal to another one is similar to it, and no copy: two who write
            the same few words have written two things. 0: it is a copy, however short.
    """

    key: str
    signature: Signature | None
    text_bytes: int = 0
    body_digest: bytes | None = None
    canonical: str | None = None
    redirected: bool = False
    spider: str = ""
    item_class: str = ""
    separate: bool = False
    is_keyless: bool = False
    may_repeat: bool = False
    variant: str = ""
    title: str = ""
    similar_below: int = 0


class StoredDocument(NamedTuple):
    """One row of `dedup_documents`, as the deduplicator needs it."""

    id: int
    key: str
    body_digest: bytes | None
    text_digest: bytes | None
    text_bytes: int
    fingerprint: int
    sketch: Sketch
    indexed: bool
    leader_id: int | None
    last_run_id: int = 0
    canonical_digest: bytes | None = None
    redirected: bool = False
    keeper_id: int | None = None
    exported_id: int | None = None
    space: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What is stored of a document's content.

    Attributes:
        text_digest: digest of its normalised text.
        fingerprint: the 64-bit simhash, unsigned.
        sketch: the sketch of its text.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
        words: its tokens, a line feed between them; empty where they are not at hand.
        canonical_digest: digest of the key that it names as its own, if that is another one.
        redirected: whether a redirect led to it.
        title: what it is called, in one line of `LONGEST_TITLE` characters at most; empty: nobody knows.
        keys: what it is found by, see `dedup.ledger.key_table`; None where it is not.
    """

    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    text_bytes: int
    body_digest: bytes | None
    words: bytes
    canonical_digest: bytes | None = None
    redirected: bool = False
    title: str = ""
    keys: list[int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Match:
    """What a document is a duplicate of, or resembles.

    Attributes:
        leader: the leader of the cluster that it belongs to.
        member: the member of the cluster that it was found by.
        joined: the leader of another cluster, which the duplicate shows to be one with this cluster.
        rule: what decided; None where that was in an earlier decision.
    """

    leader: StoredDocument
    member: StoredDocument
    joined: StoredDocument | None = None
    rule: Rule | None = None


class Answer(NamedTuple):
    """What is known of a document: that it is a duplicate, that it resembles another one, or nothing.

    Attributes:
        match: what it is a duplicate of.
        similar: what it resembles, where it is no duplicate: the most similar of those documents that are alike.
        lost: what it says that nothing stored does, where it is a near-duplicate.
    """

    match: Match | None = None
    similar: Match | None = None
    lost: LostText = NOTHING_LOST


NOTHING_ALIKE = Answer()
