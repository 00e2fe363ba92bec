"""Candidates to verdict: is a document new, unchanged, updated, or a duplicate of which one?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection

from dedup import ledger
from dedup.database import Database, open_dedup_database
from dedup.fingerprint.signature import SCHEME, Signature
from dedup.fingerprint.simhash import distance
from dedup.fingerprint.sketch import Sketch, compare
from dedup.index.probes import ProbePlan
from dedup.index.sql import SqlIndex
from dedup.ledger import Relatives, StoredDocument
from dedup.schema import to_signed
from dedup.settings import DedupSettings, Mode
from dedup.verification import belongs_to_cluster, is_near_duplicate

PAPER_RADIUS = 3
"""The radius of Manku, Jain, Das Sarma, WWW 2007, section 2, in bits."""


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
class Document:
    """A document to decide.

    Attributes:
        key: what identifies it; in a crawl its URL.
        signature: the signature of its text; None where its bytes are known already.
        text_bytes: size of its text in UTF-8.
        body_digest: digest of the bytes that the text was taken from, if it was.
    """

    key: str
    signature: Signature | None
    text_bytes: int = 0
    body_digest: bytes | None = None


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
    """

    verdict: Verdict
    original: str | None = None
    matched: str | None = None
    distance: int | None = None
    similarity: float | None = None
    text_bytes: int = 0


class _Content:
    """A document's content as it is about to be stored, whether just analysed or known by its bytes."""

    def __init__(self, document: Document, twin: StoredDocument | None) -> None:
        if document.signature is not None:
            self.text_digest: bytes | None = document.signature.text_digest
            self.fingerprint = document.signature.fingerprint
            self.sketch: Sketch = document.signature.sketch
            self.text_bytes = document.text_bytes
        else:
            assert twin is not None
            self.text_digest, self.fingerprint = twin.text_digest, twin.fingerprint
            self.sketch, self.text_bytes = twin.sketch, twin.text_bytes


@dataclass(frozen=True, slots=True)
class _Match:
    leader: StoredDocument
    member: StoredDocument


