"""What is written of a corpus: kept and dropped documents; clusters, gathered while documents are decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import AppendingFile
from dedup.corpus.reading.documents import CorpusDocument, Page, ParquetRow
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.libraries import load_pyarrow
from dedup.corpus.reading.line_ranges import ReadMemory
from dedup.corpus.reading.parquet import arrow_source
from dedup.corpus.signing.batches import SignedBatch
from dedup.corpus.writing.jsonl import to_json
from dedup.corpus.writing.outputs import Row, has_columns, open_output
from dedup.rules.decision import Decision

_KEPT = {"key": "string", "text": "large_string", "source": "string", "record": "large_string"}
RELATED = {
    "key": "string",
    "original": "string",
    "matched": "string",
    "verdict": "string",
    "distance": "int32",
    "similarity": "float64",
    "rule": "string",
    "kept": "string",
    "lost": "int32",
    "lost_bytes": "int32",
    "places": "int32",
    "source": "string",
}
"""The columns of documents that were dropped, or are similar to others."""
_REJECTED = {"source": "string", "reason": "string"}
_CLUSTERS = {"leader": "string", "keys": "strings"}


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A document that was dropped, or that is similar to another one and was kept.

    Attributes:
        key: what it is called.
        original: the leader of the cluster that it belongs to, or resembles.
        matched: the member that it was found by; often the original.
        verdict: what it is.
        distance: bits in which its fingerprint differs from that of `original`.
        similarity: how much of the text they share, between 0 and 1.
        rule: the short name of the rule that decided.
        kept: why it is kept though it is a copy, if it is.
        lost: how many words it says that nothing kept does, where it is a near-duplicate.
        lost_bytes: the size of these.
        places: in how many places document and original each say what the other does not.
        source: file and line where it stands.
    """

    key: str
    original: str | None
    matched: str | None
    verdict: str
    distance: int | None
    similarity: float | None
    rule: str | None
    kept: str | None
    lost: int
    lost_bytes: int
    places: int
    source: str

    @classmethod
    def of(cls, key: str, source: str, decision: Decision) -> Self:
        """Return a document with what was decided on it."""
        return cls(
            key,
            decision.original,
            decision.matched,
            decision.verdict.value,
            decision.distance,
            decision.similarity,
            decision.rule and decision.rule.short,
            decision.outcome.kept and decision.outcome.kept.value,
            decision.lost.words,
            decision.lost.bytes,
            decision.lost.places,
            source,
        )


class _TableWriter:
    """A table that is written row by row; left by an error, what is there can be resumed.

    Args:
        path: the file, `.jsonl` or `.parquet`.
        resume_at: a checkpoint; None: begin anew.

    Attributes:
        columns: those of the rows, as `open_output` takes them.

    Raises:
        InputError: the file cannot be written, or not be resumed.
    """

    columns: Any = None

    def __init__(self, path: Path, resume_at: int | None = None) -> None:
        self._output = open_output(path, self.columns, resume_at)

    def checkpoint(self) -> int:
        """Make all rows so far safe; return where writing can be resumed."""
        return self._output.checkpoint()

    def close(self) -> None:
        """Finish the file and give it its name."""
        self._output.close()

    def suspend(self) -> None:
        """Close what is open; what was written up to the last checkpoint stays."""
        self._output.suspend()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.suspend()


class RejectedWriter(_TableWriter):
    """Writes what could not be read as a document: where it stands, and why."""

    columns = _REJECTED

    def write(self, source: str, reason: str) -> None:
        """Write a line, row, record or the rest of a file."""
        self._output.write({"source": source, "reason": reason})


class KeptWriter(_TableWriter):
    """Writes kept documents as they came.

    To JSONL: lines of JSONL byte for byte, rows and text files as objects, pages as objects with
    their fields and the main text. To Parquet: rows as they are if `schema` is given, otherwise the
    columns key, text, source and record, the record as JSON: fields differ from file to file.

    Args:
        path: the file, `.jsonl` or `.parquet`.
        schema: the columns of all documents where all come from Parquet; see `common_schema`.
        resume_at: a checkpoint; None: begin anew.

    Raises:
        InputError: the file cannot be written, or not be resumed.
    """

    def __init__(self, path: Path, schema: Any = None, resume_at: int | None = None) -> None:
        self.columns = _KEPT if schema is None else schema
        super().__init__(path, resume_at)
        self._is_general = has_columns(path) and schema is None

    def write(self, document: CorpusDocument, text: str | None = None) -> None:
        """Write a document.

        Args:
            document: as it was read.
            text: the main text of its page, if it is one; None: the page itself is written.
        """
        if self._is_general:
            self._output.write(general_row(document, text))
        else:
            self._output.write(_as_it_came(document, text))

    def write_batch(self, batch: SignedBatch, places: NDArray[np.int64], memory: ReadMemory) -> None:
        """Write some documents of a batch.

        Args:
            batch: the documents.
            places: which of them.
            memory: where those are read to that are read again.
        """
        lines = None if self._is_general else batch.lines(places, memory)
        if lines is not None:
            self._output.write_lines(lines)
            return
        for document, text in batch.documents(places):
            self.write(document, text)


