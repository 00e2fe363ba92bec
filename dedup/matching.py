"""Signature to match: which document, if any, another one is a duplicate of."""

from __future__ import annotations

import logging
from functools import partial

from sqlalchemy import Connection

from dedup import ledger
from dedup.display import plain
from dedup.fingerprint.signature import Signature
from dedup.fingerprint.sketch import compare
from dedup.identity import Identity
from dedup.index.protocol import Index
from dedup.joining import Joining
from dedup.ledger import Relatives
from dedup.rules.confirmation import Confirmation
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.scope import Scopes
from dedup.rules.verification import fewest_tokens, has_features, is_worth_checking
from dedup.settings import DedupSettings, Mode

logger = logging.getLogger(__name__)

_MORE = 4


class Matcher:
    """Finds what a document is a duplicate of.

    Args:
        index: the permuted tables.
        scopes: how far is looked.
        settings: how matches are found and confirmed.
        joining: says where a document shows two clusters to be one.
    """

    def __init__(self, index: Index, scopes: Scopes, settings: DedupSettings, joining: Joining) -> None:
        self._index = index
        self._scopes = scopes
        self._settings = settings
        self._is_paper = settings.mode is Mode.PAPER
        self._confirmation = Confirmation(settings)
        self._joining = joining
        self._has_said_without_features = False

    def find(
        self,
        connection: Connection,
        identity: Identity,
        signature: Signature | None,
        content: Content,
        relatives: Relatives,
        *,
        run_id: int,
    ) -> Match | None:
        """Return what a document is a duplicate of.

        Args:
            connection: inside a transaction.
            identity: what the document is known by.
            signature: its signature; None where its bytes are known already.
            content: what there is to store of it.
            relatives: what is stored of it, and what has the same bytes or text.
            run_id: the run that it was seen in.
        """
        own_id = None if relatives.same_key is None else relatives.same_key.id
        # Pages without text are alike only if they are the same to the byte.
        twin = relatives.same_text if content.sketch.tokens and signature else relatives.same_body
        if twin is not None and own_id is not None and own_id in (twin.id, twin.leader_id):
            twin = None
            if content.sketch.tokens:
                twin = ledger.find_by_text_outside_cluster(connection, content.text_digest, own_id)
        if twin is not None:
            return Match(self.leader_of(connection, twin), twin)
        if signature is None or content.sketch.tokens < fewest_tokens(self._settings):
            return None
        if not has_features(signature.fingerprint, self._settings):
            self._say_without_features(identity.key)
            return None
        return self._find_near(connection, identity, signature, own_id, run_id)

    def leader_of(self, connection: Connection, member: StoredDocument) -> StoredDocument:
        """Return the leader of a document's cluster, which may be itself."""
        if member.leader_id is None:
            return member
        return ledger.find_with_leaders(connection, [member.id])[member.leader_id]

    def _find_near(
        self, connection: Connection, identity: Identity, signature: Signature, own_id: int | None, run_id: int
    ) -> Match | None:
        matches = [
            match
            for match in self._candidates(connection, identity, signature)
            # A document that has changed is no duplicate of itself, nor of its own duplicates.
            if own_id is None or own_id not in (match.member.id, match.member.leader_id)
        ]
        if self._is_paper:
            return matches[0] if matches else None
        sketch = signature.sketch
        similarities = {match.member.id: compare(sketch, match.member.sketch) for match in matches}
        # sorted is stable: of equally similar members the closest, and then the earliest, comes first.
        ranked = sorted(matches, key=lambda match: -similarities[match.member.id].jaccard)
        is_confirmed = partial(self._is_confirmed, connection, signature)
        for place, match in enumerate(ranked):
            if is_confirmed(match):
                others = [
                    each
                    for each in ranked[place + 1 :]
                    if is_worth_checking(sketch, each.member.sketch, similarities[each.member.id], self._settings)
                ]
                return self._joining.find(connection, match, others, is_confirmed, run_id)
        return None

    def _say_without_features(self, key: str) -> None:
        if not self._has_said_without_features:
            self._has_said_without_features = True
            logger.warning(
                "dedup: scheme '%s' finds no feature in the text of %s, which is therefore compared exactly and in no "
                "other way, as all such texts are (said once); DEDUP_SCHEME = 'words' suits all languages",
                self._settings.scheme,
                plain(key),
            )

    def _candidates(self, connection: Connection, identity: Identity, signature: Signature) -> list[Match]:
        """Return the closest documents in the document's scope that the index brings, the closest first."""
        key, space = identity.key, identity.space
        fingerprint = signature.fingerprint ^ self._scopes.mask(key, space)
        scope = self._scopes.of(key, space)
        limit = asked = self._settings.max_candidates
        while True:
            candidates = self._index.query(connection, fingerprint, signature.margins, asked)
            if not candidates:
                return []
            stored = ledger.find_with_leaders(connection, [candidate.document_id for candidate in candidates])
            members = [stored[candidate.document_id] for candidate in candidates]
            members = [member for member in members if self._scopes.of(member.key, member.space) == scope]
            # Those of other scopes, which are few, must not take the places of those that count.
            if len(members) >= limit or len(candidates) < asked:
                return [
                    Match(stored[member.leader_id] if member.leader_id else member, member)
                    for member in members[:limit]
                ]
            asked *= _MORE

    def _is_confirmed(self, connection: Connection, signature: Signature, match: Match) -> bool:
        return self._confirmation.holds(
            signature.fingerprint,
            signature.sketch,
            match,
            lambda: signature.words,
            lambda: ledger.find_words(connection, match.member.text_digest),
        )
