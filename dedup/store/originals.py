"""Originals: which stored document of a crawl another one is a duplicate of, or resembles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from dedup.rules.decisions import NOTHING_ALIKE, Answer
from dedup.rules.documents import Content, Document, Match, StoredDocument
from dedup.rules.matcher import Candidate, Matcher
from dedup.rules.other_fields import other_fields, unpacked
from dedup.rules.pair import Pair
from dedup.rules.scope import FEWEST_PAGES, are_other_titles, may_have_moved, owner_of
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Sketch
from dedup.store import document_rows
from dedup.store.key_table import KeyTable
from dedup.store.recognition import Recognised
from dedup.store.schema import to_signed, to_unsigned
from dedup.store.text_rows import find_words
from dedup.store.unit_of_work import UnitOfWork

_MOST_COUNTED = 1_000


class OriginalFinder:
    """Finds what a document of a crawl is a duplicate of."""

    def __init__(self, keys: KeyTable, settings: DedupSettings) -> None:
        self.keys = keys
        self.settings = settings
        self._matcher = Matcher(settings)
        # By sites: the pages of this process, and those that had the text of an earlier one, by this.
        self._pages: Counter[str] = Counter()
        # By texts, what holds them: None where nothing does.
        self._holders: dict[int, Any] = {}
        self._equal: dict[str, Counter[int]] = {}

    def prepare(self, unit: UnitOfWork, keys: Iterable[Sequence[int]]) -> None:
        """Read at once what may be candidates of documents by their keys, of those that are to be decided next."""
        texts = {text for own in keys for text, _ in self.keys.find(unit, own)}
        holders = document_rows.find_holders(unit, texts, originals_only=self.keys.is_of_originals)
        self._holders = dict.fromkeys(texts) | {row.text_id: row for row in holders}

    def holders(self, unit: UnitOfWork, texts: Collection[int], own_id: int | None) -> list[Any]:
        """Return what holds some texts, see `dedup.store.document_rows.find_holders`."""
        read = {} if unit.has_changed or own_id is not None else self._holders
        missing = [each for each in texts if each not in read]
        found = document_rows.find_holders(unit, missing, own_id, originals_only=self.keys.is_of_originals)
        return [*found, *(row for each in texts if (row := read.get(each)) is not None)]

    def find(self, unit: UnitOfWork, found: Recognised) -> Answer:
        """Return what a document is a duplicate of or resembles; without signature, as its bytes are known already."""
        self._pages[owner_of(found.document.key)] += 1
        stored = found.stored
        if stored is not None and stored.leader_id is None and stored.text_digest == found.content.text_digest:
            # What has changed are its fields.
            return NOTHING_ALIKE
        equal = self._find_equal(unit, found)
        if equal.original is not None or equal.rule in (Rule.SAME_SHORT_TEXT, Rule.MOVED):
            return equal
        near = self._find_near(unit, found)
        # A text may be that of another thing, and a near-copy of its own.
        is_decided = near.original is not None or near.rule in (Rule.UPDATED, Rule.NEW_TEXT, Rule.MOVED)
        return near if is_decided or equal.match is None else equal

    def _find_equal(self, unit: UnitOfWork, found: Recognised) -> Answer:
        """Return what has the same text, or the same bytes where there is none."""
        document, content, own_id = found.document, found.content, found.own_id
        # Pages without text are alike only if they are the same to the byte.
        twin = found.same_text if content.sketch.tokens and document.signature else found.same_body
        if twin is not None and own_id is not None and own_id in (twin.id, twin.leader_id):
            twin = None
            if content.sketch.tokens:
                twin = document_rows.find_by_text_outside_cluster(unit, content.text_digest, own_id)
        if twin is None:
            return NOTHING_ALIKE
        twin, is_other = _with_same_fields(unit, twin, content, own_id)
        match = Match(document_rows.leader_of(unit, twin), twin, is_other=is_other)
        pair = Pair(
            content,
            match,
            self.settings,
            partial(_words_of, unit),
            had_by_many=partial(self._is_had_by_many, document, content, match.leader),
        )
        return _unless_moved(unit, document, Answer(match, decide(pair)))

    def _find_near(self, unit: UnitOfWork, found: Recognised) -> Answer:
        """Return what has nearly the same text."""
        document, content = found.document, found.content
        keys = found.keys
        if document.signature is None or keys is None or content.sketch.tokens < self.settings.fewest_tokens:
            return NOTHING_ALIKE
        store = _StoredDocuments(self, unit, found)
        answer = self._matcher.find(content, store.candidates(keys), store, found.stored)
        if answer.original is not None and owner_of(document.key) != owner_of(answer.original.key):
            # A site that moves has corrected some of its pages.
            return _unless_moved(unit, document, answer)
        return answer

    def _is_had_by_many(self, document: Document, content: Content, leader: StoredDocument) -> bool:
        """Return whether a text is too short to say that one is a copy, or is that of many pages of a site.

        Their own text was not found, if they have other titles.
        """
        if 0 < content.sketch.tokens < document.similar_below:
            return True
        owner = owner_of(document.key)
        if document.similar_below or not owner or not content.sketch.tokens:
            return False
        equal = self._equal.setdefault(owner, Counter())
        equal[leader.id] += 1
        if len(equal) > _MOST_COUNTED:
            self._equal[owner] = Counter(dict(equal.most_common(_MOST_COUNTED // 2)))
        # A trap, which has one page under many addresses, has one title, too.
        is_of_most = 2 * equal[leader.id] > self._pages[owner] >= FEWEST_PAGES
        is_short = content.sketch.tokens < 2 * self.settings.short_tokens and owner == owner_of(leader.key)
        return (is_of_most or is_short) and are_other_titles(content.title, leader.title)


def _unless_moved(unit: UnitOfWork, document: Document, answer: Answer) -> Answer:
    """Return what was found, but for a page that has another address than in an earlier run: it is no copy of itself.

    This run has not found it at the other one. Pages that are visited again by their addresses have moved where these
    say so.
    """
    leader = answer.original
    if leader is None or not document.separate or leader.last_run_id == unit.run_id:
        return answer
    if not may_have_moved(document.key, leader.key) or document_rows.is_seen_since(unit, leader.id, unit.run_id):
        return answer
    return Answer(answer.match, Rule.MOVED)


def _words_of(unit: UnitOfWork, document: StoredDocument) -> bytes:
    return find_words(unit, document.text_digest)


def _with_same_fields(
    unit: UnitOfWork, found: StoredDocument, content: Content, own_id: int | None
) -> tuple[StoredDocument, bool]:
    """Return the first of the documents with a document's text whose fields are not other ones, and False.

    Where all have other fields, or it is not clear which of them it is, return one of them, and True.
    """
    if found.fields == content.fields:
        return found, False
    is_other = bool(other_fields(found.fields, content.fields))
    if not content.sketch.tokens or found.text_digest is None:
        return found, is_other
    agreeing: list[StoredDocument] = []
    differing: list[StoredDocument] = []
    for each in document_rows.find_by_text(unit, found.text_digest, content.fields):
        if own_id is None or own_id not in (each.id, each.leader_id):
            (differing if other_fields(each.fields, content.fields) else agreeing).append(each)
    values = unpacked(content.fields).values
    # Of another host it may be the same item before its site has moved.
    same = next((each for each in agreeing if unpacked(each.fields).values == values), None)
    same = same or next((each for each in agreeing if _stands_like(each, agreeing, differing)), None)
    if same is not None:
        return same, False
    return next(iter(differing), found), is_other or bool(agreeing or differing)


def _stands_like(document: StoredDocument, agreeing: list[StoredDocument], differing: list[StoredDocument]) -> bool:
    """Return whether a document agrees and differs with those that another one agrees and differs with.

    What agrees with things of a site that differ from each other may be any of them.
    """
    site = unpacked(document.fields).site
    here = (each for each in agreeing if unpacked(each.fields).site == site)
    agrees = not any(other_fields(document.fields, each.fields) for each in here)
    return agrees and all(other_fields(document.fields, each.fields) for each in differing)


class _StoredDocuments:
    """The documents of a database around one that is to be decided, see `dedup.rules.matcher.DocumentStore`."""

    def __init__(self, finder: OriginalFinder, unit: UnitOfWork, found: Recognised) -> None:
        self._finder = finder
        self._unit = unit
        self._content, self._mask = found.content, to_signed(found.mask)
        self._own_id = found.own_id
        self._leaders: dict[int, int] = {}
        self._stored: dict[int, StoredDocument] = {}
        self._words: dict[int, bytes] = {}

    def candidates(self, keys: list[int]) -> list[Candidate]:
        """Return the documents in the document's scope that share keys with it."""
        found = dict(self._finder.keys.find(self._unit, keys))
        # A document that has changed is no duplicate of itself, nor of its own duplicates.
        holders = self._finder.holders(self._unit, found, self._own_id)
        members = [row for row in holders if row.mask == self._mask]
        self._leaders = {row.id: row.leader_id or row.id for row in members}
        return [
            Candidate(row.id, to_unsigned(row.fingerprint), Sketch.from_bytes(row.sketch), found[row.text_id])
            for row in members
        ]

    def match(self, number: int) -> Match:
        """Return a candidate and the leader of its cluster; of those with its text one whose fields are the same."""
        if number not in self._stored:
            # Of most documents the first candidate decides, and of the others only the sketches are read.
            if self._stored:
                self._stored |= document_rows.find_with_leaders(self._unit, self._leaders)
            else:
                for id_, (stored, words) in document_rows.find_with_words(self._unit, number).items():
                    self._stored[id_], self._words[id_] = stored, words
        member = self._stored[number]
        same, is_other = _with_same_fields(self._unit, member, self._content, self._own_id)
        if same is not member:
            return Match(document_rows.leader_of(self._unit, same), same, is_other=is_other)
        return Match(self._stored[member.leader_id] if member.leader_id else member, member, is_other=is_other)

    def leader_of(self, number: int) -> int:
        """Return the id of the leader of a candidate's cluster."""
        return self._leaders[number]

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""
        if document.id not in self._words:
            self._words[document.id] = find_words(self._unit, document.text_digest)
        return self._words[document.id]