class RelatedWriter(_TableWriter):
    """Writes documents that were dropped, or are similar to others: which, because of which, and how close they are."""

    columns = RELATED

    def write(self, document: RelatedDocument) -> None:
        """Write a document."""
        # asdict would copy the values too, in ten times the time.
        self._output.write({name: getattr(document, name) for name in RELATED})


class ClusterWriter(_TableWriter):
    """Writes clusters."""

    columns = _CLUSTERS

    def write(self, leader: str, keys: Sequence[str]) -> None:
        """Write a cluster: its leader, and the keys of all that belong to it."""
        self._output.write({"leader": leader, "keys": list(keys)})


def common_schema(files: Sequence[CorpusFile]) -> Any:
    """Return the schema of a corpus, a `pyarrow.Schema`, if all of it is Parquet with equal columns; else None."""
    schema = None
    for file in files:
        if file.format != "parquet":
            return None
        with arrow_source(file.path) as source:
            found = load_pyarrow(file.name).parquet.read_schema(source)
        if schema is not None and not found.equals(schema):
            return None
        schema = found
    return schema


def _as_it_came(document: CorpusDocument, text: str | None) -> Row:
    record = document.record
    if not isinstance(record, Page):
        return record
    if text is not None:
        return {**record.fields, "text": text}
    return {**record.fields, "html": _decode(document.html or b"")}


def general_row(document: CorpusDocument, text: str | None) -> dict[str, Any]:
    """Return a document as a row of columns that all have: key, text, source, and the record as JSON.

    Args:
        document: as it was read.
        text: the main text of its page, if it is one.
    """
    row = _as_it_came(document, text)
    record = to_json(row) if isinstance(row, dict | ParquetRow) else row
    return {
        "key": document.key,
        "text": document.text if text is None else text,
        "source": document.source,
        "record": record.decode(),
    }


def _decode(html: bytes) -> str:
    from trafilatura.utils import decode_file  # noqa: PLC0415 -- a second that only this rare case needs

    return str(decode_file(html)).encode("utf-8", "replace").decode()


FILE = "members"
"""The name of the file, in the folder of the state."""

_NUMBER_BYTES = 8

Leaders = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Returns the leaders of the clusters that documents belong to."""


class Members:
    """The dropped documents with the numbers of their leaders, in a file.

    Args:
        folder: where the file is.
        length: what the last checkpoint returned; 0: begin anew.

    Raises:
        InputError: the file is not what the checkpoint says.
    """

    def __init__(self, folder: Path, length: int = 0) -> None:
        self._file = AppendingFile(folder / FILE, length)
        self._length = length

    def add(self, leader: int, key: str) -> None:
        """Note that a document belongs to the cluster of a leader."""
        self._file.append(leader.to_bytes(_NUMBER_BYTES, "little") + key.encode())

    def checkpoint(self) -> int:
        """Make all of it safe; return its length."""
        self._length = self._file.checkpoint()
        return self._length

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def clusters(self, leaders_of: Leaders) -> Clusters:
        """Return the clusters of all that were noted up to the last checkpoint.

        Args:
            leaders_of: returns the leaders of those that were leaders when a duplicate was noted.
        """
        leaders, places = [], []
        for place, data in self._file.read_all(self._length):
            leaders.append(int.from_bytes(data[:_NUMBER_BYTES], "little"))
            places.append(place)
        return Clusters(self._file, leaders_of(np.array(leaders, np.int64)), np.array(places, np.int64))


class Clusters:
    """Duplicates by the leaders of their clusters.

    Args:
        file: where the duplicates stand.
        leaders: the number of the leader of each.
        places: where each stands.

    Attributes:
        leaders: the numbers of the leaders, rising.
    """

    def __init__(self, file: AppendingFile, leaders: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self._file = file
        order = np.argsort(leaders, kind="stable")
        self._places = places[order]
        self.leaders, starts = np.unique(leaders[order], return_index=True)
        self._bounds = np.append(starts, len(order))

    def largest(self, count: int) -> list[tuple[int, int]]:
        """Return the leaders of the largest clusters with their numbers of duplicates, the largest first."""
        sizes = np.diff(self._bounds)
        largest = np.argsort(-sizes, kind="stable")[:count]
        return list(zip(self.leaders[largest].tolist(), sizes[largest].tolist(), strict=True))

    def keys(self) -> Iterator[list[str]]:
        """Yield the keys of the duplicates of each leader, in the order in which they were noted."""
        duplicates = self._file.read_many(self._places.tolist())
        for size in np.diff(self._bounds).tolist():
            yield [data[_NUMBER_BYTES:].decode() for data in islice(duplicates, size)]
