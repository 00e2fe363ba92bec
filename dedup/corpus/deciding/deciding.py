"""Signature to verdict for the documents of a corpus: the rules of `dedup.rules.matcher`, on documents known in arrays.

The verdicts are those that `Deduplicator` gives for the same documents in the same order, if every
document has a key of its own. Here a key is but a name: two records of one key are two documents, and
the second one may be a copy of the first, as any other. (In a crawl a key is a page, which is looked at
again; what a file said of a key before has been written already and cannot be taken back.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.candidates.candidates import Candidates
from dedup.corpus.candidates.look_up import Closest, Stored
from dedup.corpus.deciding.asking import asked_of, compiled_matcher, content_of
from dedup.corpus.deciding.batch_kernel import COPY, TWIN, UNDECIDED, Decided, Ends, Lines, Rows, Rules, decide_batch
from dedup.corpus.deciding.cluster_merges import ClusterMerges
from dedup.corpus.deciding.clusters import KnownClusters
from dedup.corpus.deciding.known import NOWHERE, KnownDocuments, Lengths
from dedup.corpus.signing.batches import SignedBatch
from dedup.corpus.signing.words import WordSource
from dedup.rules.decision import Decision, Verdict, decision_of
from dedup.rules.rule import Rule
from dedup.rules.settings import RuleSettings


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
        threads: how many look for candidates at the same time.

    Raises:
        SettingsError: the table design is none that the index in memory has.
        InputError: the files in the folder are not what the checkpoint says.
    """

    def __init__(
        self,
        settings: RuleSettings,
        folder: Path,
        lengths: Lengths | None = None,
        words: WordSource | None = None,
        threads: int = 1,
    ) -> None:
        self._source = words or WordSource()
        self._rules = Rules.of(settings)
        self._index = Candidates(settings, threads)
        self._matcher = compiled_matcher(settings)
        self._known = KnownDocuments(folder, lengths)
        self._merges = ClusterMerges(self._known, folder, lengths or Lengths())
        self._clusters = KnownClusters(self._known, self._merges, self._source)
        if len(self._known):
            self._index.add_many(*self._known.indexed)

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the documents take, index included."""
        return self._known.nbytes + self._index.nbytes

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
        count = len(batch)
        buffers = self._known.buffers(count)
        entering = _Entering(
            Lines(
                # A column of one row counts as contiguous, one of more as not: two types, and all compiled twice.
                **{name: np.ascontiguousarray(batch.rows[name]) for name in Lines._fields[:-3]},
                key_bytes=batch.key_bytes,
                word_bytes=batch.word_bytes,
                has_digest=batch.has_digest,
            ),
            Rows(
                **{name: buffers.rows[name] for name in Rows._fields[:-2]}, briefs=buffers.briefs, slots=buffers.slots
            ),
            self._index.room(count),
        )
        ends = Ends(len(self._known), len(self._index), buffers.keys_end, buffers.words_end)
        decided = Decided.room(count)
        related: list[Related] = []
        at_once = self._index.at_once(count)
        for first in range(0, count, at_once):
            span = slice(first, first + at_once)
            closest = self._index.find(batch.rows["fingerprint"][span], batch.rows["margins"][span], first)
            ends = self._decide_some(batch, decided, entering, closest=closest, ends=ends, related=related)
            self._index.entered(ends.stored)
        # No place comes twice, so that nothing else is compared.
        return sorted([*self._copies(batch, decided), *related])

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
        self._index.close()

    def _decide_some(
        self,
        batch: SignedBatch,
        decided: Decided,
        entering: _Entering,
        *,
        closest: Closest,
        ends: Ends,
        related: list[Related],
    ) -> Ends:
        """Decide some documents of a batch and enter them.

        Args:
            batch: the documents.
            decided: takes what they are.
            entering: the batch and what it is entered in, for compiled code.
            closest: what is closest to these documents.
            ends: how much there is.
            related: takes those copies, and those that are similar, that took a closer look.

        Returns:
            How much there is then.
        """
        place = start = closest.first
        end = start + len(closest.counts)
        leader = UNDECIDED
        while place < end:
            place, candidates, ends = decide_batch(decided, place, leader, *entering, closest, self._rules, ends)
            if place == end or not self._is_all_known(candidates):
                entered = start + np.flatnonzero(decided.kinds[start:place] <= COPY)
                with_words = entered[entering.rows.words[len(self._known) : ends.known] != NOWHERE]
                self._known.entered(ends.known, batch.keys_of(entered), batch.words_of(with_words))
                start = place
            if place < end:
                signed = batch.signed(place)
                asked = asked_of(signed, batch.key(place), self._source)
                answer = self._matcher.find_among(asked, candidates.tolist(), self._clusters)
                self._clusters.join(answer.match)
                leader = NOWHERE if answer.match is None else answer.match.leader.id
                if found := answer.match or answer.similar:
                    decision = decision_of(Verdict.NEW, content_of(signed), answer)
                    related.append(Related(place, decision, found.leader.id))
        return ends

    def _is_all_known(self, candidates: NDArray[np.int64]) -> bool:
        """Say whether all that a look at candidates may ask for is there, without what was entered last."""
        if candidates.max() >= len(self._known):
            return False
        # Whether a cluster may join another one depends on all its members.
        return len(candidates) == 1 or len(set(self.leaders_of(candidates).tolist())) == 1

    def _copies(self, batch: SignedBatch, decided: Decided) -> list[Related]:
        """Return the duplicates that compiled code found, in the clusters that they belonged to then."""
        places = np.flatnonzero(decided.leaders != NOWHERE)
        if not len(places):
            return []
        members, leaders = decided.members[places], decided.leaders[places]
        columns = (places, leaders, decided.is_exact[places], decided.distances[places], decided.similarities[places])
        sizes = batch.rows["text_bytes"][places]
        return [
            Related(
                place,
                Decision(
                    Verdict.EXACT_DUPLICATE if is_exact else Verdict.NEAR_DUPLICATE,
                    original,
                    matched,
                    distance,
                    similarity,
                    rule,
                    size,
                ),
                leader,
            )
            for original, matched, place, leader, is_exact, distance, similarity, size, rule in zip(
                *self._known.keys_of_copies(leaders, members),
                *(column.tolist() for column in (*columns, sizes)),
                self._rules_of(batch, decided, places),
                strict=True,
            )
        ]

    def _rules_of(self, batch: SignedBatch, decided: Decided, places: NDArray[np.intp]) -> Iterator[Rule]:
        """Yield the rules by which compiled code found duplicates."""
        is_twin, tokens = decided.kinds[places] == TWIN, batch.rows["tokens"][places]
        for is_same, by_jaccard, has_words in zip(
            is_twin.tolist(), decided.by_jaccard[places].tolist(), tokens.astype(np.bool_).tolist(), strict=True
        ):
            if is_same:
                yield Rule.SAME_TEXT if has_words else Rule.SAME_BYTES
            elif self._rules.is_paper:
                yield Rule.PAPER
            else:
                yield Rule.JACCARD if by_jaccard else Rule.CONTAINMENT


class _Entering(NamedTuple):
    """A batch, and what it is entered in, for compiled code."""

    lines: Lines
    rows: Rows
    stored: Stored
