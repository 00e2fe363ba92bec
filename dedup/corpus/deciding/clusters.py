"""Known documents with the clusters that they belong to, as `dedup.rules.matcher` asks for them."""

from __future__ import annotations

from dedup.corpus.deciding.cluster_merges import ClusterMerges
from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.signing.words import WordSource
from dedup.rules.documents import Match, StoredDocument
from dedup.signature.sketch import Sketch


class KnownClusters:
    """Says of known documents what belongs to what.

    Args:
        known: the documents.
        merges: joins their clusters.
        source: gives their words.
    """

    def __init__(self, known: KnownDocuments, merges: ClusterMerges, source: WordSource) -> None:
        self._known = known
        self._merges = merges
        self._source = source

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster."""
        member = self._known.stored(number)
        return Match(member if member.leader_id is None else self._known.stored(member.leader_id), member)

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""
        return self._known.leader_of(number)

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they were not kept."""
        return self.words_of(document.id)

    def words_of(self, number: int) -> bytes:
        """Return the words of a document by its number; nothing where they were not kept."""
        kept = self._known.words(number)
        return kept and self._source.words(kept)

    def movable(self, joined: StoredDocument, leader: StoredDocument) -> list[Sketch] | None:
        """Return the sketches of a cluster that may join another one, but for its leader's; None if it may not."""
        members = self._merges.movable(joined.id)
        return None if members is None else [self._known.sketch(number) for number in members]

    def join(self, match: Match | None) -> None:
        """Let clusters that a document shows to be one be one."""
        if match is not None and match.joined is not None:
            self._merges.join(match.joined.id, match.leader.id)
