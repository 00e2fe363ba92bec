"""Clusters of a corpus that a document shows to be one: the rule of `dedup.joining`, all in memory.

What was written of the later cluster's documents stays written; the clusters at the end are the joined ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import AppendingFile
from dedup.corpus.known import NOWHERE, KnownDocuments, Lengths
from dedup.fingerprint.sketch import compare
from dedup.rules.cluster_merge import MOST_MOVED, find_joined
from dedup.rules.documents import Match
from dedup.rules.verification import belongs_to_cluster
from dedup.settings import RuleSettings

FILE = "joins"
"""The name of the file, in the folder of the state: which leader's cluster joined which one's."""

_NUMBER_BYTES = 8


class CorpusJoining:
    """Joins clusters of known documents.

    Args:
        settings: how near the members of a cluster have to be to its leader.
        known: the documents.
        folder: where the joins are kept until the documents themselves are saved as they are then.
        lengths: what the last checkpoint returned.

    Raises:
        InputError: the file is not what the checkpoint says.
    """

    def __init__(self, settings: RuleSettings, known: KnownDocuments, folder: Path, lengths: Lengths) -> None:
        self._settings = settings
        self._known = known
        # Clusters of earlier runs stay what they are.
        self._earlier = self._looked_at = lengths.earlier
        self._members: defaultdict[int, list[int]] = defaultdict(list)
        self._file = AppendingFile(folder / FILE, lengths.joins)
        apply_joins(known.rows, _read(self._file, lengths.joins))

    def find(
        self,
        match: Match,
        others: Sequence[int],
        match_of: Callable[[int], Match],
        is_confirmed: Callable[[Match], bool],
    ) -> Match:
        """Return what a document is a duplicate of; if it shows two clusters to be one, they are from now on.

        Args:
            match: what it is a duplicate of if no cluster joins another.
            others: the numbers of further candidates, the most similar first.
            match_of: makes a candidate of a number.
            is_confirmed: whether the document is a duplicate of a candidate.
        """
        leader = match.leader.id
        if all(self._known.leader_of(number) == leader for number in others):
            return match
        found = find_joined(match, [match_of(number) for number in others], is_confirmed, self._settings)
        if found is None or found.joined is None:
            return match
        return found if self._join(found.joined.id, found) else match

    def checkpoint(self) -> Lengths:
        """Make all of it safe, the documents too; return how much there is."""
        joins = self._file.checkpoint()
        return self._known.checkpoint()._replace(joins=joins, earlier=self._earlier)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _join(self, joined: int, match: Match) -> bool:
        if joined < self._earlier:
            return False
        self._look_at_new()
        members = self._members[joined]
        near = match.leader.sketch
        if len(members) > MOST_MOVED or not all(
            belongs_to_cluster(compare(self._known.stored(number).sketch, near), self._settings) for number in members
        ):
            return False
        leader = match.leader.id
        self._known.rows["leader"][[joined, *members]] = leader
        self._members[leader] += [joined, *self._members.pop(joined)]
        self._file.append(b"".join(number.to_bytes(_NUMBER_BYTES, "little") for number in (joined, leader)))
        return True

    def _look_at_new(self) -> None:
        """Note the members of clusters among the documents that were added since the last time."""
        leaders = self._known.rows["leader"][self._looked_at :]
        for place in np.flatnonzero(leaders != NOWHERE).tolist():
            self._members[int(leaders[place])].append(self._looked_at + place)
        self._looked_at += len(leaders)


def join_saved(folder: Path, rows: NDArray[Any], length: int) -> None:
    """Let saved documents name the leaders that they have; to do so once more changes nothing.

    Args:
        folder: where the joins are kept.
        rows: the documents, of the type `dedup.corpus.known.ROW`.
        length: how much of the file of joins is valid.
    """
    file = AppendingFile(folder / FILE, length)
    apply_joins(rows, _read(file, length))
    file.close()


def apply_joins(rows: NDArray[Any], joins: Iterable[tuple[int, int]]) -> None:
    """Let documents name the leaders that they have after some joins.

    Args:
        rows: the documents, of the type `dedup.corpus.known.ROW`, whether they know of the joins or not.
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


def _read(file: AppendingFile, length: int) -> Iterable[tuple[int, int]]:
    for _, data in file.read_all(length):
        yield int.from_bytes(data[:_NUMBER_BYTES], "little"), int.from_bytes(data[_NUMBER_BYTES:], "little")
