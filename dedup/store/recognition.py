"""Recognition: which stored document an arriving one is, by its key, its text and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dedup.rules.documents import Content, Document, StoredDocument, title_in_line
from dedup.rules.other_fields import other_fields
from dedup.rules.scope import host_of
from dedup.signature.normalise import clean
from dedup.store import document_rows
from dedup.store.document_rows import Digests, Identity, Relatives, StoredText, is_same, key_digest
from dedup.store.unit_of_work import UnitOfWork

# Of the name of a class: what an index holds is limited.
_LONGEST_NAME = 200


class Arriving(NamedTuple):
    """A document that arrives.

    Attributes:
        document: its digests are mixed with its scope.
        identity: its identity if it is the first of its key.
        own: that if other texts came under its key before, where its text is known; else None.
        digests: what its relatives are found by.
        keys: what it is found by, see `dedup.store.key_table`; None where it cannot be a near-duplicate.
        mask: that of its scope.
    """

    document: Document
    identity: Identity
    own: Identity | None
    digests: Digests
    keys: list[int] | None
    mask: int = 0

    @classmethod
    def of(cls, document: Document, space: str, mask: int) -> Arriving:
        """Return an arriving document with its identity."""
        identity = Identity(document.key, clean(document.item_class)[:_LONGEST_NAME], space)
        signature, own = document.signature, None
        if signature is not None and document.separate:
            has_text = bool(signature.sketch.tokens)
            own = identity.separated(signature.text_digest, document.body_digest, document.fields, has_text=has_text)
        text_digest = None if signature is None else signature.text_digest
        digests = Digests(key_digest(document.key), document.body_digest, text_digest, own.variant if own else "")
        return cls(document, identity, own, digests, None, mask)

    def digests_if_erased(self) -> set[bytes]:
        """Return the digests of which one is kept if it was erased, see `dedup.store.erasing`."""
        return {*self.digests.known, *([key_digest(self.own.key)] if self.own else [])}


class Recognised(NamedTuple):
    """What an arriving document is.

    Attributes:
        arriving: it.
        identity: what it is known by.
        content: what it holds.
        stored: the stored document that it is; None where it is a new one.
        same_body: the earliest stored document whose page had the same bytes.
        same_text: the earliest one with the same normalised text.
        text: its text, if that is stored.
        is_again: whether this process has decided that content in this run before.
    """

    arriving: Arriving
    identity: Identity
    content: Content
    stored: StoredDocument | None
    same_body: StoredDocument | None
    same_text: StoredDocument | None
    text: StoredText | None = None
    is_again: bool = False

    @property
    def document(self) -> Document:
        """The document, its digests mixed with its scope."""
        return self.arriving.document

    @property
    def keys(self) -> list[int] | None:
        """What it is found by; None where it cannot be a near-duplicate."""
        return self.arriving.keys

    @property
    def mask(self) -> int:
        """That of its scope."""
        return self.arriving.mask

    def known_as(self, identity: Identity, stored: StoredDocument | None, *, is_again: bool = False) -> Recognised:
        """Return it as another document of its key."""
        content = self.content._replace(key=identity.key)
        return self._replace(identity=identity, content=content, stored=stored, is_again=is_again)

    @property
    def own_id(self) -> int | None:
        """The id of the stored document that it is."""
        return None if self.stored is None else self.stored.id

    @property
    def is_unchanged(self) -> bool:
        """Whether it holds what it held when it was seen last."""
        stored, content = self.stored, self.content
        if stored is None:
            return False
        # A page without text that was dropped because of its bytes has to be looked at when these change.
        is_original = stored.text_digest == content.text_digest and stored.leader_id is None
        return is_same(stored, content) or (is_original and not content.sketch.tokens)

    @property
    def may_be_another(self) -> bool:
        """Whether the same few words under the same key are another item: two comments of a page say "+1"."""
        document = self.document
        is_short = 0 < self.content.sketch.tokens < document.similar_below
        return is_short and bool(document.may_repeat or self.identity.variant)


class Recogniser:
    """Says what the documents of one transaction are, one after the other.

    Args:
        unit: the transaction.
        arriving: all documents that are to be decided in it.
    """

    def __init__(self, unit: UnitOfWork, arriving: Sequence[Arriving]) -> None:
        self._unit = unit
        self._relatives = document_rows.find_relatives(unit, (each.digests for each in arriving))
        self._decided: set[bytes] = set()

    def is_new(self, arriving: Arriving) -> bool:
        """Whether no document had the text of one when the transaction began."""
        return self._relatives[arriving.digests].same_text is None

    def recognise(self, arriving: Arriving) -> Recognised | None:
        """Return what an arriving document is; None where neither its signature nor its bytes are known."""
        document, identity, own = arriving[:3]
        relatives = self._relatives_of(arriving.digests)
        of_key, same_body, same_text, text = relatives
        content = _content(arriving, same_body)
        if content is None:
            return None
        same_key, separate = relatives.of(identity), None if own is None else relatives.of(own)
        if same_key is None and separate is None:
            same_key = _of_former_class(self._unit, identity, content, of_key)
        if document.is_keyless and same_key is None and _has_moved(self._unit, identity, content, same_text):
            return Recognised(arriving, identity, content, same_text, same_body, same_text, _text_of(same_text))
        if document.signature is None:
            # It has the text of its bytes.
            text = _text_of(same_body)
        found = Recognised(arriving, identity, content, same_key, same_body, same_text, text)
        if not document.separate:
            return found
        if own is None:
            has_text = bool(content.sketch.tokens)
            own = identity.separated(content.text_digest, content.body_digest, content.fields, has_text=has_text)
            separate = document_rows.find_variant(self._unit, own)
        return _separated(self._unit, found, own, separate)

    def _relatives_of(self, digests: Digests) -> Relatives:
        """Return the documents that share a digest with one, as they are now that others of the batch are decided."""
        is_fresh = self._decided.isdisjoint(digests.known) and not self._unit.has_changed
        self._decided.update(digests.known)
        if is_fresh:
            found = self._relatives[digests]
            rows = [*found.of_key, found.same_body, found.same_text]
            if self._unit.seen.isdisjoint(each.id for each in rows if each is not None):
                return found
        return document_rows.find_relatives(self._unit, [digests])[digests]


def _text_of(stored: StoredDocument | None) -> StoredText | None:
    return None if stored is None else StoredText(stored.text_id, stored.indexed)


def _separated(unit: UnitOfWork, found: Recognised, own: Identity, separate: StoredDocument | None) -> Recognised:
    """Return which document it is of those that came under its key: it, one with a key of its own, or another one."""
    content, of_key = found.content, found.stored
    if separate is not None:
        return found.known_as(own, separate, is_again=_is_again(unit, separate, content))
    if of_key is None or of_key.text_digest is None:
        return found
    if is_same(of_key, content):
        return found._replace(is_again=_is_again(unit, of_key, content))
    return found.known_as(own, None) if unit.has_decided(of_key) else found


def _of_former_class(
    unit: UnitOfWork, identity: Identity, content: Content, of_key: Sequence[StoredDocument]
) -> StoredDocument | None:
    """Return that of the documents of a key which has the same content, if its class has not come in this run.

    A project has renamed its class, or made one of its dicts: what came before is no original of it.
    """
    for stored in of_key:
        if stored.space == identity.space and is_same(stored, content) and not unit.has_decided(stored):
            return stored
    return None


def _has_moved(unit: UnitOfWork, identity: Identity, content: Content, stored: StoredDocument | None) -> bool:
    """Return whether a document without a key of its own is one of an earlier run, elsewhere on its site."""
    if stored is None or not content.sketch.tokens or stored.last_run_id == unit.run_id or unit.has_decided(stored):
        return False
    if other_fields(stored.fields, content.fields):
        return False
    return stored.space == identity.space and host_of(stored.key) == host_of(identity.key)


def _is_again(unit: UnitOfWork, stored: StoredDocument, content: Content) -> bool:
    # Of documents without text and bytes nobody knows whether they are the same.
    has_content = bool(content.sketch.tokens) or content.body_digest is not None
    return has_content and is_same(stored, content) and unit.has_decided(stored)


def _content(arriving: Arriving, same_bytes: StoredDocument | None) -> Content | None:
    """Return what there is to store of a document: just analysed, or known by its bytes."""
    document = arriving.document
    source = document.signature or same_bytes
    if source is None or source.text_digest is None:
        return None
    text_bytes = document.text_bytes if same_bytes is None or document.signature else same_bytes.text_bytes
    words = b"" if document.signature is None else document.signature.words
    return Content(
        *(source.text_digest, source.fingerprint, source.sketch, lambda: words),
        key=document.key,
        title=title_in_line(document.title) or (same_bytes.title if same_bytes else ""),
        fields=document.fields,
        body_digest=document.body_digest,
        text_bytes=text_bytes,
    )
