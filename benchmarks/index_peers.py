"""Other indexes of fingerprints, each asked for everything within 3 bits, and its own way to be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import faiss
import numpy as np
import psutil
from gaoya.simhash import SimHashStringIndex
from numpy.typing import NDArray
from simhash import Simhash, SimhashIndex

RADIUS = 3
_CHUNK = 100_000
_BLOCKS = 4

Ids = list[int]


class Peer(NamedTuple):
    """An index that holds fingerprints 0 to n - 1.

    Attributes:
        name: what the table calls it.
        query: one look-up, by what `key` makes of a fingerprint; None where it has none.
        insert: one more document; None where it cannot grow.
        batch: many look-ups; None where it has none.
        key: makes what the index is asked with, which is not part of what is measured.
    """

    name: str
    query: Callable[[Any], object] | None
    insert: Callable[[int, Any], object] | None
    batch: Callable[[NDArray[np.uint64]], object] | None
    key: Callable[[int], Any]


@contextmanager
def resident() -> Iterator[list[int]]:
    """Measure by how many bytes the process has grown; they stand in the list in the end."""
    process = psutil.Process()
    grown: list[int] = []
    before = process.memory_info().rss
    yield grown
    grown.append(process.memory_info().rss - before)


def gaoya(fingerprints: NDArray[np.uint64]) -> Peer:
    """Make gaoya's index of as many documents.

    It takes no fingerprints from Python, only tokens: documents of one token, so that hashing is
    next to nothing, have other random fingerprints. Its distance is exclusive.
    """
    index = SimHashStringIndex(num_blocks=6, hamming_distance=RADIUS + 1, analyzer=_no_analyser)
    inner = next(value for value in vars(index).values() if hasattr(value, "insert_tokens"))
    for start in range(0, len(fingerprints), _CHUNK):
        numbers = list(range(start, min(start + _CHUNK, len(fingerprints))))
        inner.par_bulk_insert_tokens(numbers, [[str(number)] for number in numbers])
    return Peer("gaoya", inner.query_tokens, inner.insert_tokens, None, lambda number: [str(number)])


def _no_analyser(text: str) -> list[str]:
    return [text]


def multi_hash(fingerprints: NDArray[np.uint64]) -> Peer:
    """Make faiss' IndexBinaryMultiHash; its radius is exclusive."""
    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryMultiHash(64, _BLOCKS, 64 // _BLOCKS)
    index.add(_rows(fingerprints))

    def query(row: NDArray[np.uint8]) -> Ids:
        ids: Ids = index.range_search(row, RADIUS + 1)[2].tolist()
        return ids

    return Peer(
        "faiss MultiHash 4x16",
        query,
        lambda _, row: index.add(row),
        lambda queries: index.range_search(_rows(queries), RADIUS + 1),
        lambda value: _rows(np.array([value], np.uint64)),
    )


def flat(fingerprints: NDArray[np.uint64]) -> Peer:
    """Make faiss' IndexBinaryFlat, which compares with everything; its radius is exclusive."""
    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(64)
    index.add(_rows(fingerprints))

    def query(row: NDArray[np.uint8]) -> Ids:
        ids: Ids = index.range_search(row, RADIUS + 1)[2].tolist()
        return ids

    return Peer(
        "faiss Flat",
        query,
        lambda _, row: index.add(row),
        lambda queries: index.range_search(_rows(queries), RADIUS + 1),
        lambda value: _rows(np.array([value], np.uint64)),
    )


def pypi_simhash(fingerprints: NDArray[np.uint64]) -> Peer:
    """Make the SimhashIndex of PyPI simhash."""
    index = SimhashIndex([], k=RADIUS)
    for number, value in enumerate(fingerprints.tolist()):
        index.add(str(number), Simhash(value))

    def query(simhash: Any) -> Ids:
        return [int(each) for each in index.get_near_dups(simhash)]

    return Peer("PyPI SimhashIndex", query, lambda number, simhash: index.add(str(number), simhash), None, Simhash)


def numpy_tables(fingerprints: NDArray[np.uint64]) -> Peer:
    """Make four sorted tables of numpy, looked up by searchsorted."""
    tables = []
    for table in range(_BLOCKS):
        left = np.uint64(16 * table)
        rotated = (fingerprints << left) | (fingerprints >> ((np.uint64(64) - left) & np.uint64(63)))
        order = np.argsort(rotated).astype(np.uint32)
        tables.append((left, rotated[order], order))

    def query(value: int) -> Ids:
        found: set[int] = set()
        for left, values, order in tables:
            rotated = ((value << int(left)) | (value >> (64 - int(left)))) & (2**64 - 1)
            low = rotated >> 48 << 48
            first, after = np.searchsorted(values, np.array([low, low | (1 << 48) - 1], np.uint64))
            near = np.bitwise_count(values[first:after] ^ np.uint64(rotated)) <= RADIUS
            found.update(order[first:after][near].tolist())
        return list(found)

    return Peer("numpy searchsorted", query, None, None, lambda value: value)


def _rows(fingerprints: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(fingerprints).view(np.uint8).reshape(-1, 8)
