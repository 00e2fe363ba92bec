"""`MemoryIndex`: add, remove, look up, save, and grow without a pause."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dedup.errors import IndexFileError, SettingsError
from dedup.fingerprint.signature import BITS, SCHEME
from dedup.index.design import TableDesign
from dedup.index.memory import files
from dedup.index.memory.batches import look_up_many
from dedup.index.memory.crowds import crowds
from dedup.index.memory.flips import Flips
from dedup.index.memory.near import MAX_RADIUS, look_up, look_up_few
from dedup.index.memory.parts import EVERY, Parts, compacted
from dedup.index.memory.recent import add_one
from dedup.index.memory.results import Finds, Report
from dedup.index.memory.segment import BLOCKS, Segment
from dedup.index.memory.wide import look_up_wide
from dedup.index.probes import ProbePlan
from dedup.index.protocol import Candidate

DESIGN = TableDesign(BLOCKS, 1)
NO_LIMIT = 1 << 62

_ALL_BITS = (1 << BITS) - 1
_SIGN_BIT = 1 << (BITS - 1)
_MAX_ID = (1 << 63) - 1
_FINDS = 1024
_IN_ORDER = 4096
"""From so many queries on it pays to look them up in the order of the tables."""


class Frozen:
    """What an index holds at one moment; it can be saved in another thread."""

    def __init__(self, segments: list[Segment], scheme: str, design: str) -> None:
        self._segments, self._scheme, self._design = segments, scheme, design

    def save(self, path: Path | str, origin: str = "") -> None:
        """Compact it and write it to a file; see `MemoryIndex.save`."""
        files.write(Path(path), compacted(self._segments), self._scheme, self._design, origin)


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
        count = add_one(self._parts.table, document_id, value)
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
        return self._parts.remove(document_id, _signed(fingerprint))

    def query(
        self, fingerprint: int, margins: NDArray[np.int64] | None = None, limit: int = NO_LIMIT
    ) -> list[Candidate]:
        """Find the stored fingerprints that the plan's probes bring.

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
        if not self._is_near:
            return self._query_wide(fingerprint, margins, limit)
        parts = self._parts
        found = look_up(parts.table, value, limit)
        if found == 0:
            return []
        while found > len(parts.recent.finds):
            parts.recent.make_room(parts.table[0], 2 * found)
            found = look_up(parts.table, value, limit)
        return [Candidate(document, distance) for distance, document in parts.recent.finds[:found].tolist()]

    def query_many(
        self, fingerprints: ArrayLike, margins: NDArray[np.int64] | None = None, limit: int = NO_LIMIT
    ) -> Finds:
        """Find for many fingerprints what `query` finds for each.

        Args:
            fingerprints: uint64 of shape (q,).
            margins: the margins of their bits, shape (q, 64); see `query`.
            limit: how many candidates of a query at most.

        Raises:
            ValueError: the shapes do not fit, or margins are missing.
        """
        queries = _fingerprints(fingerprints)
        if self._is_near and len(queries) >= _IN_ORDER:
            found, ends = look_up_many(self._parts.table, queries, limit)
        else:
            found, ends = self._look_up(queries, margins, limit)
        counts = np.diff(ends, prepend=0)
        return Finds(np.repeat(np.arange(len(queries)), counts), found[:, 1], found[:, 0])

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
        files.write(Path(path), self._parts.compact(), self.scheme, str(self.plan.design), origin)

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
        header, segment = files.read(Path(path))
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
    def verify(path: Path | str) -> files.Header:
        """Read a saved index as a whole and compare it with its checksums.

        Raises:
            IndexFileError: something is damaged.
        """
        return files.verify(Path(path))

    def report(self) -> Report:
        """Say what the index consists of, and which blocks very many fingerprints have in common."""
        sizes = sorted((len(segment) for segment in self._parts.segments), reverse=True)
        return Report(
            documents=len(self),
            fingerprints=sum(sizes),
            newest=self._parts.newest,
            segments=tuple(sizes),
            merging=self._parts.merge is not None,
            nbytes=self._parts.nbytes,
            crowds=crowds(self._parts.segments),
        )

    def _query_wide(self, fingerprint: int, margins: NDArray[np.int64] | None, limit: int) -> list[Candidate]:
        each = margins[np.newaxis] if margins is not None else None
        found, _ = self._look_up(np.array([fingerprint], np.uint64), each, limit)
        return [Candidate(document, distance) for distance, document in found.tolist()]

    def _look_up(
        self, queries: NDArray[np.uint64], margins: NDArray[np.int64] | None, limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Look up in order; returns distances and documents, and where those of each query end."""
        each = self._margins_of(queries, margins)
        ends = np.zeros(len(queries), np.int64)
        finds = np.empty((_FINDS, 2), np.int64)
        done = 0
        while True:
            if self._is_near:
                done = look_up_few(self._parts.table, queries, limit, done, finds, ends)
            else:
                done = look_up_wide(
                    self._parts.table, queries, each, self._flips, self.plan.radius, limit, done, finds, ends
                )
            if done == len(queries):
                return finds[: ends[-1] if len(ends) else 0], ends
            longer = np.empty((4 * len(finds), 2), np.int64)
            longer[: len(finds)] = finds
            finds = longer

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
