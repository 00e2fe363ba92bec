"""Wide look-ups on signatures of texts made of real ones: rates, candidates, recall, and what a decision costs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert

from benchmarks.edited_texts import EDITS, Texts
from dedup.corpus.candidates.candidates import Candidates
from dedup.index.memory.index import MemoryIndex
from dedup.ledger.deduplicator import Deduplicator
from dedup.ledger.document_rows import open_run
from dedup.ledger.tables.permuted import SqlIndex
from dedup.report.evaluation.labelled import read_set
from dedup.report.evaluation.run import analyse_documents
from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import check_sketches, plan_of
from dedup.signature.schemes import DEFAULT
from dedup.signature.signature import Signature, digest, make_signature
from dedup.signature.sketch import Sketch, compare
from dedup.sql.database import Database, open_dedup_database
from dedup.sql.schema import documents as documents_table
from dedup.sql.schema import to_signed

STEPS = (10_000, 100_000, 300_000, 1_000_000)
_QUERIES = 100 * len(EDITS)
DECISIONS = 1_000
_BATCH = 50
_CHUNK = 500
_ROWS = 20_000
_SKETCH_BYTES = 80
_RADII = (16, 12)

Ask = Callable[[Signature], Sequence[int]]


class Stored(NamedTuple):
    """Fingerprints, shape (n,), and sketches, shape (n, 80), of the texts 0 to n - 1."""

    fingerprints: NDArray[np.uint64]
    sketches: NDArray[np.uint8]


def run(*, data: Path, n: int = 100_000) -> dict[str, Any]:
    """Make signatures, look edited copies of some up as `dedup files` does, in memory, in SQL; print how that grows.

    Args:
        data: a labelled set, whose texts the others are made of.
        n: how many documents at most.

    Returns:
        The figures.

    Raises:
        InputError: the folder holds no labelled set.
        ValueError: there is nothing to measure, or two ways of looking up found different documents.
    """
    steps = [step for step in STEPS if step <= n]
    if not steps:
        raise ValueError(f"--n: expected at least {STEPS[0]:,}")
    texts = real_texts(data)
    sources = Texts(texts).sources
    with ProcessPoolExecutor(os.cpu_count(), initializer=_prepare, initargs=(texts,)) as pool:
        parts = list(pool.map(_sign, range(0, steps[-1], _CHUNK)))
        queries = list(pool.map(_sign_copy, range(_QUERIES), chunksize=20))
        fresh = list(pool.map(_sign_fresh, range(steps[-1], steps[-1] + DECISIONS), chunksize=100))
    stored = Stored(*(np.concatenate(column)[: steps[-1]] for column in zip(*parts, strict=True)))
    figures: dict[str, Any] = {"sources": sources, "queries": _QUERIES, "decisions": DECISIONS, "steps": []}
    print(f"{sources:,} real texts; {_QUERIES} edited copies of stored documents are looked up")
    with TemporaryDirectory(prefix="benchmark-wide-") as folder:
        world = _World(f"sqlite:///{folder}/index.db", stored, queries)
        try:
            for start, end in pairwise([0, *steps]):
                world.grow(start, end)
                figures["steps"].append(world.measure(end, fresh))
                print("\n" + _table(figures["steps"][-1]))
        finally:
            world.close()
    return figures


def real_texts(data: Path) -> list[str]:
    """Return one text of each cluster."""
    labelled = read_set(data)
    firsts = {document.cluster: name for name, document in reversed(labelled.documents.items())}
    chosen = replace(labelled, documents={name: labelled.documents[name] for name in sorted(firsts.values())})
    [analysed] = analyse_documents([chosen], DEFAULT)
    return [document.text for document in analysed.values()]


_texts: list[Texts] = []


def _prepare(real: list[str]) -> None:
    _texts.append(Texts(real))


def _sign(start: int) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    signatures = [make_signature(_texts[0].text(number)) for number in range(start, start + _CHUNK)]
    sketches = b"".join(signature.sketch.to_bytes() for signature in signatures)
    return (
        np.array([signature.fingerprint for signature in signatures], np.uint64),
        np.frombuffer(sketches, np.uint8).reshape(-1, _SKETCH_BYTES),
    )


def _sign_copy(number: int) -> Signature:
    return make_signature(_texts[0].copy(number, EDITS[number % len(EDITS)]))


def _sign_fresh(number: int) -> Signature:
    return make_signature(_texts[0].text(number))


class _World:
    """The same documents in an array, in memory tables and in a database; document n has the id n + 1."""

    def __init__(self, url: str, stored: Stored, queries: list[Signature]) -> None:
        settings = DedupSettings(database_url=url)
        self._settings, self._stored, self._queries = settings, stored, queries
        self._limit = settings.max_candidates
        self._plans = {radius: plan_of(replace(settings, radius=radius)) for radius in _RADII}
        self._files = Candidates(settings, 1)
        self._memory = {radius: MemoryIndex(plan) for radius, plan in self._plans.items()}
        self._sql = SqlIndex(self._plans[_RADII[0]])
        self._database: Database = open_dedup_database(url, DEFAULT.name, str(settings.tables))
        with self._database.write() as connection:
            self._run = open_run(connection, "benchmark")

    def grow(self, start: int, end: int) -> None:
        """Add the documents from `start` up to `end`."""
        ids, fingerprints = np.arange(start, end) + 1, self._stored.fingerprints[start:end]
        self._files.add_many(ids, fingerprints)
        for index in self._memory.values():
            index.add_many(ids, fingerprints)
        for first in range(start, end, _ROWS):
            with self._database.write() as connection:
                numbers = range(first, min(first + _ROWS, end))
                connection.execute(insert(documents_table), list(self._rows(numbers)))
                self._sql.add(connection, ((number + 1, int(self._stored.fingerprints[number])) for number in numbers))

    def measure(self, count: int, fresh: list[Signature]) -> dict[str, Any]:
        """Measure everything with so many documents."""
        wide, narrow = _RADII
        with self._database.read() as connection:

            def ask_sql(query: Signature) -> list[int]:
                return _ids(self._sql.query(connection, query.fingerprint, query.margins, self._limit))

            def ask_files(query: Signature) -> list[int]:
                queries = np.array([query.fingerprint], np.uint64)
                closest = self._files.find(queries, query.margins[np.newaxis], 0)
                numbers: list[int] = self._files.numbers_of(closest, 0).tolist()
                return numbers

            by_files = self._look_up(ask_files)
            by_memory = self._look_up(self._asking(wide, self._limit))
            by_sql = self._look_up(ask_sql)
        if not by_files["found"] == by_memory["found"] == by_sql["found"]:
            raise ValueError("files, memory and SQL found different documents")
        methods = {
            f"files, radius {wide}": by_files,
            f"memory, radius {wide}": by_memory,
            f"SQL, radius {wide}": by_sql,
            f"memory, radius {narrow}": self._look_up(self._asking(narrow, self._limit)),
        }
        everything = {radius: self._look_up(self._asking(radius, count)) for radius in _RADII}
        return {
            "documents": count,
            "bytes_a_document": self._memory[wide].report().nbytes / count,
            "look_ups": {
                name: {"per_second": 1000 / each["ms"], "ms": each["ms"], "returned": mean(map(len, each["found"]))}
                for name, each in methods.items()
            },
            "candidates": {radius: mean(map(len, each["found"])) for radius, each in everything.items()},
            "recall": {radius: self._recall(self._look_up(self._asking(radius, self._limit))) for radius in _RADII},
            "confirmed": _by_edit([self._is_confirmed(number) for number in range(_QUERIES)]),
            "decision_ms": self._decide(fresh),
        }

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _rows(self, numbers: range) -> Iterator[dict[str, Any]]:
        for number in numbers:
            name = digest(str(number).encode())
            yield {
                "id": number + 1,
                "key": str(number),
                "key_digest": name,
                "text_digest": name,
                "text_bytes": 0,
                "fingerprint": to_signed(int(self._stored.fingerprints[number])),
                "sketch": self._stored.sketches[number].tobytes(),
                "indexed": 1,
                "first_run_id": self._run,
                "last_run_id": self._run,
                "content_run_id": self._run,
            }

    def _asking(self, radius: int, limit: int) -> Ask:
        index = self._memory[radius]
        return lambda query: _ids(index.query(query.fingerprint, query.margins, limit))

    def _look_up(self, ask: Ask) -> dict[str, Any]:
        ask(self._queries[0])
        started = time.thread_time()
        found = [list(ask(query)) for query in self._queries]
        return {"ms": 1000 * (time.thread_time() - started) / len(self._queries), "found": found}

    def _recall(self, looked_up: dict[str, Any]) -> dict[str, float]:
        """Return by edit which share of originals was brought and confirmed by the sketches."""
        right = [number + 1 in found and self._is_confirmed(number) for number, found in enumerate(looked_up["found"])]
        return _by_edit(right)

    def _is_confirmed(self, number: int) -> bool:
        original = Sketch.from_bytes(self._stored.sketches[number].tobytes())
        return check_sketches(compare(self._queries[number].sketch, original), self._settings).is_duplicate

    def _decide(self, fresh: list[Signature]) -> float:
        """Return the milliseconds of CPU that deciding a new document takes; it is stored then, in a copy."""
        self._database.close()
        source = Path(self._database.url.database or "")
        copy = Path(shutil.copy(source, source.with_name("copy.db")))
        deduplicator = Deduplicator(replace(self._settings, database_url=f"sqlite:///{copy}"))
        started = 0.0
        for first in range(0, len(fresh), _BATCH):
            if first == _BATCH:
                # The first batch prepares statements.
                started = time.thread_time()
            batch = [Document(f"fresh {place}", fresh[place], 1) for place in range(first, first + _BATCH)]
            deduplicator.decide(batch, self._run)
        spent = time.thread_time() - started
        deduplicator.close()
        copy.unlink()
        return 1000 * spent / (len(fresh) - _BATCH)


def _by_edit(right: list[bool]) -> dict[str, float]:
    return {edit: mean(right[place :: len(EDITS)]) for place, edit in enumerate(EDITS)}


def _ids(candidates: Sequence[Any]) -> list[int]:
    return [candidate.document_id for candidate in candidates]


def _table(step: dict[str, Any]) -> str:
    lines = [f"{step['documents']:,} documents, {step['bytes_a_document']:.0f} bytes each in memory"]
    lines.append(f"  {'look-ups':28}{'a second':>10}{'CPU ms':>9}{'returned':>10}")
    lines += [
        f"  {name:28}{each['per_second']:>10,.0f}{each['ms']:>9.3f}{each['returned']:>10.1f}"
        for name, each in step["look_ups"].items()
    ]
    lines.append(
        f"  {'copies found and confirmed':28}" + "".join(f"{edit:>20}" for edit in EDITS) + f"{'candidates':>12}"
    )
    rows = {f"radius {radius}": (recall, step["candidates"][radius]) for radius, recall in step["recall"].items()}
    rows["every pair, by the sketches"] = (step["confirmed"], step["documents"])
    lines += [
        f"  {name:28}" + "".join(f"{recall[edit]:>20.2f}" for edit in EDITS) + f"{candidates:>12,.0f}"
        for name, (recall, candidates) in rows.items()
    ]
    lines.append(f"  CPU ms a decision on a new document, written to SQLite: {step['decision_ms']:.2f}")
    return "\n".join(lines)
