"""Several saved indexes made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.saved.index import SavedIndex
from dedup.corpus.state import differing_settings
from dedup.errors import InputError
from dedup.progress import track
from dedup.rules.documents import StoredDocument
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import belongs_to_cluster, is_comparable
from dedup.signature.signature import digest
from dedup.signature.sketch import compare


@dataclass
class Merged:
    """What became of the documents of some indexes.

    Attributes:
        documents: how many each index had.
        added: how many of each are in the new one; the contents of the others were there.
        same_keys: how many documents have a key that another one with another content has, too.
    """

    documents: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    same_keys: int = 0


def require_mergeable(sources: Sequence[SavedIndex]) -> None:
    """Refuse indexes whose documents were decided in different ways.

    Raises:
        InputError: they were made with different settings.
    """
    first = sources[0]
    for other in sources[1:]:
        names = differing_settings(other.named_settings, first.named_settings)
        if names:
            raise InputError(f"{other.folder}: made with other settings than {first.folder} ({names}); build it anew")


def merge(sources: Sequence[SavedIndex], known: KnownDocuments) -> Merged:
    """Add the documents of some indexes, one index behind the other.

    Nothing is decided anew. Of equal contents the first stands, under its key; a key is but a name, so
    that documents of one key and different contents all stand. What belonged to a cluster whose leader is
    a duplicate in an earlier index joins that one's cluster if it is near enough to its leader, and
    otherwise leads a cluster of its own.

    Args:
        sources: the indexes, made with the same settings.
        known: where the documents are added.
    """
    merged = Merged()
    keys: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
    for source in sources:
        before = len(known)
        keys.append(_add(source, known))
        merged.documents.append(len(source))
        merged.added.append(len(known) - before)
    of_all = np.concatenate(keys)
    merged.same_keys = len(of_all) - len(np.unique(of_all))
    return merged


def _add(source: SavedIndex, known: KnownDocuments) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Add the documents of an index; return a hash of the key of each that was added."""
    settings = source.settings
    numbers = np.empty(len(source), np.int64)
    keys = np.empty(len(source), np.uint64)
    added = 0
    for document, words, bands in track(source.documents(), "merging", len(source)):
        assert document.text_digest is not None
        found = known.find(document.text_digest)
        if found is None:
            leader = None if document.leader_id is None else int(numbers[document.leader_id])
            leader = _leader(document, leader, known, settings)
            # In the paper's mode no duplicate is indexed; this may be none any more.
            indexed = document.indexed or (leader is None and is_comparable(document.sketch.tokens, settings))
            found = known.add(
                document.key,
                document.text_digest,
                document.fingerprint,
                document.sketch,
                bands,
                words=words,
                leader=leader,
                indexed=indexed,
            )
            keys[added] = np.frombuffer(digest(document.key.encode()), np.uint64)[0]
            added += 1
        numbers[document.id] = found
    return keys[:added]


def _leader(document: StoredDocument, leader: int | None, known: KnownDocuments, settings: RuleSettings) -> int | None:
    """Return who leads a document now, by the number that stands for its leader's content; nobody is led by a copy."""
    if leader is None:
        return None
    stored = known.stored(leader)
    if stored.leader_id is None:
        return leader
    similarity = compare(document.sketch, known.stored(stored.leader_id).sketch)
    return stored.leader_id if belongs_to_cluster(similarity, settings) else None
