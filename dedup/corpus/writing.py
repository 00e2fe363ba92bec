"""Decisions to outputs: what is kept as it came, what is dropped and why, clusters, pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.decisions import EXACT, IS_DUPLICATE, decision_in, leaders_of
from dedup.corpus.job import Job
from dedup.corpus.outputs import Output, Row, extended, has_columns, open_output, to_json, with_columns
from dedup.corpus.parts import NULL, Column, Parts
from dedup.corpus.portion import rows_path, text_column
from dedup.corpus.reading import REJECTED, Corpus
from dedup.errors import InputError
from dedup.readers.documents import CorpusFile, ParquetRow, source_of
from dedup.readers.jsonl import fields_of
from dedup.readers.parquet import schema_of
from dedup.readers.streams import load_pyarrow
from dedup.rules.decisions import Decision
from dedup.rules.documents import join_clusters

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
    return {"key": key, "original": decision.original, "matched": decision.details.matched, **decision.columns()}


def common_schema(files: Sequence[CorpusFile]) -> Any:
    """Return the schema of a corpus, a `pyarrow.Schema`, if all of it is Parquet with equal columns; else None."""
    schema = None
    for file in files:
        if file.format != "parquet":
            return None
        found = schema_of(file)
        if schema is not None and not found.equals(schema):
            return None
        schema = found
    return schema


class Clusters:
    """Who belongs to whom.

    Args:
        parts: the documents.
        decided: of the type `dedup.corpus.decisions.DECISION`, by rising numbers.

    Attributes:
        joined: by leaders whose clusters are counted as one the first of these.
    """

    def __init__(self, parts: Parts, decided: NDArray[Any]) -> None:
        dropped = decided[IS_DUPLICATE[decided["verdict"]]]
        of_two = dropped[dropped["second"] != NULL]
        self.joined = join_clusters(zip(of_two["original"].tolist(), of_two["second"].tolist(), strict=True))
        # Who leads a cluster that is counted with an earlier one is a member of that.
        others = [leader for leader, first in self.joined.items() if leader != first]
        self._members = np.concatenate([dropped["number"], np.array(others, np.int64)])
        leaders = np.concatenate([dropped["original"], np.array(others, np.int64)])
        for place in np.flatnonzero(np.isin(leaders, list(self.joined))).tolist():
            leaders[place] = self.joined[int(leaders[place])]
        self._members = self._members[np.argsort(leaders, kind="stable")]
        self._leaders, self._sizes = np.unique(leaders, return_counts=True)
        self._parts = parts

    def largest(self, count: int) -> list[tuple[str, int]]:
        """Return the leaders of the largest clusters with their numbers of duplicates, the largest first."""
        largest = np.argsort(-self._sizes, kind="stable")[:count]
        return [(self._parts.key(self._leaders[each]), int(self._sizes[each])) for each in largest.tolist()]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the leader and the keys of each cluster, in the order of the leaders."""
        start = 0
        for leader, size in zip(self._leaders.tolist(), self._sizes.tolist(), strict=True):
            members = self._members[start : start + size].tolist()
            keys = [self._parts.key(number) for number in (leader, *members)]
            yield {"leader": keys[0], "keys": keys}
            start += size


class Outputs:
    """The outputs of a job, open from its beginning: what cannot be written is said before anything is read.

    Args:
        job: names them.
        folder: that of the job.
        schema: the columns of all that is read, where it is Parquet of one kind.

    Attributes:
        files: those that are open, by what goes into them.

    Raises:
        InputError: an output cannot be written.
    """

    def __init__(self, job: Job[Path], folder: Path, schema: Any) -> None:
        self._paths = job.outputs
        self.files: dict[str, Output] = {}
        columns = dict(_COLUMNS)
        if schema is not None:
            columns["kept"] = schema
        if job.cluster_fields and "kept" in job.outputs:
            columns["kept"] = extended(columns["kept"], CLUSTER_FIELDS)
        # A report is made of all that is related once all is decided, whether that is an output or not.
        paths = job.outputs | ({"report": folder / REPORTED} if "report" in job.outputs else {})
        with ExitStack() as stack:
            for name in (each for each in columns if each in paths):
                self.files[name] = open_output(paths[name], columns[name])
                stack.callback(self.files[name].discard)
            self._open = stack.pop_all()

    def write(self, name: str, row: Row) -> None:
        """Write a row, if there is an output of the name."""
        if name in self.files:
            self.files[name].write(row)

    def name_all(self, rejected: int) -> None:
        """Give the outputs their names; a file of what was rejected is there only where anything was."""
        for output in self.files.values():
            output.close()
        if "rejected" in self._paths and not rejected:
            self._paths["rejected"].unlink(missing_ok=True)

    def close(self) -> None:
        """Close all files; outputs that are not whole are removed."""
        self._open.close()


