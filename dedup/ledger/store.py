"""Writing a decided document: its row, its table entries, and what relied on its old content.

Three things hold after every write, whatever came before:

- every known text that is comparable (`dedup.rules.verification.is_comparable`: long enough)
  stands in the permuted tables exactly once, whichever of the documents that have it stands for it (in the
  paper's mode: only originals do);
- the words of these texts are stored (in the paper's mode: none are);
- every duplicate is a duplicate of what its leader holds now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from dedup.index.keys import RADIUS
from dedup.ledger import document_rows
from dedup.ledger.batch import Batch
from dedup.ledger.document_rows import Relatives
from dedup.ledger.forget import forget, keys_of
from dedup.ledger.identity import Identity
from dedup.ledger.key_table import KeyTable
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.scope import Scopes
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.verification import check, is_comparable
from dedup.signature.normalise import clean
from dedup.signature.signature import distance
from dedup.sql.schema import to_signed


class DocumentStore:
    """Writes documents and keeps the permuted tables in step."""

    def __init__(self, keys: KeyTable, scopes: Scopes, settings: DedupSettings) -> None:
        self._keys = keys
        self._settings = settings
        self._scopes = scopes

    def note_seen(self, connection: Connection, known: StoredDocument, content: Content, run_id: int) -> None:
        """Note that a document was seen again with the same text."""
        values: dict[str, Any] = {"last_run_id": run_id}
        if content.canonical_digest != known.canonical_digest or content.redirected > known.redirected:
            values["canonical_digest"] = content.canonical_digest
            values["redirected"] = int(known.redirected or content.redirected)
        if content.title and content.title != known.title:
            values["title"] = content.title
        if content.body_digest is not None and content.body_digest != known.body_digest:
            values["body_digest"] = content.body_digest
            if not content.sketch.tokens:
                values["content_run_id"] = run_id
                self._free(connection, document_rows.find_led_by(connection, known.id))
        document_rows.change_document(connection, known.id, values)

    def write(
        self, batch: Batch, identity: Identity, content: Content, *, relatives: Relatives, match: Match | None
    ) -> int:
        """Store a document that is new or has changed; return its id."""
        connection, run_id = batch.connection, batch.run_id
        known = relatives.same_key
        is_known_text = relatives.same_text is not None or (
            match is not None and match.member.text_digest == content.text_digest
        )
        indexed = known is None and not is_known_text and self._belongs_in_tables(content, match)
        values: dict[str, Any] = {
            "space": identity.place,
            "body_digest": content.body_digest,
            "title": content.title,
            "text_digest": content.text_digest,
            "text_bytes": content.text_bytes,
            "fingerprint": to_signed(content.fingerprint),
            "sketch": content.sketch.to_bytes(),
            "indexed": int(indexed),
            "leader_id": None if match is None else match.leader.id,
            "canonical_digest": content.canonical_digest,
            "redirected": int(content.redirected or (known is not None and known.redirected)),
            "last_run_id": run_id,
            "content_run_id": run_id,
        }
        if not is_known_text and self._has_words(content):
            batch.add_words(content.text_digest, content.words)
        if known is not None:
            batch.flush()
            document_rows.change_document(connection, known.id, {**values, **_as_member(match)})
            self._leave_old_content(connection, known, identity.place, content, leads_still=match is None)
            return known.id
        document_id = batch.add_document(
            {
                **values,
                "key": clean(identity.key),
                "key_digest": identity.key_digest,
                "given_digest": identity.given_digest,
                "first_run_id": run_id,
            }
        )
        if indexed:
            # Who has no signature has the bytes, and so the text, of a document that is known.
            assert content.keys is not None
            self._keys.add(connection, document_id, content.keys)
        return document_id

    def let_go(self, connection: Connection, document: StoredDocument) -> list[int]:
        """Take a document that is there no more out of the index; its duplicates are to be decided anew.

        Its row stays, for the verdicts that speak of it. Returns the numbers of all of them.
        """
        freed = [*document_rows.find_led_by(connection, document.id), document]
        self._free(connection, freed)
        return [each.id for each in freed]

    def _has_words(self, content: Content) -> bool:
        is_compared = self._settings.mode is not Mode.PAPER and self._is_comparable(content)
        return is_compared and bool(content.words)

    def _belongs_in_tables(self, content: Content, match: Match | None) -> bool:
        # The paper's crawler forgets duplicates.
        return self._is_comparable(content) and not (match and self._settings.mode is Mode.PAPER)

    def _is_comparable(self, content: Content | StoredDocument) -> bool:
        return is_comparable(content.sketch.tokens, self._settings)

    def _leave_old_content(
        self, connection: Connection, known: StoredDocument, place: str, content: Content, *, leads_still: bool
    ) -> None:
        if known.indexed:
            self._keys.remove(connection, [(known.id, keys_of(connection, self._keys, known, self._scopes))])
        members = document_rows.find_led_by(connection, known.id)
        leads_still = leads_still and known.space == place
        lost = [each for each in members if not (leads_still and self._is_still_duplicate(connection, each, content))]
        self._free(connection, lost)
        self._index_texts(connection, [known.text_digest, content.text_digest])

    def _is_still_duplicate(self, connection: Connection, member: StoredDocument, content: Content) -> bool:
        if not content.sketch.tokens:
            return member.body_digest is not None and member.body_digest == content.body_digest
        if member.text_digest == content.text_digest:
            return True
        if not (self._is_comparable(member) and self._is_comparable(content)):
            return False
        if self._settings.mode is Mode.PAPER:
            return distance(member.fingerprint, content.fingerprint) <= RADIUS

        # Of bytes that were known already there is only what is stored.
        own = content.words or document_rows.find_words(connection, content.text_digest)
        return check(document_rows.find_words(connection, member.text_digest), own, self._settings).is_duplicate

    def _free(self, connection: Connection, members: list[StoredDocument]) -> None:
        """Let go of duplicates whose original is gone."""
        forget(connection, self._keys, self._scopes, members)

    def _index_texts(self, connection: Connection, text_digests: Iterable[bytes | None]) -> None:
        """Let one of the documents that have a text stand for it in the tables, if none does; forget what none has."""
        for text_digest in {each for each in text_digests if each is not None}:
            heir = document_rows.find_for_tables(
                connection, text_digest, originals_only=self._settings.mode is Mode.PAPER
            )
            if heir is None:
                document_rows.remove_words(connection, text_digest)
            elif not heir.indexed and self._is_comparable(heir):
                self._keys.add(connection, heir.id, keys_of(connection, self._keys, heir, self._scopes))
                document_rows.change_document(connection, heir.id, {"indexed": 1})


def _as_member(match: Match | None) -> dict[str, Any]:
    """Return what a changed document can no longer say of a cluster: a duplicate leads none."""
    return {"keeper_id": None, "exported_id": None} if match else {}
