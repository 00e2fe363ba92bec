"""What the rules of `dedup.rules.matcher` ask of documents and clusters of a corpus; clusters that turn out to be one.

What was written of the later cluster's documents stays written; the clusters at the end are the joined ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import AppendingFile
from dedup.corpus.deciding.known import NOWHERE, KnownDocuments, Lengths
from dedup.corpus.signing.batches import Signed
from dedup.corpus.signing.words import WordSource
from dedup.rules.cluster_merge import MOST_MOVED
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.matcher import MOST_PASSED_ON, Asked
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
        rows: the documents, of the type `dedup.corpus.deciding.known.ROW`, whether they know of the joins or not.
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