def count_all(job: Job[Path], parts: Parts, corpus: Corpus, decided: NDArray[Any]) -> None:
    """Count what became of the documents.

    Args:
        job: names their files.
        parts: the documents.
        corpus: has the tally.
        decided: what is a copy, or similar to another document, of the type `dedup.corpus.decisions.DECISION`.
    """
    tally, rows = corpus.tally, parts.rows
    for number, reason in corpus.unanalysed.items():
        tally.count_unanalysed(_source_of(job, parts, number), reason)
    is_copy = IS_DUPLICATE[decided["verdict"]]
    dropped = decided[is_copy]
    tally.similar = len(decided) - len(dropped)
    near = dropped[dropped["verdict"] != EXACT]
    numbers = dropped["number"]
    is_dropped = np.zeros(len(rows), np.bool_)
    is_dropped[numbers] = True
    read = ~rows["known"]
    is_new = read & ~is_dropped & ~rows["unanalysed"]
    tally.count_new(
        int(np.count_nonzero(is_new)),
        int(np.count_nonzero(is_new & (rows["tokens"] == 0))),
        int(rows["size"][is_new].sum()),
    )
    tally.count_dropped(near, len(dropped), rows["tokens"][numbers], rows["size"][numbers])
    of_index = dropped[dropped["matched"] < parts.known]
    same_text = (rows["digest"][of_index["number"]] == rows["digest"][of_index["matched"]]).all(axis=1)
    pairs = of_index[same_text][["number", "matched"]].tolist()
    tally.recurred = sum(parts.key(number) == parts.key(first) for number, first in pairs)
    counts = np.zeros((len(job.files), 2), np.int64)
    for column, chosen in enumerate((read, is_dropped)):
        counts[:, column] = np.bincount(rows["file"][chosen], minlength=len(counts))
    tally.count_sources([file.name for file in job.files], counts)


