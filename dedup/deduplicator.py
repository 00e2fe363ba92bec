"""Candidates to verdict: is a document new, unchanged, updated, or a duplicate of which one?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from dedup import ledger
from dedup.brake import Alarm, Brakes
from dedup.clusters import Clusters
from dedup.database import Database, open_dedup_database
from dedup.decision import Decision, Verdict, decision_of
from dedup.documents import Content, Match, StoredDocument
from dedup.errors import DedupError
from dedup.fingerprint.normalise import clean
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import Signature
from dedup.index.opening import open_index
from dedup.joining import Joining
from dedup.matching import Matcher
from dedup.scope import Scopes
from dedup.settings import DedupSettings
from dedup.store import DocumentStore
from dedup.verification import plan_of

__all__ = ["Decision", "Deduplicator", "Document", "Verdict", "decision_of"]


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
    """

    key: str
    signature: Signature | None
    text_bytes: int = 0
    body_digest: bytes | None = None
    canonical: str | None = None
    redirected: bool = False


class Deduplicator:
    """Decides documents against all that a database has seen.

    Args:
        settings: how matches are found and decided, and in which database.

    Raises:
        DatabaseError: the database cannot be opened, or was made with another scheme or design.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self.scopes = Scopes(settings.scope)
        self._brakes = Brakes(settings)
        self._clusters = Clusters(settings, self._brakes)
        self.database: Database = open_dedup_database(
            settings.database_url,
            find_scheme(settings.scheme).name,
            str(settings.tables),
            settings.lock_timeout,
            settings.scope.value,
        )
        try:
            self._index = open_index(plan_of(settings), settings, self.database)
        except DedupError:
            self.database.close()
            raise
        self._joining = Joining(settings)
        self._matcher = Matcher(self._index, self.scopes, settings, self._joining)
        self._store = DocumentStore(self._index, self.scopes, settings)

    def close(self) -> None:
        """Save the index, if it is one in memory, and close the database."""
        self._index.close()
        self.database.close()

    def open_run(self, name: str) -> int:
        """Start a run, or go on with the one of this name; return its id."""
        with self.database.write() as connection:
            return ledger.open_run(connection, name)

    def close_run(self, run_id: int, outcome: str) -> None:
        """Note that a run has ended, and how."""
        with self.database.write() as connection:
            ledger.close_run(connection, run_id, outcome)

    def known_bodies(self, body_digests: Iterable[bytes]) -> set[bytes]:
        """Return those of the digests whose bytes were analysed before: no text is needed for them.

        Args:
            body_digests: digests of bytes, each as `scopes.mixed` makes it with its document's key.
        """
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
        with self._brakes.batch(), self.database.write() as connection:
            rows: list[dict[str, Any]] = []
            decisions = [self._decide(connection, document, run_id, rows) for document in documents]
            ledger.add_verdicts(connection, rows)
            self._brakes.write(connection)
        return decisions

    def let_go(self, keys: Iterable[str]) -> None:
        """Take documents that are there no more out of the index, in one transaction.

        Nothing is dropped because of them any more, and their duplicates are decided anew when
        they are seen again; so are all of a cluster whose leader's place they have taken. Keys that
        are not known are passed over.

        Raises:
            DatabaseError: nothing of it was written.
        """
        with self.database.write() as connection:
            for key in keys:
                if document := ledger.find_by_key(connection, key):
                    leader = self._clusters.leader_replaced_by(connection, document)
                    self._store.let_go(connection, leader or document)

    def find_undecided(self, after: int, most: int, run_id: int | None) -> list[tuple[int, str]]:
        """Return ids and keys of documents whose content has to be seen again, see `ledger.find_undecided`."""
        with self.database.read() as connection:
            return ledger.find_undecided(connection, after, most, run_id)

    def take_alarms(self) -> list[Alarm]:
        """Return the clusters and hosts that have gone over a limit since the last call."""
        return self._brakes.take_alarms()

    def _decide(
        self, connection: Connection, document: Document, run_id: int, rows: list[dict[str, Any]]
    ) -> Decision | None:
        document = self._scoped(document)
        text_digest = None if document.signature is None else document.signature.text_digest
        relatives = ledger.find_relatives(connection, document.key, document.body_digest, text_digest)
        content = _content(document, relatives.same_body)
        if content is None:
            return None
        known = relatives.same_key
        match: Match | None = None
        if known is not None and _is_unchanged(known, content):
            verdict = Verdict.UNCHANGED
            if known.leader_id is not None:
                leader = self._matcher.leader_of(connection, known)
                match = Match(leader, leader)
            self._store.note_seen(connection, known, content, run_id)
            document_id = known.id
        else:
            verdict = Verdict.NEW if known is None or known.text_digest is None else Verdict.UPDATED
            match = self._matcher.find(connection, document.key, document.signature, content, relatives, run_id=run_id)
            document_id = self._store.write(
                connection, document.key, content, relatives=relatives, match=match, run_id=run_id
            )
            if match is not None and match.joined is not None:
                ledger.add_verdicts(connection, rows)
                rows.clear()
                self._joining.carry_out(connection, match, match.joined, document_id, run_id)
            self._let_go_of_replaced(connection, known, match)
        outcome = self._clusters.settle(
            connection,
            run_id,
            document_id,
            document.key,
            content,
            known=known,
            match=match,
            is_unchanged=verdict is Verdict.UNCHANGED,
        )
        decision = replace(decision_of(verdict, content, match), outcome=outcome)
        # A page that was under way when its crawl was killed comes again; its verdict stands already.
        if verdict is not Verdict.UNCHANGED or known is None or known.last_run_id != run_id:
            rows.append(
                {
                    "run_id": run_id,
                    "document_id": document_id,
                    "verdict": decision.verdict.value,
                    "original_id": match.leader.id if match else None,
                    "matched_id": match.member.id if match else None,
                    "distance": decision.distance,
                    "similarity": decision.similarity,
                    "kept": outcome.kept and outcome.kept.value,
                    "decided": time.time(),
                }
            )
            self._brakes.count(run_id, document.key, is_duplicate=match is not None)
        return decision

    def _let_go_of_replaced(self, connection: Connection, known: StoredDocument | None, match: Match | None) -> None:
        """Let the cluster that a changed document has left be decided anew, if it had taken the leader's place."""
        clusters = set() if match is None else {match.leader.id, match.joined and match.joined.id}
        if known is None or known.leader_id in clusters:
            return
        if leader := self._clusters.leader_replaced_by(connection, known):
            self._store.let_go(connection, leader)

    def _scoped(self, document: Document) -> Document:
        if self.scopes.is_everything:
            return document
        key, signature, body_digest = document.key, document.signature, document.body_digest
        return replace(
            document,
            signature=signature and self.scopes.mixed_signature(key, signature),
            body_digest=body_digest and self.scopes.mixed(key, body_digest),
        )


def _content(document: Document, same_bytes: StoredDocument | None) -> Content | None:
    """Return what there is to store of a document: just analysed, or known by its bytes."""
    source = document.signature or same_bytes
    if source is None or source.text_digest is None:
        return None
    text_bytes = document.text_bytes if same_bytes is None or document.signature else same_bytes.text_bytes
    words = b"" if document.signature is None else document.signature.words
    canonical = clean(document.canonical) if document.canonical else document.key
    return Content(
        source.text_digest,
        source.fingerprint,
        source.sketch,
        text_bytes,
        document.body_digest,
        words,
        None if canonical == document.key else ledger.key_digest(canonical),
        document.redirected,
    )


def _is_unchanged(known: StoredDocument, content: Content) -> bool:
    if known.text_digest != content.text_digest:
        return False
    # A page without text that was dropped because of its bytes has to be looked at when these change.
    return bool(content.sketch.tokens) or known.leader_id is None or known.body_digest == content.body_digest
