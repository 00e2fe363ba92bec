"""Recognition: which stored document an arriving one is, by its key and its text, and which one it duplicates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, update

from dedup.ledger import document_rows
from dedup.ledger.document_rows import NO_RELATIVES, Digests, Identity, Relatives, is_same
from dedup.ledger.key_table import Index
from dedup.rules.documents import (
    LONGEST_TITLE,
    NOTHING_ALIKE,
    Answer,
    Content,
    Decision,
    Document,
    Kept,
    Match,
    Rule,
    StoredDocument,
)
from dedup.rules.matcher import MOST_PASSED_ON, Candidate, Matcher, Query
from dedup.rules.other_fields import other_fields, share_fields, unpacked
from dedup.rules.scope import are_other_titles, host_of, may_have_moved, owner_of
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import fewest_tokens, similarity_of_words
from dedup.rules.word_comparison import NOTHING_LOST, LostText
from dedup.signature.normalise import clean
from dedup.signature.signature import Sketch
from dedup.sql.schema import documents, to_unsigned, verdicts

_COPIES = 4
"""Of a text of few words under so many other keys; what has it under one more is kept."""

_FEWEST_ITEMS = 20
"""If more than half of so many items of a class have one text, that is a placeholder."""

_FEWEST_PAGES = 5
"""If more than half of so many pages of a site have one text, and other titles, their own was not found."""

_MOST_COUNTED = 1_000

BATCHES_OF_A_PROCESS = 1 << 32
"""Each process numbers its batches from a number at random, which is this times up to 2**30."""

_LAST_ID = select(func.max(documents.c.id))
_DECIDED_BEFORE = (
    select(verdicts.c.id)
    .where(
        verdicts.c.document_id == bindparam("document"),
        verdicts.c.run_id == bindparam("run"),
        verdicts.c.batch >= bindparam("first"),
        verdicts.c.batch < bindparam("number"),
    )
    .limit(1)
)
_DECIDED_NOW = update(verdicts).where(
    verdicts.c.document_id == bindparam("document"), verdicts.c.run_id == bindparam("run")
)


class Recognised(NamedTuple):
    """What an arriving document is; `is_again`: this process has decided that content in this run before."""

    identity: Identity
    content: Content
    relatives: Relatives
    is_again: bool


class Arriving(NamedTuple):
    """A document that arrives.

    Attributes:
        document: its digests are mixed with its scope.
        identity: its identity by its key alone.
        own: its identity if other texts came under its key, where its text is known; else None.
        keys: what it is found by, see `dedup.ledger.key_table`; None where it cannot be a near-duplicate.
    """

    document: Document
    identity: Identity
    own: Identity | None
    keys: list[int] | None

    @classmethod
    def of(cls, document: Document, space: str, plain_class: str) -> Arriving:
        """Return an arriving document with its identity."""
        item_class = "" if document.item_class == plain_class else f"class {document.item_class}"
        identity = Identity(document.key, document.key, space, item_class)
        signature, own = document.signature, None
        if signature is not None and document.separate:
            has_text = bool(signature.sketch.tokens)
            own = identity.separated(signature.text_digest, document.body_digest, document.fields, has_text=has_text)
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
        has_text = bool(content.sketch.tokens)
        own = identity.separated(content.text_digest, content.body_digest, content.fields, has_text=has_text)
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
        stored = relatives.separate
        return Recognised(own, content, relatives._replace(same_key=stored), _is_again(batch, stored, content))
    of_key = relatives.same_key
    if of_key is None or of_key.text_digest is None:
        return found
    if is_same(of_key, content):
        return found._replace(is_again=_is_again(batch, of_key, content))
    if batch.has_decided(of_key):
        return Recognised(own, content, relatives._replace(same_key=None), is_again=False)
    return found


def _of_former_class(batch: Batch, identity: Identity, content: Content) -> StoredDocument | None:
    """Return the same content under the same key of another item class, if that has not come in this run.

    A project has renamed its class, or made one of its dicts: what came before is no original of it.
    """
    for stored in document_rows.find_by_given_key(batch.connection, identity.given_key):
        if stored.space == identity.space and is_same(stored, content) and not batch.has_decided(stored):
            return stored
    return None


def _has_moved(batch: Batch, identity: Identity, content: Content, stored: StoredDocument | None) -> bool:
    """Say whether a document without a key of its own is one of an earlier run, elsewhere on its site."""
    if stored is None or not content.sketch.tokens or stored.last_run_id == batch.run_id or batch.has_decided(stored):
        return False
    if other_fields(stored.fields, content.fields):
        return False
    return stored.space == identity.space and host_of(stored.key) == host_of(identity.key)


def _is_again(batch: Batch, stored: StoredDocument, content: Content) -> bool:
    # Of documents without text and bytes nobody knows whether they are the same.
    is_told = bool(content.sketch.tokens) or content.body_digest is not None
    return is_told and is_same(stored, content) and batch.has_decided(stored)


def _content(arriving: Arriving, same_bytes: StoredDocument | None) -> Content | None:
    """Return what there is to store of a document: just analysed, or known by its bytes."""
    document = arriving.document
    source = document.signature or same_bytes
    if source is None or source.text_digest is None:
        return None
    text_bytes = document.text_bytes if same_bytes is None or document.signature else same_bytes.text_bytes
    words = b"" if document.signature is None else document.signature.words
    return Content(
        source.text_digest,
        source.fingerprint,
        source.sketch,
        text_bytes,
        document.body_digest,
        words,
        _one_line(document.title) or (same_bytes.title if same_bytes else ""),
        document.fields,
        arriving.keys,
    )


def _one_line(title: str) -> str:
    # Sites write titles of a megabyte.
    return " ".join(clean(title[: 4 * LONGEST_TITLE]).split())[:LONGEST_TITLE]


class OriginalFinder:
    """Finds what a document of a crawl is a duplicate of."""

    def __init__(self, index: Index, settings: DedupSettings) -> None:
        self.index = index
        self.settings = settings
        self._matcher = Matcher(settings)
        # By classes of items, or sites: those of this process, and those that had the text of an earlier one, by this.
        self._items: Counter[str] = Counter()
        self._equal: dict[str, Counter[int]] = {}

    def find(
        self,
        batch: Batch,
        identity: Identity,
        document: Document,
        content: Content,
        relatives: Relatives,
    ) -> Answer:
        """Return what a document is a duplicate of or resembles; without signature, as its bytes are known already."""
        self._items[_group_of(document)] += 1
        signature = document.signature
        stored = relatives.same_key
        if stored is not None and stored.leader_id is None and stored.text_digest == content.text_digest:
            # What has changed are its fields.
            return NOTHING_ALIKE
        own_id = None if stored is None else stored.id
        # Pages without text are alike only if they are the same to the byte.
        twin = relatives.same_text if content.sketch.tokens and signature else relatives.same_body
        if twin is not None and own_id is not None and own_id in (twin.id, twin.leader_id):
            twin = None
            if content.sketch.tokens:
                twin = document_rows.find_by_text_outside_cluster(batch.connection, content.text_digest, own_id)
        other = None
        if twin is not None:
            twin, is_other = _with_same_fields(batch.connection, twin, content, own_id)
            leader = document_rows.leader_of(batch.connection, twin)
            if is_other or other_fields(leader.fields, content.fields):
                other = Match(leader, twin, rule=Rule.OTHER_FIELDS)
            elif self._is_similar(batch, document, content, leader):
                return Answer(similar=Match(leader, twin, rule=Rule.SAME_SHORT_TEXT))
            else:
                rule = Rule.SAME_TEXT if content.sketch.tokens else Rule.SAME_BYTES
                return Answer(Match(leader, twin, rule=rule), has_moved=_comes_from(batch, document, leader))
        if signature is None or content.sketch.tokens < fewest_tokens(self.settings):
            return Answer(similar=other)
        store = _StoredDocuments(self, batch, identity, content, own_id)
        query = Query(
            signature.fingerprint,
            signature.sketch,
            lambda: signature.words,
            identity.key,
            content.title,
            content.fields,
        )
        assert content.keys is not None
        answer = self._matcher.find(query, store.candidates(content.keys), store)
        if answer.match is not None and _has_changed_more(batch.connection, stored, document, answer.match):
            return Answer(similar=replace(answer.match, rule=Rule.UPDATED))
        if answer.match is not None and owner_of(document.key) != owner_of(answer.match.leader.key):
            # A site that moves has corrected some of its pages.
            answer = answer._replace(has_moved=_comes_from(batch, document, answer.match.leader))
        # A text may be that of another thing, and a near-copy of its own.
        return answer if answer.match or other is None else Answer(similar=other)

    def _is_similar(self, batch: Batch, document: Document, content: Content, leader: StoredDocument) -> bool:
        """Say whether an equal text is no copy: by its length, or since it has come under so many keys."""
        group = _group_of(document)
        if not group or not content.sketch.tokens:
            return False
        equal = self._equal.setdefault(group, Counter())
        equal[leader.id] += 1
        if len(equal) > _MOST_COUNTED:
            self._equal[group] = Counter(dict(equal.most_common(_MOST_COUNTED // 2)))
        is_of_most = 2 * equal[leader.id] > self._items[group]
        if not document.similar_below:
            # A trap, which has one page under many addresses, has one title, too.
            is_of_site = is_of_most and self._items[group] >= _FEWEST_PAGES
            is_short = content.sketch.tokens < 2 * self.settings.short_tokens and group == owner_of(leader.key)
            return (is_of_site or is_short) and are_other_titles(content.title, leader.title)
        if is_of_most and self._items[group] >= _FEWEST_ITEMS:
            return True
        if content.sketch.tokens < document.similar_below:
            return True
        is_short = content.sketch.tokens < self.settings.short_tokens
        return is_short and document_rows.count_led(batch.connection, leader.id, _COPIES) == _COPIES


def _group_of(document: Document) -> str:
    """Return the items or pages among which an equal text may be a placeholder; empty: there are none."""
    return f"class {document.item_class}" if document.similar_below else owner_of(document.key)


def _comes_from(batch: Batch, document: Document, leader: StoredDocument) -> bool:
    """Say whether a document has another address than in an earlier run, which this one has not found it at.

    Pages that are visited again by their addresses have moved where these say so.
    """
    is_of_earlier_run = document.separate and leader.last_run_id != batch.run_id
    if not is_of_earlier_run or not may_have_moved(document.key, leader.key):
        return False
    batch.write_verdicts()
    return not document_rows.is_seen_since(batch.connection, leader.id, batch.run_id)


def _has_changed_more(connection: Connection, stored: StoredDocument | None, document: Document, match: Match) -> bool:
    """Say whether a former duplicate has changed by no less than it differed from its original before."""
    if stored is None or document.signature is None or stored.leader_id != match.leader.id:
        return False
    before = document_rows.find_words(connection, stored.text_digest)
    theirs = document_rows.find_words(connection, match.leader.text_digest)
    return similarity_of_words(before, theirs) >= similarity_of_words(before, document.signature.words)


def _with_same_fields(
    connection: Connection, found: StoredDocument, content: Content, own_id: int | None
) -> tuple[StoredDocument, bool]:
    """Return the first of the documents with a document's text whose fields are not other ones, and False.

    Where all have other fields, or none, return one of them, and whether it has others.
    """
    if not content.fields or found.fields == content.fields:
        return found, False
    is_other = bool(other_fields(found.fields, content.fields))
    if not content.sketch.tokens or found.text_digest is None:
        return found, is_other
    told: list[StoredDocument] = []
    differing: list[StoredDocument] = []
    for each in document_rows.find_by_text(connection, found.text_digest, content.fields):
        if own_id is None or own_id not in (each.id, each.leader_id):
            (differing if other_fields(each.fields, content.fields) else told).append(each)
    site, values, _ = unpacked(content.fields)
    # Of another host it may be the same item before its site has moved.
    same = next((each for each in told if unpacked(each.fields).values == values), None)
    same = same or next((each for each in told if share_fields(each.fields, content.fields)), None)
    if same is not None:
        return same, False
    # What has none of these fields may be any of them, and what is at another site one of several here.
    here = [each for each in differing if unpacked(each.fields).site == site]
    if told and not here:
        return told[0], False
    return next(iter(here or differing), found), is_other or bool(differing)


class _StoredDocuments:
    """The documents of a database around one that is to be decided, see `dedup.rules.matcher.DocumentStore`."""

    def __init__(
        self, finder: OriginalFinder, batch: Batch, identity: Identity, content: Content, own_id: int | None
    ) -> None:
        self._finder = finder
        self._batch = batch
        self._connection = batch.connection
        self._identity = identity
        self._content = content
        self._own_id = own_id
        self._leaders: dict[int, int] = {}
        self._stored: dict[int, StoredDocument] = {}
        self._words: dict[int, bytes] = {}

    def candidates(self, keys: list[int]) -> list[Candidate]:
        """Return the documents in the document's scope that share keys with it."""
        finder, key, space, own_id = self._finder, self._identity.key, self._identity.space, self._own_id
        found = dict(finder.index.keys.find(self._batch.connection, keys))
        if not found:
            return []
        self._batch.flush()
        rows = document_rows.find_sketches(self._connection, found)
        scope = finder.index.scopes.of(key, space)
        # A document that has changed is no duplicate of itself, nor of its own duplicates.
        members = [
            row
            for row in rows
            if finder.index.scopes.of(row.key, row.space) == scope
            and (own_id is None or own_id not in (row.id, row.leader_id))
        ]
        self._leaders = {row.id: row.leader_id or row.id for row in members}
        return [
            Candidate(row.id, to_unsigned(row.fingerprint), Sketch.from_bytes(row.sketch), found[row.id])
            for row in members
        ]

    def match(self, number: int) -> Match:
        """Return a candidate and the leader of its cluster; of those with its text one whose fields are the same."""
        if number not in self._stored:
            # Of most documents the first candidate decides, and of the others only the sketches are read.
            wanted = self._leaders if self._stored else [number]
            self._stored |= document_rows.find_with_leaders(self._connection, wanted)
        member = self._stored[number]
        same, _ = _with_same_fields(self._connection, member, self._content, self._own_id)
        if same is not member:
            return Match(document_rows.leader_of(self._connection, same), same)
        return Match(self._stored[member.leader_id] if member.leader_id else member, member)

    def leader_of(self, number: int) -> int:
        """Return the id of the leader of a candidate's cluster."""
        return self._leaders[number]

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""
        if document.id not in self._words:
            self._words[document.id] = document_rows.find_words(self._connection, document.text_digest)
        return self._words[document.id]

    def passed_on(self, match: Match) -> Iterator[StoredDocument]:
        """Yield the documents of a match's cluster that were passed on: its leader, and the latest others."""
        yield match.leader
        if match.second is not None:
            yield match.second
        # One of them may have been decided in this batch.
        self._batch.write_verdicts()
        found = document_rows.find_passed_on(self._connection, match, MOST_PASSED_ON)
        yield from (each for each in found if each.id != self._own_id)


