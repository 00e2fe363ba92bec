"""Looking up in a saved index: what is like a text, or near a fingerprint?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dedup.corpus.saved.reader import SavedIndex
from dedup.index.memory import index_file
from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.probes import ProbePlan
from dedup.rules.documents import Match, StoredDocument
from dedup.rules.matcher import Asked, Matcher
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode
from dedup.rules.verification import is_comparable, plan_of
from dedup.signature.signature import Signature, distance
from dedup.signature.sketch import compare

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Hit:
    """A document that a look-up found.

    Attributes:
        key: what it is called; in a file of fingerprints alone the id of the document.
        distance: how many bits its fingerprint differs in.
        similarity: estimated Jaccard similarity; None where a fingerprint was looked up.
        is_duplicate: whether a document with this text would be dropped because of it; None likewise.
        is_similar: whether it would be kept as similar to it; None likewise.
        rule: what decides that, by its short name; None likewise.
        leader: the leader of its cluster, if it is a duplicate.
    """

    key: str
    distance: int
    similarity: float | None = None
    is_duplicate: bool | None = None
    is_similar: bool | None = None
    rule: str | None = None
    leader: str | None = None


class Query:
    """Looks up in a saved index.

    Args:
        saved: the index.

    Raises:
        IndexFileError: it is damaged.
    """

    def __init__(self, saved: SavedIndex) -> None:
        self._saved = saved
        self._settings = saved.settings
        self._matcher = Matcher(saved.settings)
        self._index = saved.fingerprints(plan_of(saved.settings))

    def like(self, signature: Signature) -> list[Hit]:
        """Return the candidates of a text as a crawl finds them: duplicates first, then similar ones, then others.

        Args:
            signature: that of the text, by the scheme of the index.
        """
        if not is_comparable(signature.sketch.tokens, signature.fingerprint, self._settings):
            # Such texts do not stand among the fingerprints: they are compared exactly.
            numbers = self._same_text(signature.text_digest) if signature.sketch.tokens else []
        else:
            limit = self._settings.max_candidates
            candidates = self._index.query(signature.fingerprint, signature.margins, limit)
            numbers = [each.document_id for each in candidates if each.document_id < len(self._saved)]
        found = [self._compared(signature, self._saved.stored(number)) for number in numbers]
        return sorted(found, key=_order)

    def _same_text(self, text_digest: bytes) -> list[int]:
        wanted = np.frombuffer(text_digest, np.uint64)
        digests = self._saved.rows["digest"]
        for start in range(0, len(digests), _ROWS_AT_ONCE):
            places = np.flatnonzero((digests[start : start + _ROWS_AT_ONCE] == wanted).all(axis=1))
            if len(places):
                return [start + int(places[0])]
        return []

    def _compared(self, signature: Signature, member: StoredDocument) -> Hit:
        leader = member if member.leader_id is None else self._saved.stored(member.leader_id)
        is_same = member.text_digest == signature.text_digest
        rule = Rule.SAME_TEXT if is_same else self._rule(signature, Match(leader, member))
        return Hit(
            key=member.key,
            distance=distance(signature.fingerprint, member.fingerprint),
            similarity=1.0 if is_same else compare(signature.sketch, member.sketch).jaccard,
            is_duplicate=rule.is_duplicate,
            is_similar=rule.is_similar,
            rule=rule.short,
            leader=None if leader is member else leader.key,
        )

    def _rule(self, signature: Signature, match: Match) -> Rule:
        if self._settings.mode is Mode.PAPER:
            return Rule.PAPER
        asked = Asked(signature.fingerprint, signature.margins, signature.sketch, lambda: signature.words)
        return self._matcher.decide(asked, match, lambda: self._saved.words(match.member.id))


def _order(hit: Hit) -> tuple[bool, bool, float, int]:
    return not hit.is_duplicate, not hit.is_similar, -(hit.similarity or 0), hit.distance


def find_near(
    path: Path, saved: SavedIndex | None, fingerprints: Sequence[int], radius: int, limit: int
) -> Iterator[list[Hit]]:
    """Yield for each fingerprint everything within a radius, the closest first.

    Args:
        path: the file of the fingerprints.
        saved: the index that it belongs to; None: there is none.
        fingerprints: 64 bits each, unsigned.
        radius: in bits.
        limit: how many are found of each at most.

    Raises:
        IndexFileError: the file is damaged.
        SettingsError: the radius takes too many probes.
    """
    scheme = index_file.read(path)[0].scheme
    index = MemoryIndex.open(path, ProbePlan(DESIGN, radius=radius, exact_radius=radius, weak_bits=0), scheme)
    results = index.query_many(np.array(fingerprints, np.uint64), limit=limit)
    ends = np.searchsorted(results.queries, np.arange(len(fingerprints)), side="right")
    first = 0
    for end in ends.tolist():
        found = zip(results.document_ids[first:end].tolist(), results.distances[first:end].tolist(), strict=True)
        yield [_hit(saved, number, bits) for number, bits in found]
        first = end


def _hit(saved: SavedIndex | None, number: int, bits: int) -> Hit:
    if saved is None or number >= len(saved):
        return Hit(str(number), bits)
    document = saved.stored(number)
    leader = None if document.leader_id is None else saved.key(document.leader_id)
    return Hit(document.key, bits, leader=leader)
