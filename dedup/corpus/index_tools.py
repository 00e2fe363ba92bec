"""Saved indexes: described and queried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dedup.corpus.index import FORMAT, SavedIndex
from dedup.corpus.tally import about_settings, differing_settings
from dedup.keys import choose
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.matcher import Candidate, Matcher
from dedup.rules.pair import Pair
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Signature, compare, distance


@dataclass(frozen=True)
class Contents:
    """The contents of an index.

    Attributes:
        path: where it is.
        format: the version of the folder's format.
        scheme: name and version of the way the signatures were made.
        design: the table design.
        settings: the settings that are not the defaults; empty: all are.
        documents: how many there are, of different contents.
        leaders: how many of them are originals.
        duplicates: how many are duplicates of these.
        files: how many files its documents are in.
        bytes: how many bytes these have.
    """

    path: str
    format: int
    scheme: str
    design: str
    settings: str
    documents: int
    leaders: int
    duplicates: int
    files: int
    bytes: int


def read_contents(path: Path) -> Contents:
    """Describe an index.

    Args:
        path: the folder of a saved index.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged.
    """
    saved = SavedIndex(path)
    duplicates = sum(len(batch) - batch.column("leader").null_count for _, batch in saved.batches(["leader"]))
    return Contents(
        path=str(path),
        format=FORMAT,
        scheme=saved.named_settings["scheme"],
        design=str(saved.settings.tables),
        settings=differing_settings(saved.named_settings, about_settings(RuleSettings())),
        documents=len(saved),
        leaders=len(saved) - duplicates,
        duplicates=duplicates,
        files=len(saved.files),
        bytes=sum(each.stat().st_size for each in saved.files),
    )


@dataclass(frozen=True)
class Hit:
    """A document that a look-up found.

    Attributes:
        key: what it is called.
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


class IndexQuery:
    """Looks up texts in a saved index.

    Args:
        saved: the index.
    """

    def __init__(self, saved: SavedIndex) -> None:
        self._saved = saved
        self._settings = saved.settings
        self._keys = saved.settings.keys
        self._matcher = Matcher(saved.settings)

    def like(self, signature: Signature) -> list[Hit]:
        """Return the candidates of a text as a crawl finds them: duplicates first, then similar ones, then others.

        Args:
            signature: that of the text, by the scheme of the index.
        """
        if signature.sketch.tokens >= self._settings.fewest_tokens:
            found = self._near(signature)
        else:
            # Such texts do not stand in the index: they are compared exactly.
            found = self._same_text(signature) if signature.sketch.tokens else []
        return sorted(found, key=_order)

    def _near(self, signature: Signature) -> list[Hit]:
        chosen = choose(self._sharing(signature), self._keys)
        stored = {number: self._saved.stored(number) for number, _ in chosen}
        candidates = (
            Candidate(number, stored[number].fingerprint, stored[number].sketch, shares_band)
            for number, shares_band in chosen
        )
        near = self._matcher.near(signature.fingerprint, candidates)
        worth_it = set(self._matcher.rank(signature.sketch, near))
        return [self._compared(signature, stored[each.number], is_worth_it=each.number in worth_it) for each in near]

    def _sharing(self, signature: Signature) -> list[tuple[int, list[int]]]:
        """Return the number of each key that is shared, and who shares it, as `choose` wants them."""
        [query] = self._keys.of(np.array([signature.fingerprint], np.uint64), signature.bands[np.newaxis])
        found: list[list[int]] = [[] for _ in query]
        for numbers, fingerprints, bands in self._saved.keyed():
            places, shared = np.nonzero(self._keys.of(fingerprints, bands) == query)
            for place, key in zip(places.tolist(), shared.tolist(), strict=True):
                if len(found[key]) < self._keys.most_read:
                    found[key].append(int(numbers[place]))
        return [(key, documents) for key, documents in enumerate(found) if documents]

    def _same_text(self, signature: Signature) -> list[Hit]:
        low, high = np.frombuffer(signature.text_digest, np.int64)
        for start, batch in self._saved.batches(("low", "high")):
            lows, highs = (batch.column(name).to_numpy() for name in ("low", "high"))
            places = np.flatnonzero((lows == low) & (highs == high))
            if len(places):
                return [self._compared(signature, self._saved.stored(start + int(places[0])), is_worth_it=True)]
        return []

    def _compared(self, signature: Signature, member: StoredDocument, *, is_worth_it: bool) -> Hit:
        leader = member if member.leader_id is None else self._saved.stored(member.leader_id)
        is_same = member.text_digest == signature.text_digest
        rule = Rule.SAME_TEXT if is_same else self._rule(signature, Match(leader, member), is_worth_it=is_worth_it)
        return Hit(
            key=member.key,
            distance=distance(signature.fingerprint, member.fingerprint),
            similarity=1.0 if is_same else compare(signature.sketch, member.sketch).jaccard,
            is_duplicate=rule.is_duplicate,
            is_similar=rule.is_similar,
            rule=rule.short,
            leader=None if leader is member else leader.key,
        )

    def _rule(self, signature: Signature, match: Match, *, is_worth_it: bool) -> Rule:
        if self._settings.mode is Mode.PAPER:
            return Rule.PAPER
        if not is_worth_it:
            return Rule.NOT_ALIKE
        return decide(Pair(Content.of(signature), match, self._settings, lambda each: self._saved.words(each.id)))


def _order(hit: Hit) -> tuple[bool, bool, float, int]:
    return not hit.is_duplicate, not hit.is_similar, -(hit.similarity or 0), hit.distance


def find_near(saved: SavedIndex, fingerprints: Sequence[int], radius: int, limit: int) -> list[list[Hit]]:
    """Return for each fingerprint what stands in an index within a radius, the closest first.

    Args:
        saved: the index.
        fingerprints: 64 bits each, unsigned.
        radius: in bits, 0 to 64.
        limit: how many are found of each at most; of equally close ones the earliest.
    """
    query = np.array(fingerprints, np.uint64)
    closest: list[list[tuple[int, int]]] = [[] for _ in fingerprints]
    for numbers, stored, _ in saved.keyed():
        for place, fingerprint in enumerate(query):
            distances = np.bitwise_count(stored ^ fingerprint)
            within = np.flatnonzero(distances <= radius)
            nearest = within[np.argsort(distances[within], kind="stable")[:limit]]
            found = zip(distances[nearest].tolist(), numbers[nearest].tolist(), strict=True)
            closest[place] = sorted([*closest[place], *found])[:limit]
    return [[_hit(saved, number, bits) for bits, number in found] for found in closest]


def _hit(saved: SavedIndex, number: int, bits: int) -> Hit:
    document = saved.stored(number)
    leader = None if document.leader_id is None else saved.key(document.leader_id)
    return Hit(document.key, bits, leader=leader)
