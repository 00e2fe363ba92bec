"""The published ways to look up near fingerprints, each by its keys, to be measured side by side.

A fingerprint is stored under keys and looked up by keys; whatever shares a key with it is a candidate, and is compared.
All ways find whatever lies within the radius; they differ in keys and candidates (G. S. Manku, A. Jain, A. Das Sarma,
"Detecting near-duplicates for web crawling", WWW 2007, section 3):

| way | stored under | looked up by |
|---|---|---|
| brute force | one key, the same for all | it |
| one-bit lists | its 64 bits | the same |
| permuted tables, such as four blocks of 16 bits | its prefix in each table | the same |
| variants of the query | itself | all that differ from it in bits of the radius: 43,745 |
| variants in the store | the same 43,745 | itself |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import InputError
from dedup.keys import MAX_TABLES, Keys, TableDesign
from dedup.signature.signature import BITS

Fingerprints = NDArray[np.uint64]

MOST_ROWS = 1 << 26
"""So many keys are stored at most: 800 MB, and as much again while they are sorted."""
MOST_ASKED = 1_000_000
"""At most so many keys are looked up for one query."""

_SECONDS = 3.0


class Lookup(NamedTuple):
    """A way to look up fingerprints.

    Attributes:
        name: what it is called.
        tables: how many tables, each sorted by a key.
        stored: from fingerprints, shape (n,), to the keys under which they are stored, shape (n, s).
        asked: from a fingerprint, shape (1,), to the keys that are looked up, shape (1, a).
        stored_keys: s.
        asked_keys: a, the probes of a query.
        share: the share of random fingerprints that are candidates, each as often as it shares a key.
    """

    name: str
    tables: int
    stored: Callable[[Fingerprints], Fingerprints]
    asked: Callable[[Fingerprints], Fingerprints]
    stored_keys: int
    asked_keys: int
    share: float


class Measured(NamedTuple):
    """What a look-up costs and finds, a query.

    Attributes:
        queries: how many were looked up.
        candidates: stored fingerprints that share a key and lie beyond the radius, each as often as it shares one.
        bytes: of keys and fingerprints, for a stored one.
        milliseconds: of one thread.
        found: the numbers of what lies within the radius, of each query.
    """

    queries: int
    candidates: float
    bytes: float
    milliseconds: float
    found: list[list[int]]


def lookups(radius: int) -> Iterator[Lookup]:
    """Yield the ways that find all within a radius, brute force first; tables are 64 at most.

    Raises:
        InputError: the radius is less than 1 bit: keys of whole fingerprints find what is equal.
    """
    if radius < 1:
        raise InputError(f"radius {radius}: expected at least 1 bit")
    yield Lookup("brute force", 1, _one_key, _one_key, 1, 1, 1.0)
    yield Lookup("one-bit lists", BITS, _bits, _bits, BITS, BITS, BITS / 2)
    yield from map(_permuted, TableDesign.finding(radius))
    if (radius + 1) ** 2 <= MAX_TABLES:
        once = TableDesign(radius + 1, 1)
        yield _permuted(TableDesign(once.blocks, once.chosen, once))
    ball = sum(comb(BITS, bits) for bits in range(radius + 1))
    share = ball / 2.0**BITS

    def variants(fingerprints: Fingerprints) -> Fingerprints:
        return fingerprints[:, np.newaxis] ^ _flips(radius)

    yield Lookup("variants of the query", 1, _itself, variants, 1, ball, share)
    yield Lookup("variants in the store", 1, variants, _itself, ball, 1, share)


def measure(lookup: Lookup, stored: Fingerprints, queries: Fingerprints, radius: int) -> Measured:
    """Store fingerprints and ask for others, as many as three seconds allow, one at least.

    Args:
        lookup: the way.
        stored: what is stored, shape (n,).
        queries: what is looked up, shape (q,).
        radius: in bits.

    Raises:
        InputError: its keys do not fit into memory.
    """
    rows = len(stored) * lookup.stored_keys
    if lookup.asked_keys > MOST_ASKED:
        raise InputError(f"{lookup.name}: {lookup.asked_keys:,} probes; {MOST_ASKED:,} are tried at most")
    if rows > MOST_ROWS:
        most = MOST_ROWS // lookup.stored_keys
        limit = f"tried up to --n {most}" if most else f"{MOST_ROWS:,} are tried at most"
        raise InputError(f"{lookup.name}: {rows:,} keys; {limit}")
    keys = lookup.stored(stored).ravel()
    order = np.argsort(keys)
    keys = keys[order]
    positions = (order // lookup.stored_keys).astype(np.uint32)
    candidates, found = 0, []
    start = perf_counter()
    for query in queries:
        asked = np.sort(lookup.asked(np.array([query])).ravel())
        firsts, ends = np.searchsorted(keys, asked), np.searchsorted(keys, asked, "right")
        ranges = [positions[first:end] for first, end in zip(firsts, ends, strict=True) if first < end]
        met = np.concatenate([np.empty(0, np.uint32), *ranges])
        is_near = np.bitwise_count(stored[met] ^ query) <= radius
        candidates += len(met) - int(is_near.sum())
        found.append(np.unique(met[is_near]).tolist())
        if perf_counter() - start > _SECONDS:
            break
    each = len(found)
    # Where all are candidates nothing need be sorted.
    nbytes = stored.nbytes + (lookup.share != 1) * (keys.nbytes + positions.nbytes)
    return Measured(each, candidates / each, nbytes / len(stored), 1000 * (perf_counter() - start) / each, found)


def random_sample(n: int, queries: int, radius: int, seed: int = 1) -> tuple[Fingerprints, Fingerprints]:
    """Return n random fingerprints, and queries that each lie within the radius of one of them."""
    random = np.random.default_rng(seed)
    stored = random.integers(0, 2**BITS, n, np.uint64)
    places = np.argsort(random.random((queries, BITS)), axis=1)[:, :radius]
    flips = np.where(random.random((queries, radius)) < 0.5, np.left_shift(np.uint64(1), places.astype(np.uint64)), 0)
    return stored, stored[random.integers(0, n, queries)] ^ flips.sum(axis=1, dtype=np.uint64)


def _permuted(design: TableDesign) -> Lookup:
    keys, numbers = Keys(design, with_bands=False), np.arange(design.table_count, dtype=np.uint64)
    share = sum(2.0 ** -len(table.prefix) for table in design.tables)

    def prefixes(fingerprints: Fingerprints) -> Fingerprints:
        found = keys.of(fingerprints, np.empty((len(fingerprints), 0), np.uint64))
        # The number of the table stands in the highest bits, above all prefixes of a radius from 1 on.
        return found | numbers << np.uint64(BITS - len(numbers).bit_length())

    return Lookup(str(design), len(numbers), prefixes, prefixes, len(numbers), len(numbers), share)


def _one_key(fingerprints: Fingerprints) -> Fingerprints:
    return np.zeros((len(fingerprints), 1), np.uint64)


def _itself(fingerprints: Fingerprints) -> Fingerprints:
    return fingerprints[:, np.newaxis]


def _bits(fingerprints: Fingerprints) -> Fingerprints:
    places = np.arange(BITS, dtype=np.uint64)
    return places << np.uint64(1) | fingerprints[:, np.newaxis] >> places & np.uint64(1)


def _flips(radius: int) -> Fingerprints:
    """Return all ways to flip at most so many of 64 bits."""
    powers = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))
    ways = (powers[np.array(list(combinations(range(BITS), bits)), int)].sum(axis=-1) for bits in range(radius + 1))
    return np.concatenate([np.atleast_1d(np.asarray(way, np.uint64)) for way in ways])
