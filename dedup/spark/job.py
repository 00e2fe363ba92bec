"""One run of `dedup spark`: files in, what became of their documents out, with a report."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dedup.corpus.index import ROWS
from dedup.corpus.job import Result
from dedup.corpus.report import name_of, report_of, row_of, write_report
from dedup.corpus.tally import NAMED, Tally, nothing_read
from dedup.errors import InputError
from dedup.readers.documents import CorpusFile, ReadOptions
from dedup.readers.files import find_files
from dedup.readers.streams import is_url
from dedup.report.contents import LeftOut, Row
from dedup.report.html.model import MOST_ROWS
from dedup.report.texts import differences_of
from dedup.report.words import WordDiff
from dedup.rules.documents import Verdict
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import digest
from dedup.spark import reading
from dedup.spark.deduplicating import Deduplicated, about_of_job, deduplicate
from dedup.spark.index import copy_index, load_index, require_free_index, save_index
from dedup.spark.reading import ORDINAL_BITS, read
from dedup.spark.session import Steps, Telling, about_of
from dedup.spark.signing import signatures_of

_LARGEST = 5
# Longer ones are not compared word by word.
_LONGEST_TEXT = 1_000_000
_MOST_COMPARED = 1_000
_SHOWN = ("key", "original", "matched", "verdict", "distance", "similarity", "rule", "lost", "places")

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
"""The folders that are written."""

_WORK = "_work"


@dataclass(frozen=True)
class Written:
    """What a job has found, read from where it was written.

    Attributes:
        documents: all of them; `reason` says of a page why it could not be analysed.
        found: what became of them.
        rejected: what was no document.
        known: the documents of an earlier index, if any, see `dedup.spark.candidates.COLUMNS`.
    """

    documents: DataFrame
    found: Deduplicated
    rejected: DataFrame
    known: DataFrame | None


def result_of(written: Written, files: Sequence[str]) -> Result:
    """Count what was written; files: the names of what was read."""
    found = written.found
    size = f.sum(f.octet_length("text"))
    counted = f.count("*"), f.count_if(f.col("tokens") == 0), f.count("reason")
    [(documents, wordless, texts)] = found.signed.agg(*counted).collect()
    [(text_bytes, pages)] = written.documents.agg(size, f.count("reason")).collect()
    unanalysed = texts + pages
    [(kept, kept_bytes)] = found.kept.agg(f.count("*"), size).collect()
    by_verdict = found.dropped.groupBy("verdict").agg(
        f.count("*").alias("documents"),
        f.sum("lost_bytes").alias("lost_bytes"),
        *(f.array(f.min(name), f.max(name)).alias(name) for name in ("distance", "similarity")),
    )
    counts = {row["verdict"]: row for row in by_verdict.collect()}
    near, exact = (counts.get(each.value) for each in (Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE))
    tenth = f.least(f.floor(f.col("similarity") * 10), f.lit(9))
    tenths = found.dropped.where(f.col("verdict") == Verdict.NEAR_DUPLICATE.value).groupBy(tenth).count().collect()
    rejected = written.rejected.count()
    tally = Tally(
        documents=documents,
        kept=kept,
        exact=exact["documents"] if exact else 0,
        near=near["documents"] if near else 0,
        similar=found.similar.count(),
        rejected=rejected,
        unanalysed=unanalysed,
        wordless=wordless - unanalysed,
        text_bytes=text_bytes or 0,
        saved_bytes=(text_bytes or 0) - (kept_bytes or 0),
        lost_bytes=near["lost_bytes"] if near else 0,
        distances=near and tuple(near["distance"]),
        similarities=near and tuple(near["similarity"]),
        histogram={f".{number}": count for number, count in tenths},
        first_rejected=[tuple(row) for row in written.rejected.limit(NAMED).collect()] if rejected else [],
        first_unanalysed=_first_unanalysed(written) if unanalysed else [],
    )
    _count_sources(tally, written.documents, found.dropped, files)
    sizes = found.clusters.groupBy("cluster", "leader").count()
    largest = sizes.orderBy(f.desc("count"), "cluster").limit(_LARGEST).collect()
    return Result(tally, [(row["leader"], row["count"] - 1) for row in largest])


def _count_sources(tally: Tally, documents: DataFrame, dropped: DataFrame, files: Sequence[str]) -> None:
    """Count documents and dropped ones by their files, whose numbers ids begin with."""
    counts = np.zeros((len(files), 2), np.int64)
    for place, rows in enumerate((documents, dropped)):
        for number, count in rows.groupBy(f.shiftright("id", ORDINAL_BITS)).count().collect():
            counts[number, place] = count
    tally.count_sources(files, counts)


def _first_unanalysed(written: Written) -> list[tuple[str, str]]:
    texts = written.found.signed.where(f.col("reason").isNotNull()).select("id", f.col("reason").alias("of_text"))
    both = written.documents.select("id", "source", "reason").join(texts, "id", "left")
    reason = f.coalesce("reason", "of_text").alias("reason")
    found = both.select("id", "source", reason).where(f.col("reason").isNotNull()).orderBy("id").limit(NAMED)
    return [(row["source"], row["reason"]) for row in found.collect()]


def write_report_of_job(path: Path, files: Sequence[str], written: Written, tally: Tally, scheme_name: str) -> None:
    """Write the report as a page, with the pairs that come first in the order of review, as many as it holds.

    Args:
        path: the file, of this machine.
        files: what was read.
        written: what was made of it.
        tally: what `result_of` has counted.
        scheme_name: how signatures are made.
    """
    related, similar = (frame.select("id", *_SHOWN) for frame in (written.found.dropped, written.found.similar))
    ordered, name = with_review_order(related.union(similar)), name_of(files)
    # No more than these come to the driver.
    shown = ordered.orderBy("review_order", "id").limit(MOST_ROWS).toLocalIterator()
    rows = [row_of(row.asDict(), name) for row in shown]
    left_out = LeftOut(
        tally.exact + tally.near + tally.similar - len(rows),
        ordered.where("is_flagged").count() - sum(row.is_flagged for row in rows),
        tally.similar - sum(not row.verdict.is_duplicate for row in rows),
    )
    compare = partial(_compare, written, scheme_name)
    report = report_of(name, tally, iter(rows), compare, left_out)
    # Their texts come to the driver.
    write_report(path, replace(report, most_compared=_MOST_COMPARED))


def with_review_order(related: DataFrame) -> DataFrame:
    """Return copies, and what is similar, with `review_order` and `is_flagged` of `dedup.report.contents.Row`."""
    columns = f"{related.schema.toDDL()}, review_order array<double>, is_flagged boolean"
    return related.mapInArrow(_with_review_order, columns)


def _with_review_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row_of(row, "") for row in batch.to_pylist()]
        orders = pa.array([row.review_order for row in rows], pa.list_(pa.float64()))
        ordered = batch.append_column("review_order", orders)
        yield ordered.append_column("is_flagged", pa.array([row.is_flagged for row in rows], pa.bool_()))


def _compare(written: Written, scheme_name: str, rows: Sequence[Row]) -> Iterator[WordDiff | None]:
    spark = written.documents.sparkSession
    wanted = sorted({key for row in rows for key in (row.original, row.dropped)})
    keys = f.broadcast(spark.createDataFrame([(key,) for key in wanted], "key string"))
    # Two documents of one key are told apart nowhere in a report.
    first = f.when(f.octet_length("text") <= _LONGEST_TEXT, f.col("text"))
    texts = written.documents.join(keys, "key").groupBy("key").agg(f.min_by(first, "id").alias("text"))
    found = [row for row in texts.toLocalIterator() if row["text"] is not None]
    column = pa.array([row["text"] for row in found], pa.string())
    words = signatures_of(column, scheme_name, with_words=True).words
    words_of = {row["key"]: each for row, each in zip(found, words, strict=True)}
    if written.known is not None:
        for row in written.known.join(keys, "key").where("words is not null").select("key", "words").toLocalIterator():
            words_of.setdefault(row["key"], zlib.decompress(row["words"]))
    return differences_of(rows, lambda key: words_of.get(key, b""))


@dataclass(frozen=True)
class SparkJob:
    """The inputs, outputs and options of a job. Paths without a scheme are those of this machine.

    Attributes:
        inputs: files and folders, or URLs of what fsspec reads.
        output: the folder that is written, or the URL of one that Spark writes.
        options: how documents are found in files.
        settings: how they are decided.
        against: an index whose documents count as earlier ones, if any.
        save_index: where an index is written or added to, if anywhere.
        overwrite: whether what is in the folder is overwritten, and an unfinished job forgotten.
        report: the page that is written about it, a file of this machine, if any.
        max_dropped: the largest share of a source that may be dropped; None: any.
    """

    inputs: Sequence[str]
    output: str
    options: ReadOptions
    settings: RuleSettings
    against: str | None = None
    save_index: str | None = None
    overwrite: bool = False
    report: Path | None = None
    max_dropped: float | None = None

    def check(self) -> None:
        """Refuse what can be refused without Spark.

        Raises:
            InputError: an input is not there, or an output is.
        """
        self.files  # noqa: B018 -- found now, and known later
        is_unfinished = (Path(self.output) / _WORK).is_dir()
        if not (is_url(self.output) or is_unfinished):
            self.require_free(os.path.exists)

    @cached_property
    def files(self) -> list[CorpusFile]:
        """The files that are read, found once: of remote ones each takes a request or two.

        Raises:
            InputError: an input is not there, or no file of a known format.
        """
        return find_files([each if is_url(each) else Path(each) for each in self.inputs]).files

    def require_free(self, exists: Callable[[str], bool]) -> None:
        """Refuse to write over what is there already, unless that is wanted."""
        for path in (f"{self.output.rstrip('/')}/{name}" for name in OUTPUTS):
            if not self.overwrite and exists(path):
                raise InputError(f"{path}: already exists; choose another path or pass --force")


class Done(NamedTuple):
    """The outcome of a job.

    Attributes:
        result: what became of the documents.
        files: how many were read.
        went_on: whether some of it had been done before.
    """

    result: Result
    files: int
    went_on: bool


def run_job(spark: SparkSession, job: SparkJob, report: Callable[[str], None], telling: Telling = nullcontext) -> Done:
    """Do a job, or go on with it behind the last step that was done before it failed.

    Args:
        spark: the session.
        job: what is to be done.
        report: is given a line that a user shall read.
        telling: told of each step that is done.

    Raises:
        InputError: an input cannot be read, or an output cannot be written, or is that of another unfinished job.
    """
    root = _root(job.output)
    work = f"{root}/{_WORK}"
    if job.overwrite:
        reading.remove(spark, work)
    before = about_of(spark, work)
    if before is None:
        job.require_free(partial(reading.exists, spark))
    against, index = (each and _root(each) for each in (job.against, job.save_index))
    known = load_index(spark, against, job.settings) if against else None
    if index and index != against:
        require_free_index(spark, index)
    files = job.files
    about = _about(spark, job, files)
    if before is not None:
        require_same_index(before, about, work)
    steps = Steps.of(spark, work, about_of_job(job.settings, about), telling)
    if before is not None:
        report("going on with the unfinished job of this output: steps that are done are not done again")
    # Pages are extracted once, however many steps need their texts.
    items = steps.keep("read", read(spark, files, job.options))
    read_documents = items.where(items.id.isNotNull())
    documents = read_documents.drop("reason")
    rejected = items.where(items.id.isNull() & items.source.isNotNull()).select("source", "reason")
    if documents.isEmpty() and (first := rejected.first()) is not None:
        others = rejected.count() - 1
        _remove(spark, root)
        raise nothing_read((first["source"], first["reason"]), others)
    result = deduplicate(documents, work, job.settings, known, about, telling=telling)
    names = [file.name for file in files]
    recurred = _require_wanted(job, read_documents, result, names)
    written = _write(result, read_documents, rejected, known, Steps(root, telling=telling))
    with telling("counting"):
        found = result_of(written, names)
        found.tally.recurred = recurred
        skipped = items.where(items.source.isNull()).groupBy("reason").agg(f.sum(f.col("record").cast("long")))
        for reason, count in skipped.collect():
            found.tally.count_skipped(reason, count)
    if job.report is not None:
        with telling("writing the report"):
            write_report_of_job(job.report, names, written, found.tally, job.settings.scheme)
    if index:
        with telling("saving the index"):
            if known is not None and index != against:
                copy_index(known, index, job.settings)
            save_index(result, index, job.settings)
    _remove(spark, root)
    return Done(found, len(files), before is not None)


def _require_wanted(job: SparkJob, documents: DataFrame, result: Deduplicated, files: Sequence[str]) -> int:
    """Refuse to write where more is dropped than may be; return how many documents the index was made of.

    Raises:
        InputError: more is, or the index that is updated was made of most of them; what was done stays for another try.
    """
    tally = Tally()
    if job.max_dropped is not None:
        _count_sources(tally, documents, result.dropped, files)
        tally.require_few_dropped(job.max_dropped)
    if job.against is not None:
        tally.documents, tally.recurred = documents.count(), result.recurring.count()
        if job.save_index is not None and _root(job.save_index) == _root(job.against):
            tally.require_new(job.against)
    return tally.recurred


def _about(spark: SparkSession, job: SparkJob, files: Sequence[CorpusFile]) -> dict[str, Any]:
    """Return what must be the same for the job to go on, but for its settings; all of it can be JSON."""
    inputs = [[file.name, file.size, file.changed] for file in files]
    against = None
    if job.against is not None:
        root = _root(job.against)
        against = [root, *reading.stat_of(spark, f"{root}/{ROWS}")]
    return {
        "inputs": digest(json.dumps(inputs).encode()).hex(),
        "fields": asdict(job.options),
        "against": against,
        "save_index": job.save_index,
    }


def require_same_index(before: dict[str, Any], about: dict[str, Any], work: str) -> None:
    """Refuse to go on where the index has grown meanwhile: by what the job itself has added to it, maybe.

    Raises:
        InputError: it has.
    """
    then, now = (each["against"] or [] for each in (before, about))
    if then[:1] == now[:1] and (added := [mark[0] for mark in now[1:] if mark not in then]):
        raise InputError(
            f"{now[0]}: {', '.join(added)} came since the unfinished job in {work} began; what that job has written "
            "there is to be removed, and the same command goes on; if it is another's, --force begins anew"
        )


def _remove(spark: SparkSession, root: str) -> None:
    """Remove what was kept on the way, and the folder itself where nothing could be written."""
    reading.remove(spark, f"{root}/{_WORK}")
    if reading.exists(spark, root) and not reading.stat_of(spark, root):
        reading.remove(spark, root)


def _root(path: str) -> str:
    """Return a path as Spark has it: not as a URI, in which a space would be another letter."""
    return path.rstrip("/") if is_url(path) else f"file://{Path(path).absolute()}"


def _write(
    result: Deduplicated, documents: DataFrame, rejected: DataFrame, known: DataFrame | None, steps: Steps
) -> Written:
    """Write the outputs; return them as they are read from there."""
    dropped, similar = (frame.drop("record") for frame in (result.dropped, result.similar))
    frames = (result.kept, dropped, similar, result.clusters, rejected)
    outputs = {name: steps.keep(name, frame) for name, frame in zip(OUTPUTS, frames, strict=True)}
    rejected = outputs.pop("rejected")
    return Written(documents, replace(result, **outputs), rejected, known)
