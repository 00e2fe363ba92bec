"""Measure look-ups side by side: candidates, bytes, speed, recall by distance."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from dedup.errors import SettingsError
from dedup.published.lookups import POSITION_BITS, Fingerprints, Lookup, Positions
from dedup.signature.signature import BITS

STRANGERS = 20  # queries without neighbours for one that has them: the fast look-ups answer 10,000 in no time
_SECONDS = 1.0
_LARGEST_BATCH = 2048


class Sample(NamedTuple):
    """Fingerprints to store, uniformly random but for the planted neighbours, and queries.

    Attributes:
        stored: shape (n,).
        strangers: queries of which nothing that is stored is a neighbour.
        sought: queries of which neighbours are stored, shape (q,).
        planted: the positions of these, of each query one a distance from 0; shape (q, reach + 1).
    """

    stored: Fingerprints
    strangers: Fingerprints
    sought: Fingerprints
    planted: Positions


class Measured(NamedTuple):
    """What one look-up took and found.

    Attributes:
        tables: how many tables, lists or copies there are.
        probes: places looked up a query.
        candidates: stored fingerprints met there, a query of a stranger.
        bytes: kept for a stored fingerprint.
        queries_per_second: of strangers, one thread.
        recall: for each distance from 0 the share of the planted neighbours that were found.
    """

    tables: int
    probes: float
    candidates: float
    bytes: float
    queries_per_second: float
    recall: list[float]


def make_sample(n: int, queries: int, reach: int, seed: int) -> Sample:
    """Make n random fingerprints, queries, and for each query a neighbour at every distance up to the reach, in bits.

    Raises:
        SettingsError: the neighbours are more than n.
    """
    if queries * (reach + 1) > n:
        raise SettingsError(f"neighbours of {queries:,} queries are more than {n:,}: take at most {n // (reach + 1):,}")
    random = np.random.default_rng(seed)
    stored, strangers, sought = (random.integers(0, 2**BITS, m, np.uint64) for m in (n, STRANGERS * queries, queries))
    planted = random.permutation(n)[: queries * (reach + 1)].reshape(queries, reach + 1)
    for distance in range(reach + 1):
        bits = np.argsort(random.random((queries, BITS)), axis=1)[:, :distance].astype(np.uint64)
        stored[planted[:, distance]] = sought ^ np.left_shift(np.uint64(1), bits).sum(axis=1, dtype=np.uint64)
    return Sample(stored, strangers, sought, planted)


def measure(lookup: Lookup, sample: Sample) -> Measured:
    """Measure a look-up of the sample's stored fingerprints; a slow one with fewer queries than there are."""
    asked, seconds, probes, candidates, _ = _run(lookup, sample.strangers)
    sought, _, _, _, finds = _run(lookup, sample.sought)
    planted = np.arange(sought)[:, np.newaxis] << POSITION_BITS | sample.planted[:sought]
    recall, kept = np.isin(planted, finds).mean(axis=0).tolist(), lookup.nbytes / len(sample.stored)
    return Measured(lookup.tables, probes / asked, candidates / asked, kept, asked / seconds, recall)


def _run(lookup: Lookup, queries: Fingerprints) -> tuple[int, float, int, int, Positions]:
    """Run queries in growing batches for about a second; return how many, the seconds, probes, candidates, finds."""
    done, size, probes, candidates, finds = 0, 1, 0, 0, []
    start = perf_counter()
    while done < len(queries) and perf_counter() - start < _SECONDS:
        found = lookup.query(queries[done : done + size])
        finds.append(found.queries + done << POSITION_BITS | found.positions)
        probes, candidates = probes + found.probes, candidates + found.candidates
        done, size = min(len(queries), done + size), min(2 * size, _LARGEST_BATCH)
    return done, perf_counter() - start, probes, candidates, np.concatenate(finds)
