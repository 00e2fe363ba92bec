"""Signature to verdict for the documents of a corpus: the rules of `dedup.rules.matcher`, on documents known in arrays.

The verdicts are those that `Deduplicator` gives for the same documents in the same order, if every
document has a key of its own. Here a key is but a name: two records of one key are two documents, and
the second one may be a copy of the first, as any other. (In a crawl a key is a page, which is looked at
again; what a file said of a key before has been written already and cannot be taken back.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.deciding.clusters import ClusterMerges, KnownClusters, asked_of, content_of
from dedup.corpus.deciding.key_map import NOBODY, Found, KeyMap, find_candidates, find_closest, find_contents
from dedup.corpus.deciding.known import NOWHERE, Block, KnownDocuments, Lengths
from dedup.corpus.signing.batches import SignedBatch
from dedup.corpus.signing.words import WordSource
from dedup.rules.decision import Decision, Verdict, decision_of
from dedup.rules.documents import Answer, Match
from dedup.rules.matcher import Matcher
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import fewest_tokens, keys_of

_COLUMNS = ("fingerprint", "minima", "shingles", "tokens")


class Related(NamedTuple):
    """A document that is a copy of one before it, or resembles one.

    Attributes:
        place: its place in the batch.
        decision: the decision on it.
        leader: the number of the leader of the cluster that it belongs to, or resembles.
    """

    place: int
    decision: Decision
    leader: int


class CorpusDeduplicator:
    """Decides documents one after the other.

    Args:
        settings: how matches are found and decided.
        folder: where is kept what does not stand in memory.
        lengths: what the last checkpoint returned; nothing: begin anew.
        words: gives the words of documents.

    Raises:
        InputError: the files in the folder are not what the checkpoint says.
    """

    def __init__(
        self,
        settings: RuleSettings,
        folder: Path,
        lengths: Lengths | None = None,
        words: WordSource | None = None,
    ) -> None:
        self._source = words or WordSource()
        self._is_paper = settings.mode is Mode.PAPER
        self._fewest_tokens = fewest_tokens(settings)
        self._needed = Thresholds.of(settings)
        self._matcher = Matcher(settings)
        self._known = KnownDocuments(folder, lengths)
        self._keys = KeyMap(keys_of(settings))
        self._merges = ClusterMerges(self._known, folder, lengths or Lengths())
        self._clusters = KnownClusters(self._known, self._merges, self._source)
        known = self._known.rows
        self._keys.add_many(known["fingerprint"], self._known.saved_bands(), known["indexed"])

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the documents take, with their keys."""
        return self._known.nbytes + self._keys.nbytes

    def __len__(self) -> int:
        """How many different contents are known."""
        return len(self._known)

    def decide(self, batch: SignedBatch) -> list[Related]:
        """Decide the documents of a batch, one after the other, and know them from now on.

        Args:
            batch: the documents, and their signatures.

        Returns:
            Those that are duplicates or similar to others, in their order; all others are new.
        """
        found, comparable = self._enter(batch)
        if self._is_paper:
            return list(self._decide_by_paper(batch, found, comparable))
        return list(self._decide(batch, found))

    def decide_one(self, batch: SignedBatch) -> Decision:
        """Decide a batch of one document, new or not, and know it from now on."""
        for related in self.decide(batch):
            return related.decision
        return Decision(Verdict.NEW, text_bytes=int(batch.rows["text_bytes"][0]))

    def leaders_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the leaders of the clusters that documents belong to now, each of which may be the document itself."""
        leaders: NDArray[np.int64] = self._known.rows["leader"][numbers]
        return np.where(leaders == NOWHERE, numbers, leaders)

    def key(self, number: int) -> str:
        """Return the key of a document by its number."""
        return self._known.key(number)

    def keys(self, numbers: NDArray[np.int64]) -> Iterator[str]:
        """Yield the keys of some documents by their numbers."""
        return self._known.keys(numbers)

    def blocks(self, at_once: int) -> Iterator[Block]:
        """Yield all documents up to the last checkpoint as a saved index has them, some at a time."""
        return self._known.blocks(at_once)

    def words_of(self, number: int) -> bytes:
        """Return the words of a document by its number; nothing where they were not kept."""
        return self._clusters.words_of(number)

    def checkpoint(self) -> Lengths:
        """Make all of it safe; return what a resumed run begins with."""
        return self._merges.checkpoint()

    def close(self) -> None:
        """Close the files."""
        self._source.close()
        self._known.close()
        self._merges.close()

    def _enter(self, batch: SignedBatch) -> tuple[Found, NDArray[np.bool_]]:
        """Know what documents hold, and look up their keys.

        Returns:
            What was found; and which documents can be near-duplicates.
        """
        first, buffers, found = len(self._known), self._known.buffers(len(batch)), Found.room(len(batch))
        digests = np.ascontiguousarray(batch.rows["digest"])
        end = find_contents(digests, batch.has_digest, buffers.slots, buffers.rows["digest"], first, found)
        comparable = batch.rows["tokens"] >= self._fewest_tokens
        entered = np.flatnonzero(found.numbers >= 0)
        has_words = comparable[entered] & (not self._is_paper)
        rows = buffers.rows[first:end]
        for name in _COLUMNS:
            rows[name] = batch.rows[name][entered]
        rows["leader"], rows["indexed"] = NOWHERE, comparable[entered]
        self._known.entered(
            batch.keys_of(entered),
            batch.key_bytes[entered],
            batch.words_of(entered[has_words]),
            np.where(has_words, batch.word_bytes[entered], 0),
            batch.rows["bands"][entered].tobytes(),
        )
        if not self._is_paper:
            hashes = self._keys.hashes(batch.rows["fingerprint"], batch.rows["bands"])
            chains, known = self._keys.room(end), self._known
            find_candidates(chains, hashes, known.rows["fingerprint"], comparable, known.sketches, self._needed, found)
        return found, comparable

    def _decide(self, batch: SignedBatch, found: Found) -> Iterator[Related]:
        """Decide the documents of a batch that have a known content, or candidates."""
        has_candidates = np.diff(found.ends, prepend=0) > 0
        for place in np.flatnonzero(has_candidates | (found.twins >= 0)).tolist():
            if (twin := int(found.twins[place])) >= 0:
                yield self._related(batch, place, self._copy_of(batch, place, twin))
                continue
            number = int(found.numbers[place])
            self._merges.decided = number
            asked = asked_of(batch.signed(place), batch.key(place), self._source)
            answer = self._matcher.find_among(asked, found.candidates_of(place), self._clusters)
            self._clusters.join(answer.match)
            if answer.match is not None:
                self._known.rows["leader"][number] = answer.match.leader.id
            if answer.lost.is_long:
                self._clusters.pass_on(number)
            if answer.match or answer.similar:
                yield self._related(batch, place, answer)

    def _decide_by_paper(self, batch: SignedBatch, found: Found, comparable: NDArray[np.bool_]) -> Iterator[Related]:
        """Decide the documents of a batch one after the other: who is looked up depends on what was dropped."""
        rows = self._known.rows
        fingerprints, bands = batch.rows["fingerprint"], batch.rows["bands"]
        hashes = self._keys.hashes(fingerprints, bands)
        for place, (number, twin) in enumerate(zip(found.numbers.tolist(), found.twins.tolist(), strict=True)):
            if twin >= 0:
                yield self._related(batch, place, self._copy_of(batch, place, twin))
            if number < 0:
                continue
            closest = NOBODY
            chains = self._keys.room(number + 1)
            if comparable[place]:
                closest = find_closest(chains, hashes[place], rows["fingerprint"], fingerprints[place])
            if closest >= 0:
                match = replace(self._clusters.match(closest), rule=Rule.PAPER)
                rows["leader"][number], rows["indexed"][number] = match.leader.id, 0
                yield self._related(batch, place, Answer(match))
            self._keys.add(number, hashes[place], is_found=bool(rows["indexed"][number]))

    def _copy_of(self, batch: SignedBatch, place: int, twin: int) -> Answer:
        """Say that a document has the content of a known one."""
        match = self._clusters.match(twin)
        rule = Rule.SAME_TEXT if batch.rows["tokens"][place] else Rule.SAME_BYTES
        return Answer(Match(match.leader, match.member, rule=rule))

    def _related(self, batch: SignedBatch, place: int, answer: Answer) -> Related:
        match = answer.match or answer.similar
        assert match is not None
        return Related(place, decision_of(Verdict.NEW, content_of(batch.signed(place)), answer), match.leader.id)
