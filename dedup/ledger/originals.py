"""Signature to answer: which document, if any, another one is a duplicate of, or resembles."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

from dedup.ledger import document_rows
from dedup.ledger.batch import Batch
from dedup.ledger.cluster_joins import Joining
from dedup.ledger.document_rows import Relatives
from dedup.ledger.identity import Identity
from dedup.ledger.key_table import KeyTable
from dedup.rules.documents import NOTHING_ALIKE, Answer, Content, Document, Match, StoredDocument
from dedup.rules.matcher import MOST_PASSED_ON, Asked, Candidate, Matcher
from dedup.rules.rule import Rule
from dedup.rules.scope import Scopes
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import fewest_tokens
from dedup.signature.sketch import Sketch
from dedup.sql.schema import to_unsigned

logger = logging.getLogger(__name__)

_COPIES = 4
"""Of a text of few words under so many other keys; what has it under one more is kept."""

_FEWEST_ITEMS = 20
"""Of so many of a class more than half have one text: it is none, but stands for one."""

_MOST_COUNTED = 1_000


class OriginalFinder:
    """Finds what a document of a crawl is a duplicate of."""

    def __init__(self, keys: KeyTable, scopes: Scopes, settings: DedupSettings, joining: Joining) -> None:
        self.keys = keys
        self.scopes = scopes
        self.settings = settings
        self.joining = joining
        self._matcher = Matcher(settings)
        # By classes of items: those of this process, and those that had the text of an earlier one, by this.
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
        self._items[document.item_class] += 1
        signature = document.signature
        own_id = None if relatives.same_key is None else relatives.same_key.id
        # Pages without text are alike only if they are the same to the byte.
        twin = relatives.same_text if content.sketch.tokens and signature else relatives.same_body
        if twin is not None and own_id is not None and own_id in (twin.id, twin.leader_id):
            twin = None
            if content.sketch.tokens:
                twin = document_rows.find_by_text_outside_cluster(batch.connection, content.text_digest, own_id)
        if twin is not None:
            leader = document_rows.leader_of(batch.connection, twin)
            if self._is_similar(batch, document, content, leader):
                return Answer(similar=Match(leader, twin, rule=Rule.SAME_SHORT_TEXT))
            return Answer(Match(leader, twin, rule=Rule.SAME_TEXT if content.sketch.tokens else Rule.SAME_BYTES))
        if signature is None or content.sketch.tokens < fewest_tokens(self.settings):
            return NOTHING_ALIKE
        known = _KnownDocuments(self, batch, identity, own_id)
        asked = Asked(signature.fingerprint, signature.sketch, lambda: signature.words, identity.key)
        assert content.keys is not None
        return self._matcher.find(asked, known.candidates(content.keys), known)

    def _is_similar(self, batch: Batch, document: Document, content: Content, leader: StoredDocument) -> bool:
        """Say whether an equal text is no copy: by its length, or since it has come under so many keys."""
        if not document.similar_below or not content.sketch.tokens:
            return False
        equal = self._equal.setdefault(document.item_class, Counter())
        equal[leader.id] += 1
        if len(equal) > _MOST_COUNTED:
            self._equal[document.item_class] = Counter(dict(equal.most_common(_MOST_COUNTED // 2)))
        if 2 * equal[leader.id] > self._items[document.item_class] >= _FEWEST_ITEMS:
            return True
        if content.sketch.tokens < document.similar_below:
            return True
        is_short = content.sketch.tokens < self.settings.short_tokens
        return is_short and document_rows.count_led(batch.connection, leader.id, _COPIES) == _COPIES


class _KnownDocuments:
    """The documents of a database around one that is to be decided, see `dedup.rules.matcher.Known`."""

    def __init__(self, finder: OriginalFinder, batch: Batch, identity: Identity, own_id: int | None) -> None:
        self._finder = finder
        self._batch = batch
        self._connection = batch.connection
        self._identity = identity
        self._own_id = own_id
        self._leaders: dict[int, int] = {}
        self._stored: dict[int, StoredDocument] = {}
        self._words: dict[int, bytes] = {}

    def candidates(self, keys: list[int]) -> list[Candidate]:
        """Return the documents in the document's scope that share keys with it."""
        finder, key, space, own_id = self._finder, self._identity.key, self._identity.place, self._own_id
        found = dict(finder.keys.find(self._batch.connection, keys))
        if not found:
            return []
        self._batch.flush()
        rows = document_rows.find_sketches(self._connection, found)
        scope = finder.scopes.of(key, space)
        # A document that has changed is no duplicate of itself, nor of its own duplicates.
        members = [
            row
            for row in rows
            if finder.scopes.of(row.key, row.space) == scope
            and (own_id is None or own_id not in (row.id, row.leader_id))
        ]
        self._leaders = {row.id: row.leader_id or row.id for row in members}
        return [
            Candidate(row.id, to_unsigned(row.fingerprint), Sketch.from_bytes(row.sketch), found[row.id])
            for row in members
        ]

    def match(self, number: int) -> Match:
        """Return a candidate and the leader of its cluster."""
        if number not in self._stored:
            # Of most documents the first candidate decides, and nothing is asked of the others but their sketches.
            asked = self._leaders if self._stored else [number]
            self._stored |= document_rows.find_with_leaders(self._connection, asked)
        member = self._stored[number]
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
        """Yield the documents of a match's cluster that were passed on: what stands for it, and the latest others."""
        stands = match.leader.exported_id
        if stands is None or stands == self._own_id:
            yield match.leader
        else:
            # Where it has left the cluster, the leader stands for that again.
            yield document_rows.find_with_leaders(self._connection, [stands]).get(stands, match.leader)
        if match.joined is not None:
            yield match.joined
        # One of them may have been decided in this batch.
        self._batch.write_verdicts()
        found = document_rows.find_passed_on(self._connection, match, MOST_PASSED_ON)
        yield from (each for each in found if each.id != self._own_id)

    def movable(self, joined: StoredDocument, leader: StoredDocument) -> list[Sketch] | None:
        """Return the sketches of a cluster that may join another one; None if it may not."""
        return self._finder.joining.movable(self._connection, joined, leader, self._batch.run_id)
