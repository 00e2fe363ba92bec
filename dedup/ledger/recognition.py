"""Which of the stored documents an arriving one is: by its key, or among several of one key by its text."""

from __future__ import annotations

from typing import NamedTuple

from dedup.ledger import document_rows
from dedup.ledger.batch import Batch
from dedup.ledger.document_rows import Digests, Relatives
from dedup.ledger.identity import Identity, is_same
from dedup.rules.documents import LONGEST_TITLE, Content, Document, StoredDocument
from dedup.rules.scope import host_of, owner_of
from dedup.signature.normalise import clean


class Recognised(NamedTuple):
    """What an arriving document is; `is_again`: this process has decided that content in this run before."""

    identity: Identity
    content: Content
    relatives: Relatives
    is_again: bool


class Arriving(NamedTuple):
    """A document that arrives, before anything is asked about it.

    Attributes:
        document: its digests are mixed with its scope.
        identity: what it is known by.
        own: what it is known by if other texts came under its key, as far as its text is known; None: by its key alone.
        keys: what it is found by, see `dedup.ledger.key_table`; None where it cannot be a near-duplicate.
    """

    document: Document
    identity: Identity
    own: Identity | None
    keys: list[int] | None

    @classmethod
    def of(cls, document: Document, space: str, plain_class: str) -> Arriving:
        """Say what a document is known by."""
        item_class = "" if document.item_class == plain_class else f"class {document.item_class}"
        identity = Identity(document.key, document.key, space, item_class, document.variant)
        signature, own = document.signature, None
        if signature is not None and document.separate:
            has_text = bool(signature.sketch.tokens)
            own = identity.separated(signature.text_digest, document.body_digest, has_text=has_text)
        return cls(document, identity, own, None)

    @property
    def digests(self) -> Digests:
        """The digests by which related documents are found."""
        signature = self.document.signature
        return Digests(
            self.identity.key_digest,
            self.own and self.own.key_digest,
            self.document.body_digest,
            None if signature is None else signature.text_digest,
        )


def recognise(batch: Batch, arriving: Arriving) -> Recognised | None:
    """Say what an arriving document is; None where neither its signature nor its bytes are known."""
    document, identity, own, _ = arriving
    relatives = batch.relatives(arriving.digests)
    content = _content(arriving, relatives.same_body)
    if content is None:
        return None
    if identity.item_class and relatives.same_key is None and relatives.separate is None:
        batch.flush()
        relatives = relatives._replace(same_key=_of_former_class(batch, identity, content))
    if document.is_keyless and relatives.same_key is None and _has_moved(batch, identity, content, relatives.same_text):
        relatives = relatives._replace(same_key=relatives.same_text)
        return Recognised(identity, content, relatives, is_again=False)
    if not document.separate:
        return Recognised(identity, content, relatives, is_again=False)
    if own is None:
        own = identity.separated(content.text_digest, content.body_digest, has_text=bool(content.sketch.tokens))
        batch.flush()
        relatives = relatives._replace(separate=document_rows.find_by_digest(batch.connection, own.key_digest))
    return _told_apart(batch, own, Recognised(identity, content, relatives, is_again=False))


def may_be_another(document: Document, identity: Identity, content: Content) -> bool:
    """Say whether the same few words under the same key are another item: two comments of a page say "+1"."""
    return 0 < content.sketch.tokens < document.similar_below and (document.may_repeat or identity.is_separate)


def _told_apart(batch: Batch, own: Identity, found: Recognised) -> Recognised:
    """Say which document it is of those that came under its key: it, one with a key of its own, or another one."""
    content, relatives = found.content, found.relatives
    if relatives.separate is not None:
        known = relatives.separate
        return Recognised(own, content, relatives._replace(same_key=known), _is_again(batch, known, content))
    known_by_key = relatives.same_key
    if known_by_key is None or known_by_key.text_digest is None:
        return found
    if is_same(known_by_key, content):
        return found._replace(is_again=_is_again(batch, known_by_key, content))
    if batch.has_decided(known_by_key):
        return Recognised(own, content, relatives._replace(same_key=None), is_again=False)
    return found


def _of_former_class(batch: Batch, identity: Identity, content: Content) -> StoredDocument | None:
    """Return the same content under the same key of another item class, if that has not come in this run.

    A project has renamed its class, or made one of its dicts: what came before is no original of it.
    """
    for known in document_rows.find_by_given_key(batch.connection, identity.given_key):
        if known.space == identity.place and is_same(known, content) and not batch.has_decided(known):
            return known
    return None


def _has_moved(batch: Batch, identity: Identity, content: Content, known: StoredDocument | None) -> bool:
    """Say whether a document without a key of its own is one of an earlier run, elsewhere on its site."""
    if known is None or not content.sketch.tokens or known.last_run_id == batch.run_id or batch.has_decided(known):
        return False
    return known.space == identity.place and host_of(known.key) == host_of(identity.key)


def _is_again(batch: Batch, known: StoredDocument, content: Content) -> bool:
    # Of documents without text and bytes nobody knows whether they are the same.
    is_told = bool(content.sketch.tokens) or content.body_digest is not None
    return is_told and is_same(known, content) and batch.has_decided(known)


def _content(arriving: Arriving, same_bytes: StoredDocument | None) -> Content | None:
    """Return what there is to store of a document: just analysed, or known by its bytes."""
    document = arriving.document
    source = document.signature or same_bytes
    if source is None or source.text_digest is None:
        return None
    text_bytes = document.text_bytes if same_bytes is None or document.signature else same_bytes.text_bytes
    words = b"" if document.signature is None else document.signature.words
    canonical = clean(document.canonical) if document.canonical else document.key
    # What a site says of the pages of others counts for nothing.
    is_vote = canonical != document.key and owner_of(canonical) == owner_of(document.key)
    return Content(
        source.text_digest,
        source.fingerprint,
        source.sketch,
        text_bytes,
        document.body_digest,
        words,
        arriving.identity.digest_of(canonical) if is_vote else None,
        document.redirected,
        _one_line(document.title) or (same_bytes.title if same_bytes else ""),
        arriving.keys,
    )


def _one_line(title: str) -> str:
    # Sites write titles of a megabyte.
    return " ".join(clean(title[: 4 * LONGEST_TITLE]).split())[:LONGEST_TITLE]
