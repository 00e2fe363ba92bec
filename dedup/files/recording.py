"""Decided documents are written to the outputs of a run, gathered by clusters, counted."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.errors import InputError
from dedup.files.appending import AppendingFile
from dedup.files.batches import Batch
from dedup.files.deciding import CorpusDeduplicator, Related
from dedup.files.document_table import DocumentTable
from dedup.files.job import Job
from dedup.files.outputs import Output, Row, extended, has_columns, open_output, rows_with, to_json
from dedup.files.readers.documents import CorpusDocument, CorpusFile, Page, ParquetRow
from dedup.files.readers.jsonl import record_fields
from dedup.files.readers.parquet import arrow_source
from dedup.files.readers.streams import load_pyarrow
from dedup.files.tally import Tally
from dedup.rules.decisions import Decision
from dedup.rules.documents import join_clusters
from dedup.signature.charsets import decode_html
from dedup.signature.signature import DIGEST_BYTES

KEPT = {"key": "string", "text": "large_string", "source": "string", "record": "large_string"}
"""The columns of kept documents that do not all come from one kind of Parquet file."""

RELATED = {
    "key": "string",
    "original": "string",
    "matched": "string",
    "verdict": "string",
    "distance": "int32",
    "similarity": "float64",
    "rule": "string",
    "lost": "int32",
    "lost_bytes": "int32",
    "places": "int32",
    "source": "string",
}
"""The columns of documents that were dropped, or are similar to others."""
CLUSTERS = {"leader": "string", "keys": "strings"}
"""The columns of clusters."""

CLUSTER_FIELDS = {"copies": "int64", "cluster": "string"}
"""What kept documents may be given: how many of those read each stands for, itself and all that `dropped` names it
as the original of; and the key of the leader of its cluster."""

_OF_DOCUMENTS = {"key", "original", "matched", "source"}
PAIRS = {"a": "string", "b": "string", **{name: RELATED[name] for name in RELATED if name not in _OF_DOCUMENTS}}
"""The columns of pairs, `b` a duplicate of `a` or similar to it: as `dedup evaluate` reads them with a label."""

_COLUMNS = {
    "kept": KEPT,
    "dropped": RELATED,
    "similar": RELATED,
    "clusters": CLUSTERS,
    "rejected": {"source": "string", "reason": "string"},
    "pairs": PAIRS,
    "report": RELATED,
}

MEMBERS = "members"
"""The name of the file, in the folder of the state."""

_NUMBER_BYTES = 8

REPORTED = "report.jsonl"
"""What a report is made of, in the folder of the state: a line a document that is a copy, or similar."""


def related_row(key: str, decision: Decision) -> dict[str, Any]:
    """Return a document that was dropped, or is similar to another one, as a row of the columns `RELATED`.

    Args:
        key: what it is called.
        decision: what was decided on it.

    Returns:
        Its `key`; the leader of the cluster that it belongs to, or resembles (`original`), and the member that it was
        found by (`matched`), often the same; `verdict`; the `distance` in bits of its fingerprint from that of the
        original, and the `similarity`, between 0 and 1; the short name of the `rule` that decided; how many
        words it says that nothing kept does (`lost`), and their size; in how many `places` document and original each
        say what the other does not. `source` is missing.
    """
    return {"key": key, "original": decision.original, "matched": decision.matched, **decision.columns()}


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


def as_it_came(document: CorpusDocument, text: str | None) -> Row:
    """Return a document as it is written to JSONL.

    A line of JSONL is the same to the byte, rows and text files are objects, pages objects with their fields and the
    main text.

    Args:
        document: as it was read.
        text: the main text of its page, if it is one; None: the page itself is written.
    """
    record = document.record
    if not isinstance(record, Page):
        return record
    if text is not None:
        return {**record.fields, "text": text}
    return {**record.fields, "html": decode_html(document.html or b"").text}


def general_row(document: CorpusDocument, text: str | None) -> dict[str, Any]:
    """Return a document as a row of columns that all have: key, text, source, and the record as JSON.

    Args:
        document: as it was read.
        text: the main text of its page, if it is one.
    """
    row = as_it_came(document, text)
    record = to_json(row) if isinstance(row, dict | ParquetRow) else row
    return {
        "key": document.key,
        "text": document.text if text is None else text,
        "source": document.source,
        "record": record.decode(),
    }


def _require_without_cluster_fields(documents: Iterable[CorpusDocument]) -> None:
    """Refuse records that would have a field of their cluster twice.

    Raises:
        InputError: one has it.
    """
    for document in documents:
        for name in CLUSTER_FIELDS:
            if name in record_fields(document.record):
                raise InputError(f"--cluster-fields: {document.source} has a field {name!r} already; leave it out")


class Members:
    """The dropped documents with the numbers of their leaders, in a file.

    Args:
        folder: where the file is.
    """

    def __init__(self, folder: Path) -> None:
        self._file = AppendingFile(folder / MEMBERS)

    def add(self, leader: int, key: str) -> None:
        """Note that a document belongs to the cluster of a leader."""
        self._file.append(leader.to_bytes(_NUMBER_BYTES, "little") + key.encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def clusters(self, joined: Mapping[int, int]) -> ClusterKeys:
        """Return the clusters of all that were noted.

        Args:
            joined: by leaders whose clusters are counted with others the first of these.
        """
        leaders, places = [], []
        for place, data in self._file.read_all():
            leaders.append(int.from_bytes(data[:_NUMBER_BYTES], "little"))
            places.append(place)
        numbers = np.array(leaders, np.int64)
        for place in np.flatnonzero(np.isin(numbers, list(joined))).tolist():
            numbers[place] = joined[int(numbers[place])]
        return ClusterKeys(self._file, numbers, np.array(places, np.int64))


class ClusterKeys:
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


class Recorder:
    """Records what documents turned out to be.

    Args:
        job: its outputs.
        folder: for what does not stand in memory.

    Attributes:
        tally: the counts.

    Raises:
        InputError: an output cannot be written.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        self.tally = Tally()
        self._paths = job.outputs
        self._files = [file.name for file in job.files]
        # By the numbers of the files: documents, and dropped ones.
        self._counts = np.zeros((len(job.files), 2), np.int64)
        self._outputs: dict[str, Output] = {}
        # Of the kept documents, where their clusters are asked for.
        self._digests = bytearray()
        # Of each document that is a copy of two leaders both.
        self._seconds = array("q")
        # Of each document that was dropped.
        self._leaders = array("q")
        with ExitStack() as stack:
            self._members = stack.enter_context(closing(Members(folder)))
            schema = common_schema(job.files) if "kept" in job.outputs else None
            self._is_general = schema is None and "kept" in job.outputs and has_columns(job.outputs["kept"])
            columns = _COLUMNS if schema is None else _COLUMNS | {"kept": schema}
            # A report is made of all that is related once all is decided, whether that is an output or not.
            paths = job.outputs | ({"report": folder / REPORTED} if "report" in job.outputs else {})
            self._final_columns = None
            if job.cluster_fields and "kept" in paths:
                # They are known once all is decided.
                self._final_columns = extended(columns["kept"], CLUSTER_FIELDS)
                paths["kept"] = folder / ("kept.parquet" if has_columns(paths["kept"]) else "kept.jsonl")
            for name in [each for each in columns if each in paths]:
                self._outputs[name] = open_output(paths[name], columns[name])
                stack.callback(self._outputs[name].discard)
            self._open = stack.pop_all()

    def record(self, batch: Batch, related: Iterable[Related]) -> None:
        """Record what was read; all documents but the duplicates among them are new, some of them similar to others."""
        signatures = batch.signatures
        for rejected in batch.rejected:
            self.tally.count_rejected(rejected.source, rejected.reason)
            self._write("rejected", {"source": rejected.source, "reason": rejected.reason})
        for skipped in batch.skipped:
            self.tally.count_skipped(skipped.reason, skipped.count)
        for place, reason in signatures.unanalysed.items():
            self.tally.count_unanalysed(batch.source_of(place), reason)
        is_new = np.ones(len(batch), np.bool_)
        tokens = signatures.rows["tokens"]
        for place, decision, leader, second in related:
            row = {**related_row(batch.keys[place], decision), "source": batch.source_of(place)}
            self._write("report", row)
            self._write("pairs", {"a": decision.original, "b": batch.keys[place], **decision.columns()})
            if not decision.is_dropped:
                self.tally.similar += 1
                self._write("similar", row)
                continue
            self._members.add(leader, batch.keys[place])
            if second is not None:
                self._seconds.extend((leader, second))
            is_new[place] = False
            self._leaders.append(leader)
            self.tally.count_duplicate(decision, has_words=bool(tokens[place]))
            self._write("dropped", row)
        np.add.at(self._counts, batch.places["file"], np.stack([np.ones_like(is_new), ~is_new], axis=1))
        if "kept" in self._outputs:
            self._write_kept(batch, np.flatnonzero(is_new))
        is_new[list(signatures.unanalysed)] = False
        wordless, sizes = np.count_nonzero(tokens[is_new] == 0), signatures.text_bytes[is_new]
        self.tally.count_new(len(sizes), int(wordless), int(sizes.sum()))

    def finish(self, deduplicator: CorpusDeduplicator) -> ClusterKeys:
        """Write the clusters, and what a report is made of; return the clusters."""
        joined = join_clusters(zip(self._seconds[::2], self._seconds[1::2], strict=True))
        # Who leads a cluster that is counted with an earlier one is a member of that.
        others = [leader for leader, first in joined.items() if leader != first]
        for leader, key in zip(others, deduplicator.table.keys(np.array(others, np.int64)), strict=True):
            self._members.add(leader, key)
        clusters = self._members.clusters(joined)
        if "clusters" in self._outputs:
            for key, duplicates in zip(deduplicator.table.keys(clusters.leaders), clusters.keys(), strict=True):
                self._outputs["clusters"].write({"leader": key, "keys": [key, *duplicates]})
        if "report" in self._outputs:
            self._outputs.pop("report").close()
        if self._final_columns is not None:
            self._add_cluster_fields(deduplicator.table, joined)
        self.tally.count_sources(self._files, self._counts)
        return clusters

    def _add_cluster_fields(self, table: DocumentTable, joined: Mapping[int, int]) -> None:
        """Write the kept documents once more, each with the fields of its cluster."""
        before = self._outputs.pop("kept")
        before.close()
        output = self._outputs["kept"] = open_output(self._paths["kept"], self._final_columns)
        self._open.callback(output.discard)
        dropped = Counter(self._leaders)

        def fields() -> Iterator[dict[str, Any]]:
            for start in range(0, len(self._digests), DIGEST_BYTES):
                number = table.find(bytes(self._digests[start : start + DIGEST_BYTES]))
                if number is None:
                    yield {"copies": 1, "cluster": None}
                    continue
                leader = table.leader_of(number)
                yield {"copies": 1 + dropped[number], "cluster": table.key(joined.get(leader, leader))}

        for row in rows_with(before.path, fields(), CLUSTER_FIELDS):
            output.write(row)

    def name_outputs(self) -> None:
        """Give the outputs their names; a file of what was rejected is there only where anything was."""
        for output in self._outputs.values():
            output.close()
        if "rejected" in self._paths and not self.tally.rejected:
            self._paths["rejected"].unlink(missing_ok=True)

    def close(self) -> None:
        """Close all files; outputs that are not whole are removed."""
        self._open.close()

    def _write(self, name: str, row: dict[str, Any]) -> None:
        if name in self._outputs:
            self._outputs[name].write(row)

    def _write_kept(self, batch: Batch, places: NDArray[np.int64]) -> None:
        """Write documents as they came; to Parquet as rows that all have, where not all of them come from there."""
        output = self._outputs["kept"]
        if self._final_columns is not None:
            self._digests += batch.signatures.rows["digest"][places].tobytes()
            if not has_columns(self._paths["kept"]):
                _require_without_cluster_fields(document for document, _ in batch.documents(places))
        lines = None if self._is_general else batch.lines(places)
        if lines is None:
            make = general_row if self._is_general else as_it_came
            for document, text in batch.documents(places):
                output.write(make(document, text))
        elif lines:
            output.write(b"".join(lines).removesuffix(b"\n"))
