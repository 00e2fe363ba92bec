"""The candidates of documents in a chunk of those that are stored, and what it takes to merge those of chunks."""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.compiled.bits import signed
from dedup.corpus.candidates.look_up import AT_ONCE, Closest, Stored, distances_of, look_up, places_of
from dedup.corpus.candidates.probing import probes_of
from dedup.corpus.deciding.briefs import room_for_briefs, write_briefs
from dedup.corpus.deciding.kernels import Sketches, compare_sketches, worth_checking
from dedup.index.memory.flips import Flips
from dedup.rules.settings import RuleSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import plan_of


class Near(NamedTuple):
    """What is near to some documents: of each how many at which distance, and those that are worth a check.

    Attributes:
        counts: how many of the closest are at each distance, shape (q, radius + 1).
        ends: where the entries of each end in the other columns, shape (q,).
        places: the places of those that are worth a check in the chunk.
        distances: how far away they are, in bits.
        ranks: how many of the closest at the same distance come before them.
        jaccards: how similar they are, by their sketches.
    """

    counts: NDArray[np.int64]
    ends: NDArray[np.int64]
    places: NDArray[np.int64]
    distances: NDArray[np.int64]
    ranks: NDArray[np.int64]
    jaccards: NDArray[np.float64]

    @classmethod
    def room(cls, size: int, width: int, radius: int) -> Near:
        """Make room for what is near to so many documents, `width` each at most."""
        places, distances, ranks = (np.empty(size * width, np.int64) for _ in range(3))
        counts = np.zeros((size, radius + 1), np.int64)
        return cls(counts, np.zeros(size, np.int64), places, distances, ranks, np.empty(size * width))


class Chunk:
    """Stored documents, in the order of their ids.

    Args:
        settings: how far around is looked, and how many are wanted.
        ids: the ids, rising, shape (n,).
        rows: the documents, of the type `dedup.corpus.deciding.known.ROW`: fingerprint, minima, shingles and tokens.
    """

    def __init__(self, settings: RuleSettings, ids: NDArray[np.int64], rows: NDArray[Any]) -> None:
        plan = plan_of(settings)
        self.ids = ids
        self._limit = settings.max_candidates
        self._needed = Thresholds.of(settings)
        fingerprints = np.concatenate([rows["fingerprint"], np.zeros(AT_ONCE, np.uint64)])
        self._stored = Stored(fingerprints, np.arange(len(fingerprints)), Flips.of(plan), plan.radius)
        self._sketches = _sketches(rows)

    def find(self, ids: NDArray[np.int64], rows: NDArray[Any], margins: NDArray[np.int64]) -> Near:
        """Find the closest ones that the plan's probes bring, among those with smaller ids.

        Args:
            ids: those of the documents that are looked around, rising, shape (q,).
            rows: these documents, as the stored ones.
            margins: their margins, shape (q, 64).
        """
        flips, radius = self._stored.flips, self._stored.radius
        fingerprints = np.ascontiguousarray(rows["fingerprint"])
        size, width = len(ids), max(1, min(self._limit, len(self.ids)))
        closest = Closest(
            0,
            fingerprints,
            np.empty((size, width), np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            probes_of(fingerprints, margins, flips),
        )
        earlier = np.searchsorted(self.ids, ids)
        # With what comes before all of them they are compared at once.
        look_up(self._stored, int(earlier[0]), 0, size, closest)
        near = Near.room(size, width, radius)
        _find_near(self._stored, earlier, closest, _sketches(rows), self._sketches, self._needed, near)
        return near


@compiled
def _find_near(
    stored: Stored,
    earlier: NDArray[np.int64],
    closest: Closest,
    asked: Sketches,
    known: Sketches,
    needed: Thresholds,
    near: Near,
) -> None:
    """Look up the last ones that are earlier than each document, and note which are worth a check."""
    end = 0
    for query in range(len(earlier)):
        look_up(stored, earlier[query], query, query + 1, closest)
        keys = closest.keys[query, : closest.counts[query]]
        distances, places = distances_of(keys), places_of(keys)
        counts = near.counts[query]
        for distance in distances:
            counts[distance] += 1
        minima, shingles, tokens = asked.minima[query], signed(asked.shingles[query]), signed(asked.tokens[query])
        for place in worth_checking(places, known, minima, shingles, tokens, needed):
            at = 0
            while places[at] != place:
                at += 1
            near.places[end], near.distances[end], near.ranks[end] = place, distances[at], at
            for distance in range(distances[at]):
                near.ranks[end] -= counts[distance]
            near.jaccards[end], _ = compare_sketches(known, place, minima, shingles)
            end += 1
        near.ends[query] = end


def _sketches(rows: NDArray[Any]) -> Sketches:
    briefs = room_for_briefs(len(rows))
    write_briefs(rows["minima"], rows["shingles"], rows["tokens"], briefs)
    return Sketches(rows["minima"], rows["shingles"], rows["tokens"], briefs)