class Writer:
    """Writes what was decided into the outputs of a job.

    Args:
        job: what is to be done.
        folder: that of the job.
        parts: the documents.
        outputs: those of the job.
        has_rows: whether all documents are rows of Parquet of one kind.
    """

    def __init__(self, job: Job[Path], folder: Path, parts: Parts, outputs: Outputs, *, has_rows: bool) -> None:
        self._job, self._folder, self._parts, self._outputs = job, folder, parts, outputs
        self._has_rows = has_rows
        self._rows_of = lru_cache(8)(self._open_rows)

    def write(self, decided: NDArray[Any], clusters: Clusters) -> None:
        """Write everything.

        Args:
            decided: what is a copy, or similar to another document, of the type `dedup.corpus.decisions.DECISION`, by
                rising numbers.
            clusters: who belongs to whom.

        Raises:
            InputError: a record has a field already that it is to be given.
        """
        self._write_rejected()
        self._write_related(decided)
        is_kept = ~self._parts.rows["known"]
        is_kept[decided["number"][IS_DUPLICATE[decided["verdict"]]]] = False
        if "kept" in self._outputs.files:
            numbers = np.flatnonzero(is_kept)
            if self._job.cluster_fields:
                self._write_with_clusters(numbers, decided, clusters)
            else:
                self._write_kept(numbers)
        if "clusters" in self._outputs.files:
            for row in clusters.rows():
                self._outputs.write("clusters", row)
        if "report" in self._outputs.files:
            self._outputs.files.pop("report").close()

    def _write_rejected(self) -> None:
        if "rejected" in self._outputs.files:
            with (self._folder / REJECTED).open("rb") as lines:
                for line in lines:
                    self._outputs.write("rejected", line.removesuffix(b"\n"))

    def _write_related(self, decided: NDArray[Any]) -> None:
        if not self._outputs.files.keys() & {"dropped", "similar", "pairs", "report"}:
            return
        for each in decided:
            number, decision = int(each["number"]), decision_in(each, self._parts)
            key = self._parts.key(number)
            row = {**related_row(key, decision), "source": _source_of(self._job, self._parts, number)}
            self._outputs.write("report", row)
            self._outputs.write("pairs", {"a": decision.original, "b": key, **decision.columns()})
            self._outputs.write("dropped" if decision.is_dropped else "similar", row)

    def _write_kept(self, numbers: NDArray[np.int64]) -> None:
        """Write documents as they came; to Parquet as rows that all have, where not all of them come from there."""
        output = self._outputs.files["kept"]
        if has_columns(output.path):
            for number in numbers.tolist():
                output.write(self._columns_of(number))
        else:
            for lines in self._parts.spans(numbers, Column.RECORD):
                output.write(lines[:-1])

    def _write_with_clusters(self, numbers: NDArray[np.int64], decided: NDArray[Any], clusters: Clusters) -> None:
        """Write documents with the fields of their clusters."""
        output = self._outputs.files["kept"]
        fields = self._cluster_fields(numbers, decided, clusters)
        if not has_columns(output.path):
            for number in numbers.tolist():
                line = self._parts.value(number, Column.RECORD)
                self._require_without(fields_of(line), number)
                output.write(line.rstrip()[:-1] + b", " + to_json(next(fields))[1:])
        elif not self._has_rows:
            for number in numbers.tolist():
                output.write(self._columns_of(number) | next(fields))
        else:
            for part, some in groupby(numbers.tolist(), lambda number: int(self._parts.rows["part"][number])):
                places = self._parts.rows["row"][list(some)]
                batch = with_columns(self._rows_of(part).take(places), islice(fields, len(places)), CLUSTER_FIELDS)
                for place in range(len(batch)):
                    output.write(ParquetRow(batch, place))

    def _cluster_fields(
        self, numbers: NDArray[np.int64], decided: NDArray[Any], clusters: Clusters
    ) -> Iterator[dict[str, Any]]:
        """Yield what documents are given, see `CLUSTER_FIELDS`."""
        parts = self._parts
        leaders = leaders_of(parts.rows["leader"], decided)
        copies = np.bincount(decided["original"][IS_DUPLICATE[decided["verdict"]]], minlength=len(parts)) + 1
        has_content = np.logical_or(*parts.rows["digest"].T)
        for number in numbers.tolist():
            leader = number if leaders[number] == NULL else int(leaders[number])
            cluster = parts.key(clusters.joined.get(leader, leader)) if has_content[number] else None
            yield {"copies": int(copies[number]), "cluster": cluster}

    def _require_without(self, fields: Mapping[str, Any], number: int) -> None:
        """Refuse a record that would have a field of its cluster twice.

        Raises:
            InputError: it has it.
        """
        for name in CLUSTER_FIELDS:
            if name in fields:
                source = _source_of(self._job, self._parts, number)
                raise InputError(f"--cluster-fields: {source} has a field {name!r} already; leave it out")

    def _columns_of(self, number: int) -> Any:
        """Return a document as a row of Parquet."""
        parts = self._parts
        if self._has_rows:
            row = parts.rows[number]
            return ParquetRow(self._rows_of(int(row["part"])), int(row["row"]))
        is_unanalysed = bool(parts.rows["unanalysed"][number])
        return {
            "key": parts.key(number),
            "text": text_column(parts.value(number, Column.TEXT), is_unanalysed=is_unanalysed),
            "source": _source_of(self._job, self._parts, number),
            "record": parts.value(number, Column.RECORD)[:-1].decode(),
        }

    def _open_rows(self, part: int) -> Any:
        arrow = load_pyarrow("")
        with arrow.memory_map(str(rows_path(self._folder, part))) as file:
            return arrow.ipc.open_file(file).get_batch(0)


def _source_of(job: Job[Path], parts: Parts, number: int) -> str:
    """Return file and line of a document."""
    position = parts.position(number)
    return source_of(job.files[position.file].name, position)
