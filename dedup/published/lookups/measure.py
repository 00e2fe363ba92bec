"""Measure look-ups side by side: candidates, bytes, speed, recall by distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import SettingsError
from dedup.index.design import TableDesign
from dedup.index.probes import ProbePlan
from dedup.published.lookups.protocol import Lookup
from dedup.published.lookups.scans import BitLists, BruteForce
from dedup.published.lookups.tables import InvertedBlocks, PermutedTables
from dedup.published.lookups.variants import QueryVariants, StoredVariants
from dedup.signature.signature import BITS

BEYOND = 13
"""How many bits beyond the exact radius a find may lie: with 3 it is 16, as in the checked mode."""

STRANGERS = 20
"""Queries without neighbours for one that has them: the fast look-ups answer 10,000 in no time."""

_SECONDS = 1.0
_LARGEST_BATCH = 2048
_SCALE = 1000  # of the sums, so that margins as whole numbers differ


@dataclass(frozen=True)
class Queries:
    """Queries with their margins, shapes (q,) and (q, 64)."""

    fingerprints: NDArray[np.uint64]
    margins: NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Fingerprints to store and queries.

    Attributes:
        stored: shape (n,), uniformly random but for the planted neighbours.
        strangers: queries of which nothing that is stored is a neighbour.
        sought: queries of which neighbours are stored.
        planted: the positions of these, of each query one a distance from 0; shape (q, reach + 1).
    """

    stored: NDArray[np.uint64]
    strangers: Queries
    sought: Queries
    planted: NDArray[np.int64]


class Measured(NamedTuple):
    """What one look-up took and found.

    Attributes:
        tables: how many tables, lists or copies there are.
        probes: places looked up a query.
        candidates: stored fingerprints met there, a query of a stranger.
        expected: the same by calculation.
        bytes: kept for a stored fingerprint.
        queries_per_second: of strangers, one thread.
        queries: how many queries the speed was measured with.
        recall: for each distance from 0 the share of the planted neighbours that were found.
    """

    tables: int
    probes: float
    candidates: float
    expected: float
    bytes: float
    queries_per_second: float
    queries: int
    recall: list[float]


def make_sample(n: int, queries: int, reach: int, seed: int) -> Sample:
    """Make random fingerprints, queries, and neighbours of these that differ as near-duplicates do.

    The sums behind a query's bits are normally distributed, as those of many small features are;
    a bit's margin is the size of its sum. A neighbour is made by an edit that adds normal noise to
    the sums and that grows until exactly so many bits have changed: so the weak bits change most.

    Args:
        n: how many fingerprints are stored, the planted neighbours included.
        queries: how many queries with neighbours; the strangers are 20 times as many.
        reach: the largest distance of a neighbour.
        seed: of the random numbers.

    Raises:
        SettingsError: the neighbours are more than n.
    """
    if queries * (reach + 1) > n:
        raise SettingsError(
            f"{queries:,} queries have {queries * (reach + 1):,} planted neighbours, more than the {n:,} "
            f"fingerprints: take at most {n // (reach + 1):,} queries"
        )
    random = np.random.default_rng(seed)
    stored = random.integers(0, 2**BITS, n, np.uint64)
    planted = random.permutation(n)[: queries * (reach + 1)].reshape(queries, reach + 1)
    sums = random.normal(size=(queries, BITS))
    sought = _queries(sums)
    powers = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))
    for distance in range(reach + 1):
        edits = random.normal(size=(queries, BITS))
        # How far the edit must grow until the bit changes; one that adds to the sum never does it.
        needed = np.where(edits * sums < 0, np.abs(sums / edits), np.inf)
        changed = np.argsort(needed, axis=1)[:, :distance]
        stored[planted[:, distance]] = sought.fingerprints ^ powers[changed].sum(axis=1, dtype=np.uint64)
    return Sample(stored, _queries(random.normal(size=(STRANGERS * queries, BITS))), sought, planted)


def lookups(stored: NDArray[np.uint64], distance: int) -> dict[str, Callable[[], Lookup]]:
    """Return how every look-up is made, by its name.

    Args:
        stored: the fingerprints, shape (n,).
        distance: the distance in bits within which all of them find everything.
    """
    radius, nested = distance + BEYOND, f"{distance + 1} choose 1"

    def tables(design: str, weak_bits: int = 0, max_flips: int = 1024) -> Lookup:
        plan = ProbePlan(TableDesign.parse(design), radius, distance, weak_bits, max_flips)
        return PermutedTables(stored, plan)

    made: dict[str, Callable[[], Lookup]] = {
        "brute force": lambda: BruteForce(stored, radius),
        "64 one-bit lists": lambda: BitLists(stored, radius),
        "four 16-bit blocks": lambda: InvertedBlocks(stored, radius, distance),
        nested: lambda: tables(nested),
        f"{distance + 2} choose 2": lambda: tables(f"{distance + 2} choose 2"),
        f"{nested}, twice": lambda: tables(f"{nested} then {nested}"),
        f"{distance + 3} choose 3": lambda: tables(f"{distance + 3} choose 3"),
        "3 choose 1, flips": lambda: tables("3 choose 1"),
        "2 choose 1, flips": lambda: tables("2 choose 1"),
        "3 choose 1, 5 weak": lambda: tables("3 choose 1", weak_bits=5),
        # As in the checked mode.
        "4 choose 1, 8 weak": lambda: tables("4 choose 1", weak_bits=8, max_flips=32),
        "query variants": lambda: QueryVariants(stored, distance),
        "stored variants": lambda: StoredVariants(stored, distance),
    }
    return made


def measure(lookup: Lookup, sample: Sample) -> Measured:
    """Measure a look-up; a slow one with fewer queries than there are.

    Args:
        lookup: made of the sample's stored fingerprints.
        sample: of `make_sample`.
    """
    lookup.query(sample.strangers.fingerprints[:1], sample.strangers.margins[:1])  # compiles
    asked, seconds, probes, candidates, _ = _run(lookup, sample.strangers)
    sought, _, _, _, finds = _run(lookup, sample.sought)
    planted = (np.arange(sought)[:, np.newaxis] << 32) | sample.planted[:sought]
    return Measured(
        tables=lookup.tables,
        probes=probes / asked,
        candidates=candidates / asked,
        expected=lookup.expected_candidates,
        bytes=lookup.nbytes / len(sample.stored),
        queries_per_second=asked / seconds,
        queries=asked,
        recall=np.isin(planted, finds).mean(axis=0).tolist(),
    )


def _queries(sums: NDArray[np.float64]) -> Queries:
    bits = np.packbits(sums > 0, axis=1, bitorder="little")
    return Queries(bits.view("<u8")[:, 0].astype(np.uint64), (np.abs(sums) * _SCALE).astype(np.int64))


def _run(lookup: Lookup, queries: Queries) -> tuple[int, float, int, int, NDArray[np.int64]]:
    """Run queries in growing batches, at least one batch and for about a second.

    Returns:
        How many were run, the seconds, probes, candidates, and the finds as query << 32 | position.
    """
    done, size, probes, candidates, finds = 0, 1, 0, 0, []
    count = len(queries.fingerprints)
    start = perf_counter()
    while done < count and perf_counter() - start < _SECONDS:
        batch = slice(done, min(count, done + size))
        found = lookup.query(queries.fingerprints[batch], queries.margins[batch])
        finds.append(((found.queries + done) << 32) | found.positions)
        probes += found.probes
        candidates += found.candidates
        done, size = batch.stop, min(2 * size, _LARGEST_BATCH)
    return done, perf_counter() - start, probes, candidates, np.concatenate(finds)