class Deduplicator:
    """Decides documents against all that a database has seen.

    Args:
        settings: how matches are found and decided, and in which database.

    Raises:
        DatabaseError: the database cannot be opened, or was made with another scheme or design.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._is_paper = settings.mode is Mode.PAPER
        if self._is_paper:
            plan = ProbePlan(settings.tables, PAPER_RADIUS, PAPER_RADIUS, weak_bits=0)
        else:
            plan = ProbePlan(settings.tables, settings.radius, min(PAPER_RADIUS, settings.radius), settings.weak_bits)
        self._index = SqlIndex(plan)
        self.database: Database = open_dedup_database(
            settings.database_url, SCHEME, str(settings.tables), settings.lock_timeout
        )

    def open_run(self, name: str) -> int:
        """Start a run, or go on with the one of this name; return its id."""
        with self.database.write() as connection:
            return ledger.open_run(connection, name)

    def close_run(self, run_id: int, outcome: str) -> None:
        """Note that a run has ended, and how."""
        with self.database.write() as connection:
            ledger.close_run(connection, run_id, outcome)

    def known_bodies(self, body_digests: Iterable[bytes]) -> set[bytes]:
        """Return those of the digests whose bytes were analysed before: no text is needed for them."""
        with self.database.read() as connection:
            return ledger.find_known_bodies(connection, body_digests)

    def decide(self, documents: Sequence[Document], run_id: int) -> list[Decision | None]:
        """Decide documents one after the other, and write what follows, in one transaction.

        Args:
            documents: the documents, in the order in which they count as seen.
            run_id: the run that the verdicts belong to.

        Returns:
            A decision for each document; None where neither signature nor bytes are known, so
            that the document has to be analysed first.

        Raises:
            DatabaseError: nothing of it was written.
        """
        with self.database.write() as connection:
            rows: list[dict[str, Any]] = []
            decisions = [self._decide(connection, document, run_id, rows) for document in documents]
            ledger.add_verdicts(connection, rows)
        return decisions

    def _decide(
        self, connection: Connection, document: Document, run_id: int, rows: list[dict[str, Any]]
    ) -> Decision | None:
        text_digest = None if document.signature is None else document.signature.text_digest
        relatives = ledger.find_relatives(connection, document.key, document.body_digest, text_digest)
        known = relatives.same_key
        if document.signature is None and relatives.same_body is None:
            return None
        content = _Content(document, relatives.same_body)
        match: _Match | None = None
        if known is not None and known.text_digest is not None and known.text_digest == content.text_digest:
            verdict = Verdict.UNCHANGED
            if known.leader_id is not None:
                leader = self._leader_of(connection, known)
                match = _Match(leader, leader)
            seen: dict[str, Any] = {"last_run_id": run_id}
            if document.body_digest is not None:
                seen["body_digest"] = document.body_digest
            ledger.change_document(connection, known.id, seen)
            document_id = known.id
        else:
            verdict = Verdict.NEW if known is None or known.text_digest is None else Verdict.UPDATED
            match = self._find_match(connection, document, content, relatives)
            document_id = self._store(connection, document, content, known=known, match=match, run_id=run_id)
        decision = _decision(verdict, content, match)
        rows.append(
            {
                "run_id": run_id,
                "document_id": document_id,
                "verdict": decision.verdict.value,
                "original_id": match.leader.id if match else None,
                "matched_id": match.member.id if match else None,
                "distance": decision.distance,
                "similarity": decision.similarity,
                "decided": time.time(),
            }
        )
        return decision

    def _find_match(
        self, connection: Connection, document: Document, content: _Content, relatives: Relatives
    ) -> _Match | None:
        own_id = None if relatives.same_key is None else relatives.same_key.id
        # Pages without text are alike only if they are the same to the byte.
        twin = relatives.same_text if content.sketch.tokens and document.signature else relatives.same_body
        if twin is not None and own_id is not None and own_id in (twin.id, twin.leader_id):
            twin = None
            if content.sketch.tokens and content.text_digest is not None:
                twin = ledger.find_by_text_outside_cluster(connection, content.text_digest, own_id)
        if twin is not None:
            return _Match(self._leader_of(connection, twin), twin)
        if document.signature is None or content.sketch.tokens < self._settings.min_tokens:
            return None
        return self._find_near_match(connection, document.signature, own_id)

    def _find_near_match(self, connection: Connection, signature: Signature, own_id: int | None) -> _Match | None:
        candidates = self._index.query(
            connection, signature.fingerprint, signature.margins, self._settings.max_candidates
        )
        if not candidates:
            return None
        stored = ledger.find_with_leaders(connection, [candidate.document_id for candidate in candidates])
        matches = [
            _Match(stored[member.leader_id] if member.leader_id else member, member)
            for member in (stored[candidate.document_id] for candidate in candidates)
            # A document that has changed is no duplicate of itself, nor of its own duplicates.
            if own_id is None or own_id not in (member.id, member.leader_id)
        ]
        if self._is_paper:
            return matches[0] if matches else None
        similarities = {match.member.id: compare(signature.sketch, match.member.sketch) for match in matches}
        alike = [match for match in matches if is_near_duplicate(similarities[match.member.id], self._settings)]
        # sorted is stable: of equally similar members the closest, and then the earliest, comes first.
        for match in sorted(alike, key=lambda match: -similarities[match.member.id].jaccard):
            if belongs_to_cluster(compare(signature.sketch, match.leader.sketch), self._settings):
                return match
        return None

    def _leader_of(self, connection: Connection, member: StoredDocument) -> StoredDocument:
        if member.leader_id is None:
            return member
        return ledger.find_with_leaders(connection, [member.id])[member.leader_id]

    def _store(
        self,
        connection: Connection,
        document: Document,
        content: _Content,
        *,
        known: StoredDocument | None,
        match: _Match | None,
        run_id: int,
    ) -> int:
        has_equal_text = match is not None and match.member.text_digest == content.text_digest
        indexed = (
            content.sketch.tokens >= self._settings.min_tokens
            # The text is in the tables once already; and the paper's crawler forgets duplicates.
            and not has_equal_text
            and not (self._is_paper and match is not None)
        )
        values: dict[str, Any] = {
            "body_digest": document.body_digest,
            "text_digest": content.text_digest,
            "text_bytes": content.text_bytes,
            "fingerprint": to_signed(content.fingerprint),
            "sketch": content.sketch.to_bytes(),
            "indexed": int(indexed),
            "leader_id": None if match is None else match.leader.id,
            "last_run_id": run_id,
        }
        if known is None:
            values |= {"key": document.key, "key_digest": ledger.key_digest(document.key)}
            document_id = ledger.add_document(connection, values)
        else:
            document_id = known.id
            self._forget_content(connection, known, content, stays_leader=match is None)
            ledger.change_document(connection, document_id, values)
        if indexed:
            self._index.add(connection, [(document_id, content.fingerprint)])
        return document_id

    def _forget_content(
        self, connection: Connection, known: StoredDocument, content: _Content, stays_leader: bool
    ) -> None:
        """Take a changed document's old content out of the tables, and free what relied on it."""
        if known.indexed:
            self._index.remove(connection, [(known.id, known.fingerprint)])
        old_text_is_indexed = not known.indexed
        for member in ledger.find_led_by(connection, known.id):
            if stays_leader and is_near_duplicate(compare(member.sketch, content.sketch), self._settings):
                if member.text_digest == known.text_digest and not old_text_is_indexed:
                    # Until now the changed document's entry stood for this equal text too.
                    self._index.add(connection, [(member.id, member.fingerprint)])
                    ledger.change_document(connection, member.id, {"indexed": 1})
                    old_text_is_indexed = True
                continue
            # Its content is no longer stored anywhere: without digests it is decided anew when it
            # is seen again, and without table entries nothing is dropped because of it.
            if member.indexed:
                self._index.remove(connection, [(member.id, member.fingerprint)])
            ledger.change_document(
                connection,
                member.id,
                {"leader_id": None, "text_digest": None, "body_digest": None, "indexed": 0},
            )


def _decision(verdict: Verdict, content: _Content, match: _Match | None) -> Decision:
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
    )
