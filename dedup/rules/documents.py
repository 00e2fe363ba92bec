"""Documents as the rules for verdicts see them: what is stored, what one holds now, and what it is a duplicate of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from dedup.signature.normalise import clean
from dedup.signature.signature import Signature, Sketch

T = TypeVar("T", int, str)

Words = Callable[[], bytes]
"""Gives the words of a text, as `dedup.signature.signature.Signature` has them; nothing where they are not known."""

LONGEST_TITLE = 200
"""Characters of a title that are stored."""


def title_in_line(title: str) -> str:
    """Return a title in one line of `LONGEST_TITLE` characters at most."""
    # Sites write titles of a megabyte.
    return " ".join(clean(title[: 4 * LONGEST_TITLE]).split())[:LONGEST_TITLE]


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


DUPLICATES = tuple(verdict for verdict in Verdict if verdict.is_duplicate)
"""The verdicts on copies, for queries."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document to decide.

    Attributes:
        key: what identifies it; in a crawl its URL.
        signature: the signature of its text; None where its bytes are known already.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
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
    spider: str = ""
    item_class: str = ""
    separate: bool = False
    is_keyless: bool = False
    may_repeat: bool = False
    fields: str = ""
    title: str = ""
    similar_below: int = 0


class StoredDocument(NamedTuple):
    """A document that was decided before, with its text: `text_digest` is None of one that is undecided since.

    `indexed`: whether its text can be found by its keys; `released`: 1 if a person has made it an original, and it was
    not seen since.
    """

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
    text_id: int = 0
    item_class: str = ""
    variant: str = ""
    released: int = 0


class Content(NamedTuple):
    """What a document holds that is under decision, and what it is called.

    Attributes:
        text_digest: of its normalised text.
        fingerprint: the 64-bit simhash, unsigned.
        sketch: the sketch of its text.
        words: gives its words, as its signature has them; called only where they are needed.
        key: its key; in a crawl its URL.
        title: its title, in one line of `LONGEST_TITLE` characters at most; empty: nobody knows.
        fields: its short fields, see `dedup.rules.other_fields`; empty: it has none.
        body_digest: of the bytes that its text was taken from, if it was.
        text_bytes: the size of its text in UTF-8.
    """

    text_digest: bytes
    fingerprint: int
    sketch: Sketch
    words: Words
    key: str = ""
    title: str = ""
    fields: str = ""
    body_digest: bytes | None = None
    text_bytes: int = 0

    @classmethod
    def of(cls, signature: Signature, key: str = "", title: str = "", fields: str = "") -> Content:
        """Return that of a document by its signature."""
        digest, fingerprint, sketch = signature.text_digest, signature.fingerprint, signature.sketch
        return cls(digest, fingerprint, sketch, lambda: signature.words, key, title, fields)


@dataclass(frozen=True, slots=True)
class Match:
    """The document that another one duplicates, or resembles.

    Attributes:
        leader: the leader of the cluster that it belongs to.
        member: the member of the cluster that it was found by.
        second: the leader of another cluster that the duplicate is a copy of, too.
        is_other: whether its fields say that it is another thing, or it is not clear which of several it is.
    """

    leader: StoredDocument
    member: StoredDocument
    second: StoredDocument | None = None
    is_other: bool = False


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