class Batch:
    """Documents that are decided in one transaction.

    Args:
        connection: inside a writing transaction.
        run_id: the run that the verdicts belong to.
        first: the number of the first batch of this process.
        number: that of this batch; one that failed is repeated with the same number, so that what it
            has decided, if it was written, does not count as decided before.
        digests: those of all its documents.
    """

    def __init__(
        self, connection: Connection, run_id: int, first: int, number: int, digests: Sequence[Digests]
    ) -> None:
        self.connection = connection
        self.run_id = run_id
        self._stored_digests = document_rows.find_stored_digests(connection, digests)
        self._next_id = (connection.scalar(_LAST_ID) or 0) + 1
        self._documents: list[dict[str, Any]] = []
        self._words: list[tuple[bytes, bytes]] = []
        self._first = first
        self._number = number
        self._decided: set[int] = set()
        self._rows: list[dict[str, Any]] = []

    def relatives(self, digests: Digests) -> Relatives:
        """Return the documents that share a digest with one of the batch, and add its digests to the stored ones."""
        is_new = self._stored_digests.isdisjoint(digests)
        self._stored_digests.update(each for each in digests if each is not None)
        if is_new:
            return NO_RELATIVES
        self.flush()
        return document_rows.find_relatives(self.connection, digests)

    def add_document(self, values: dict[str, Any]) -> int:
        """Add a row of `dedup_documents` that is written by `flush`; return its id."""
        # There is one writer at a time.
        document_id, self._next_id = self._next_id, self._next_id + 1
        self._documents.append({"id": document_id, **values})
        return document_id

    def add_words(self, text_digest: bytes, words: bytes) -> None:
        """Add the words of a text that has none yet, which are written by `flush`."""
        self._words.append((text_digest, words))

    def flush(self) -> None:
        """Write the documents and words that were added since the last call; to be called before documents are read."""
        if self._documents:
            self.connection.execute(insert(documents), self._documents)
            self._documents.clear()
        if self._words:
            document_rows.add_words(self.connection, self._words)
            self._words.clear()

    def last_verdict(self, stored: StoredDocument) -> tuple[Rule | None, LostText, Kept | None]:
        """Return the rule of the last verdict on a document, what is lost with it, and why it was kept all the same."""
        if stored.id in self._decided:
            self.write_verdicts()
        row = document_rows.find_last_verdict(self.connection, stored.id)
        if row is None or row.rule is None:
            return None, NOTHING_LOST, None
        kept = row.kept and Kept(row.kept)
        lost = LostText(row.lost or 0, row.lost_bytes or 0, kept is Kept.SAYS_MORE, row.places or 0)
        return Rule.of(row.rule), lost, kept

    def has_decided(self, stored: StoredDocument) -> bool:
        """Say whether a document was decided before in this batch, or an earlier one of this process and run."""
        if stored.id in self._decided:
            return True
        if stored.last_run_id != self.run_id:
            return False
        which = {"document": stored.id, "run": self.run_id, "first": self._first, "number": self._number}
        return self.connection.scalar(_DECIDED_BEFORE, which) is not None

    def add(self, document_id: int, decision: Decision, answer: Answer) -> None:
        """Add the verdict on a document."""
        match = answer.match or answer.similar
        self._decided.add(document_id)
        self._rows.append(
            {
                "run_id": self.run_id,
                "document_id": document_id,
                "original_id": match.leader.id if match else None,
                "matched_id": match.member.id if match else None,
                "second_id": match.second.id if match and match.second else None,
                **decision.columns(),
                "decided": time.time(),
                "batch": self._number,
            }
        )

    def note_repeated(self, document_id: int) -> None:
        """Note that a document was decided again as another process of the run has decided it: its verdict stays."""
        self._decided.add(document_id)
        which = {"document": document_id, "run": self.run_id}
        self.connection.execute(_DECIDED_NOW.values(batch=self._number), which)

    def write_verdicts(self) -> None:
        """Write the verdicts that were added since the last call, and before them their documents."""
        self.flush()
        document_rows.add_verdicts(self.connection, self._rows)
        self._rows.clear()
