"""What the rules of `dedup.rules.matcher` ask of documents and clusters of a corpus; clusters that turn out to be one.

What was written of the later cluster's documents stays written; the clusters at the end are the joined ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import AppendingFile
from dedup.corpus.batches import Signed, SignedBatch, WordSource
from dedup.corpus.key_map import NOBODY, Found, KeyMap, find_candidates, find_closest, find_contents
from dedup.corpus.table import NOWHERE, Block, KnownDocuments, Lengths
from dedup.rules.cluster_merge import MOST_MOVED
from dedup.rules.decision import Decision, Verdict, decision_of
from dedup.rules.documents import Answer, Content, Match, StoredDocument
from dedup.rules.matcher import MOST_PASSED_ON, Asked, Matcher
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import fewest_tokens, keys_of
from dedup.signature.schemes import find_scheme
from dedup.signature.sketch import Sketch


def asked_of(signed: Signed, key: str, source: WordSource) -> Asked:
    """Return a document as it is asked what it is a duplicate of.

    Args:
        signed: its signature.
        key: what it is called.
        source: gives its words.
    """
    return Asked(signed.fingerprint, signed.sketch, partial(source.words, signed.words), key)


def content_of(signed: Signed) -> Content:
    """Return what a decision says of a document's content."""
    return Content(signed.text_digest, signed.fingerprint, signed.sketch, signed.text_bytes, None, b"")


FILE = "joins"
"""The name of the file, in the folder of the state: which leader's cluster joined which one's."""

_NUMBER_BYTES = 8


class ClusterMerges:
    """Joins clusters of known documents.

    Args:
        known: the documents.
        folder: where the joins are kept until the documents themselves are saved as they are then.
        lengths: what the last checkpoint returned.

    Attributes:
        decided: the number of the first document whose leader is not known yet; None: those of all are.

    Raises:
        InputError: the file is not what the checkpoint says.
    """

    def __init__(self, known: KnownDocuments, folder: Path, lengths: Lengths) -> None:
        self.decided: int | None = None
        self._known = known
        # Clusters of earlier runs stay what they are.
        self._earlier = self._looked_at = lengths.earlier
        self._members: defaultdict[int, list[int]] = defaultdict(list)
        self._file = AppendingFile(folder / FILE, lengths.joins)
        apply_joins(known.rows, _read(self._file, lengths.joins))

    def movable(self, joined: int) -> list[int] | None:
        """Return the numbers of a cluster that may join another one, but for its leader's; None if it may not.

        Args:
            joined: the number of its leader.
        """
        if joined < self._earlier:
            return None
        self._look_at_new()
        members = self._members[joined]
        return members if len(members) <= MOST_MOVED else None

    def join(self, joined: int, leader: int) -> None:
        """Let a cluster that may do so join another one; both by the numbers of their leaders."""
        self._look_at_new()
        members = self._members.pop(joined, [])
        self._known.rows["leader"][[joined, *members]] = leader
        self._known.rows["passed_on"][joined] = 1
        self._members[leader] += [joined, *members]
        self._file.append(b"".join(number.to_bytes(_NUMBER_BYTES, "little") for number in (joined, leader)))

    def checkpoint(self) -> Lengths:
        """Make all of it safe, the documents too; return how much there is."""
        joins = self._file.checkpoint()
        return self._known.checkpoint()._replace(joins=joins, earlier=self._earlier)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _look_at_new(self) -> None:
        """Note the members of clusters among the documents that were added since the last time."""
        leaders = self._known.rows["leader"][self._looked_at : self.decided]
        for place in np.flatnonzero(leaders != NOWHERE).tolist():
            self._members[int(leaders[place])].append(self._looked_at + place)
        self._looked_at += len(leaders)


def apply_joins(rows: NDArray[Any], joins: Iterable[tuple[int, int]]) -> None:
    """Let documents name the leaders that they have after some joins; those that led are passed on already.

    Args:
        rows: the documents, of the type `dedup.corpus.table.ROW`, whether they know of the joins or not.
        joins: the later leader and the earlier, in the order in which they joined.
    """
    final = dict(joins)
    if not final:
        return
    # Who has joined leads nobody any more, so that the last ones come first.
    for joined, leader in reversed(final.items()):
        final[joined] = final.get(leader, leader)
    leaders = rows["leader"]
    for place in np.flatnonzero(np.isin(leaders, list(final))).tolist():
        leaders[place] = final[int(leaders[place])]
    leaders[list(final)] = list(final.values())
    rows["passed_on"][list(final)] = 1


def _read(file: AppendingFile, length: int) -> Iterable[tuple[int, int]]:
    for _, data in file.read_all(length):
        yield int.from_bytes(data[:_NUMBER_BYTES], "little"), int.from_bytes(data[_NUMBER_BYTES:], "little")


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
        # By their leaders: the members that are kept all the same.
        self._passed_on: defaultdict[int, list[int]] = defaultdict(list)
        for number in np.flatnonzero(known.rows["passed_on"]).tolist():
            self._passed_on[known.leader_of(number)].append(number)

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

    def passed_on(self, match: Match) -> Iterator[StoredDocument]:
        """Yield the documents of a match's cluster that are kept: its leader, and the latest of the others."""
        yield match.leader
        leaders = (match.leader.id, match.joined.id) if match.joined else (match.leader.id,)
        numbers = [number for leader in leaders for number in (leader, *self._passed_on.get(leader, ()))]
        latest = sorted(numbers[1:], key=lambda number: (number == match.member.id, number), reverse=True)
        yield from map(self._known.stored, latest[:MOST_PASSED_ON])

    def pass_on(self, number: int) -> None:
        """Note that a member of a cluster is kept all the same."""
        self._known.rows["passed_on"][number] = 1
        self._passed_on[self._known.leader_of(number)].append(number)

    def movable(self, joined: StoredDocument, leader: StoredDocument) -> list[Sketch] | None:
        """Return the sketches of a cluster that may join another one, but for its leader's; None if it may not."""
        members = self._merges.movable(joined.id)
        return None if members is None else [self._known.sketch(number) for number in members]

    def join(self, match: Match | None) -> None:
        """Let clusters that a document shows to be one be one."""
        if match is not None and match.joined is not None:
            joined, leader = match.joined.id, match.leader.id
            self._merges.join(joined, leader)
            self._passed_on[leader] += [joined, *self._passed_on.pop(joined, ())]


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
        self._without_features = np.uint64(find_scheme(settings.scheme).without_features)
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
        comparable &= batch.rows["fingerprint"] != self._without_features
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
