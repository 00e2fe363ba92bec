"""`MemoryIndex`: add, remove, look up, save, and grow without a pause."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dedup.errors import IndexFileError, SettingsError
from dedup.index.design import TableDesign
from dedup.index.memory import index_file
from dedup.index.memory.flips import Flips
from dedup.index.memory.near import MAX_RADIUS, look_up, look_up_many
from dedup.index.memory.parts import EVERY, Parts, compacted
from dedup.index.memory.recent import append
from dedup.index.memory.results import QueryResults, Report, crowded_buckets
from dedup.index.memory.segment import BLOCK_BITS, BLOCKS, Segment
from dedup.index.memory.top_k import rank_all
from dedup.index.memory.wide import look_up_wide
from dedup.index.probes import ProbePlan
from dedup.index.protocol import Candidate
from dedup.signature.signature import BITS, SCHEME

DESIGN = TableDesign(BLOCKS, 1)
NO_LIMIT = 1 << 40

_ALL_BITS = (1 << BITS) - 1
_SIGN_BIT = 1 << (BITS - 1)
_MAX_ID = (1 << 63) - 1
_RESULTS = 1024


class Frozen:
    """What an index holds at one moment; it can be saved in another thread."""

    def __init__(self, segments: list[Segment], scheme: str, design: str) -> None:
        self._segments, self._scheme, self._design = segments, scheme, design

    def save(self, path: Path | str, origin: str = "") -> None:
        """Compact it and write it to a file; see `MemoryIndex.save`."""
        index_file.write(Path(path), compacted(self._segments), self._scheme, self._design, origin)


def require_design(plan: ProbePlan) -> None:
    """Refuse a plan for other tables than those of an index in memory.

    Raises:
        SettingsError: it is for others; these are left to SQL.
    """
    if plan.design != DESIGN:
        raise SettingsError(f"the index in memory has tables '{DESIGN}': take these instead of '{plan.design}'")


class MemoryIndex:
    """Permuted tables in memory; finds what `SqlIndex` finds with the same plan.

    A plan that asks for nothing but an exact radius of at most 3 bits is served by tags (`near`), any
    other by probes (`wide`). How the index grows is said in `parts`.
    An index is for one thread at a time; several processes may open one file.

    G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007.

    Args:
        plan: how far around a fingerprint is looked; its design is four tables of one block of 16 bits.
        scheme: name and version of the way the fingerprints are made.

    Attributes:
        origin: what the opened file says of where it comes from; see `save`.

    Raises:
        SettingsError: the design is another one; that is left to the tables in SQL.
    """

    def __init__(self, plan: ProbePlan, scheme: str = SCHEME) -> None:
        require_design(plan)
        self.plan = plan
        self.scheme = scheme
        self.origin = ""
        self._flips = Flips.of(plan)
        self._is_near = plan.radius <= min(plan.exact_radius, MAX_RADIUS)
        self._needs_margins = plan.weak_bits > 0 and plan.max_flips > 0 and not self._is_near
        self._no_margins = np.zeros((1, BITS), np.int64)
        self._parts = Parts(plan.radius)

    def __len__(self) -> int:
        """The number of documents; one that was added twice with one fingerprint may be counted twice for a while."""
        return len(self._parts)

    def add(self, document_id: int, fingerprint: int) -> None:
        """Store a fingerprint; a document that has it already is left as it is.

        Args:
            document_id: 0 to 2**63 - 1.
            fingerprint: 64 bits, unsigned.

        Raises:
            ValueError: a number is out of its range.
        """
        if not 0 <= document_id <= _MAX_ID:
            raise ValueError(f"document id {document_id}: expected 0 to {_MAX_ID}")
        value = fingerprint if 0 <= fingerprint < _SIGN_BIT else _signed(fingerprint)
        count = append(self._parts.table, document_id, value)
        if count % EVERY == 0:
            self._parts.advance(count)

    def add_many(self, ids: ArrayLike, fingerprints: ArrayLike) -> None:
        """Store many fingerprints; unlike `add` it may take its time, and merges what is to be merged.

        Args:
            ids: the documents, int64 of shape (n,).
            fingerprints: theirs, uint64 of shape (n,).

        Raises:
            ValueError: a number is out of its range, or the shapes differ.
        """
        documents = np.ascontiguousarray(ids, np.int64)
        values = _fingerprints(fingerprints)
        if documents.shape != values.shape:
            raise ValueError(
                f"{documents.shape} document ids and {values.shape} fingerprints: expected as many of both"
            )
        if len(documents) and documents.min() < 0:
            raise ValueError(f"document id {documents.min()}: expected 0 to {_MAX_ID}")
        self._parts.add_many(documents, values)

    def remove(self, document_id: int, fingerprint: int) -> bool:
        """Take a document out, if it is there with this fingerprint; return whether it was."""
        return self._parts.remove(document_id, np.uint64(fingerprint))

    def query(
        self, fingerprint: int, margins: NDArray[np.int64] | None = None, limit: int = NO_LIMIT
    ) -> list[Candidate]:
        """Find the stored fingerprints that the plan's probes find.

        Args:
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,); may be left out where the plan has no weak bits.
            limit: how many candidates at most; the closest are returned.

        Returns:
            The candidates, the closest first, equally close ones by document id.

        Raises:
            ValueError: the fingerprint is out of its range, or margins are missing.
        """
        # A call less for half of all queries.
        value = fingerprint if 0 <= fingerprint < _SIGN_BIT else _signed(fingerprint)
        parts = self._parts
        if not self._is_near:
            each = margins[np.newaxis] if margins is not None else None
            results = self._look_up_wide(np.array([fingerprint], np.uint64), each, limit)
        else:
            found = look_up(parts.table, value, limit)
            if found == 0:
                return []
            while found > len(parts.results):
                parts.make_room(2 * found)
                found = look_up(parts.table, value, limit)
            results = parts.results[:found]
        return [Candidate(document, distance) for _, distance, document in results.tolist()]

    def query_many(
        self, fingerprints: ArrayLike, margins: NDArray[np.int64] | None = None, limit: int = NO_LIMIT
    ) -> QueryResults:
        """Find for many fingerprints what `query` finds for each.

        Args:
            fingerprints: uint64 of shape (q,).
            margins: the margins of their bits, shape (q, 64); see `query`.
            limit: how many candidates of a query at most.

        Raises:
            ValueError: the shapes do not fit, or margins are missing.
        """
        queries = _fingerprints(fingerprints)
        results = self._look_up_near(queries, limit) if self._is_near else self._look_up_wide(queries, margins, limit)
        return QueryResults(results[:, 0], results[:, 2], results[:, 1])

    def compact(self) -> None:
        """Make one segment of everything, and leave out what was removed."""
        self._parts.compact()

    def freeze(self) -> Frozen:
        """Return what the index holds now, to be saved while it goes on changing; little is copied."""
        return Frozen(self._parts.frozen(), self.scheme, str(self.plan.design))

    def save(self, path: Path | str, origin: str = "") -> None:
        """Compact the index and write it to a file.

        A process that is killed, or a disk that is full, leaves the file that was there before.

        Args:
            path: of the file.
            origin: what the fingerprints were taken from, up to where; for whoever opens it.

        Raises:
            OSError: the file cannot be written.
        """
        index_file.write(Path(path), self._parts.compact(), self.scheme, str(self.plan.design), origin)

    @classmethod
    def open(cls, path: Path | str, plan: ProbePlan, scheme: str = SCHEME) -> Self:
        """Open a saved index; the file is read where and when something is looked up.

        What is added stands in memory until it is saved, and the file stays as it is.

        Args:
            path: of the file.
            plan: see the class.
            scheme: name and version of the way the fingerprints of the queries are made.

        Raises:
            IndexFileError: the file is damaged, is none, or has another scheme or design.
        """
        index = cls(plan, scheme)
        header, segment = index_file.read(Path(path))
        if header.scheme != scheme:
            raise IndexFileError(
                f"{path}: made with scheme '{header.scheme}' instead of '{scheme}': set this scheme, or build it again"
            )
        if header.design != str(plan.design):
            raise IndexFileError(f"{path}: has tables '{header.design}' instead of '{plan.design}': build it again")
        index.origin = header.origin
        if len(segment):
            index._parts.append(segment)
        return index

    @staticmethod
    def verify(path: Path | str) -> index_file.Header:
        """Read a saved index as a whole and compare it with its checksums.

        Raises:
            IndexFileError: something is damaged.
        """
        return index_file.verify(Path(path))

    def report(self) -> Report:
        """Say what the index consists of, and which blocks very many fingerprints have in common."""
        sizes = sorted((len(segment) for segment in self._parts.segments), reverse=True)
        return Report(
            documents=len(self),
            fingerprints=sum(sizes),
            newest=len(self._parts.recent),
            segments=tuple(sizes),
            merging=bool(self._parts.merges),
            nbytes=self._parts.nbytes,
            crowded=crowded_buckets(self._parts.segments),
        )

    def _look_up_near(self, queries: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
        """Return the results of queries, those of each in their order: query, distance and document."""
        results, found = np.empty((len(queries) + _RESULTS, 3), np.int64), 0
        for table in range(BLOCKS):
            # In the order of the blocks: what stands together is read together.
            blocks = (queries >> np.uint64(64 - BLOCK_BITS * (table + 1))).astype(np.uint16)
            order = np.argsort(blocks, kind="stable")
            asked = np.stack((queries.take(order).view(np.int64), order), axis=1)
            results, found = look_up_many(self._parts.table, table, asked, limit, results, found)
        return rank_all(results[:found], limit)

    def _look_up_wide(
        self, queries: NDArray[np.uint64], margins: NDArray[np.int64] | None, limit: int
    ) -> NDArray[np.int64]:
        each = self._margins_of(queries, margins)
        results, found, done = np.empty((_RESULTS, 3), np.int64), 0, 0
        while limit > 0:
            done, found = look_up_wide(
                self._parts.table, queries, each, self._flips, self.plan.radius, limit, done, results, found
            )
            if done == len(queries):
                break
            longer = np.empty((4 * len(results), 3), np.int64)
            longer[:found] = results[:found]
            results = longer
        return results[:found]

    def _margins_of(self, queries: NDArray[np.uint64], margins: NDArray[np.int64] | None) -> NDArray[np.int64]:
        if not self._needs_margins:
            return np.broadcast_to(self._no_margins, (len(queries), BITS))
        if margins is None:
            raise ValueError("the plan flips weak bits: give the margins of each query")
        if margins.shape != (len(queries), BITS):
            raise ValueError(f"margins of shape {margins.shape}: expected ({len(queries)}, {BITS})")
        return np.ascontiguousarray(margins, np.int64)


def _signed(fingerprint: int) -> int:
    """Return the signed number with the same 64 bits: kernels are compiled for one type of numbers."""
    if not 0 <= fingerprint <= _ALL_BITS:
        raise ValueError(f"fingerprint {fingerprint}: expected 64 bits, unsigned")
    return fingerprint - (1 << BITS) if fingerprint & _SIGN_BIT else fingerprint


def _fingerprints(values: ArrayLike) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values, np.uint64)
