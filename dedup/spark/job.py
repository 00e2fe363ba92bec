"""One run of `dedup files --on spark`: files in, what became of their documents out, with a report."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dedup.corpus.index import ROWS
from dedup.corpus.job import Job, Result, require_different
from dedup.corpus.report import name_of, report_of, row_of, write_report
from dedup.corpus.sorting import said_of_last
from dedup.corpus.tally import NAMED, Tally, nothing_read
from dedup.corpus.writing import CLUSTER_FIELDS, KEPT, PAIRS
from dedup.errors import InputError
from dedup.readers.streams import is_url
from dedup.report.contents import LeftOut, Row
from dedup.report.differences import differences_of
from dedup.report.html.model import MOST_ROWS
from dedup.report.words import WordDiff
from dedup.rules.documents import Verdict
from dedup.signature.signature import digest
from dedup.spark import reading
from dedup.spark.candidates import semi_join
from dedup.spark.deduplicating import Deduplicated, about_of_job, decide_signed
from dedup.spark.index import copy_index, load_index, require_free_index, save_index
from dedup.spark.reading import read
from dedup.spark.session import Steps, Telling, about_of
from dedup.spark.signing import SIGNED

_LARGEST = 5
# Longer ones are not compared word by word.
_LONGEST_TEXT = 1_000_000
_MOST_COMPARED = 1_000
_SHOWN = ("key", "original", "matched", "verdict", "distance", "similarity", "rule", "lost", "places")


class Done(NamedTuple):
    """The outcome of a job.

    Attributes:
        result: what became of the documents.
        went_on: whether some of it had been done before.
    """

    result: Result
    went_on: bool


def require_free(job: Job[str], exists: Callable[[str], bool]) -> None:
    """Refuse to write over what is there already.

    Args:
        job: names the outputs.
        exists: says whether something is there.

    Raises:
        InputError: an output is.
    """
    for path in job.outputs.values():
        if exists(path):
            raise InputError(f"{path}: already exists; choose another path or pass --force")


def require_possible(job: Job[str], *, overwrite: bool) -> None:
    """Refuse, before Spark is there, what can be refused without it.

    Args:
        job: what is to be done.
        overwrite: whether outputs are overwritten.

    Raises:
        InputError: an output is on this machine already, is an input, or another output.
    """
    written = [*job.outputs.values(), *([job.save_index] if job.save_index else [])]
    require_different(written, (file.path for file in job.files), _root)
    if not overwrite and (job.folder is None or not Path(job.folder).is_dir()):
        require_free(job, lambda path: not is_url(path) and Path(path).exists())


def run_job(
    spark: SparkSession,
    job: Job[str],
    report: Callable[[str], None],
    telling: Telling = nullcontext,
    *,
    overwrite: bool = False,
) -> Done:
    """Do a job, or go on with it behind the last step that was done before it failed.

    Args:
        spark: the session.
        job: what is to be done. Names without a scheme are those of this machine; the report is a file of it.
        report: is given a line that a user shall read.
        telling: told of each step that is done.
        overwrite: whether outputs are overwritten, and an unfinished job forgotten.

    Raises:
        InputError: an input cannot be read, or an output cannot be written, or is that of another unfinished job.
    """
    assert job.folder is not None
    work = _root(job.folder)
    if overwrite:
        reading.remove(spark, work)
    before = about_of(spark, work)
    if before is None and not overwrite:
        require_free(job, lambda path: reading.exists(spark, _root(path)))
    against, index = (each and _root(each) for each in (job.against, job.save_index))
    known = load_index(spark, against, job.settings) if against else None
    if index and index != against:
        require_free_index(spark, index)
    about = _about(spark, job)
    if before is not None:
        require_same_index(before, about, work)
    steps = Steps.of(spark, work, about_of_job(job.settings, about), telling)
    if before is not None:
        report("going on with the unfinished job of this output: steps that are done are not done again")
    # Documents are read and signed once, however many steps need their texts.
    items = steps.keep("read", read(spark, job))
    documents = items.where(items.id.isNotNull())
    rejected = items.where(items.id.isNull() & items.source.isNotNull()).select("source", "reason")
    if documents.isEmpty() and (first := rejected.first()) is not None:
        others = rejected.count() - 1
        reading.remove(spark, work)
        raise nothing_read((first["source"], first["reason"]), others)
    if not job.order.is_as_read:
        documents = steps.keep("sorted", _sorted(documents, job, report))
    result = decide_signed(documents.select(*SIGNED), documents.select("id", *KEPT), job.settings, known, steps)
    tally = Tally()
    _require_wanted(job, tally, documents, result)
    result = _write(job, result, rejected, telling)
    with telling("counting"):
        found = _count(tally, documents, result, rejected)
        skipped = items.where(items.source.isNull()).groupBy("reason").agg(f.sum(f.col("record").cast("long")))
        for reason, count in skipped.collect():
            tally.count_skipped(reason, count)
        [(fields,)] = documents.agg(f.bit_or("fields")).collect()
        found = replace(found, empty_fields=job.options.empty_fields(fields or 0), files=len(job.files))
    if "report" in job.outputs:
        with telling("writing the report"):
            _write_report(job, documents, result, known, tally)
    if index:
        with telling("saving the index"):
            if known is not None and index != against:
                copy_index(known, index, job.settings)
            save_index(result, index, job.settings)
    reading.remove(spark, work)
    return Done(found, before is not None)


def _sorted(documents: DataFrame, job: Job[str], report: Callable[[str], None]) -> DataFrame:
    """Return documents with ids in the order that says which of a group of copies is kept."""
    without = f.count_if("is_without")
    [(count, without, is_day_first)] = documents.agg(f.count("*"), without, f.bool_or("is_day_first")).collect()
    if said := said_of_last(without, count, job.order):
        report(said)
    rank = "day_first" if is_day_first else "month_first"
    # Ids of later partitions are larger, and those of a partition rise.
    return documents.orderBy(rank, "id").withColumn("id", f.monotonically_increasing_id())


def _require_wanted(job: Job[str], tally: Tally, documents: DataFrame, result: Deduplicated) -> None:
    """Refuse to write where more is dropped than may be; count documents by their files, and what the index has.

    Raises:
        InputError: more is, or the index that is updated was made of most of them; what was done stays for another try.
    """
    counts = np.zeros((len(job.files), 2), np.int64)
    of_files = documents.select("id", "file")
    for place, rows in enumerate((of_files, semi_join(result.dropped, of_files))):
        for number, count in rows.groupBy("file").count().collect():
            counts[number, place] = count
    tally.count_sources([file.name for file in job.files], counts)
    tally.documents = int(counts[:, 0].sum())
    tally.require_few_dropped(job.max_dropped)
    if job.against is not None:
        tally.recurred = result.recurring.count()
        if job.save_index is not None and _root(job.save_index) == _root(job.against):
            tally.require_new(job.against)


def _about(spark: SparkSession, job: Job[str]) -> dict[str, Any]:
    """Return what must be the same for the job to go on, but for its settings; all of it can be JSON."""
    inputs = [[file.name, file.size, file.changed] for file in job.files]
    against = None
    if job.against is not None:
        root = _root(job.against)
        against = [root, *reading.stat_of(spark, f"{root}/{ROWS}")]
    return {
        "inputs": digest(json.dumps(inputs).encode()).hex(),
        "fields": asdict(job.options),
        "documents": [job.limit, asdict(job.order)],
        "outputs": [job.outputs, job.cluster_fields],
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


def _root(path: str) -> str:
    """Return a path as Spark has it: not as a URI, in which a space would be another letter."""
    return path.rstrip("/") if is_url(path) else f"file://{Path(path).absolute()}"


def _write(job: Job[str], result: Deduplicated, rejected: DataFrame, telling: Telling) -> Deduplicated:
    """Write the outputs; return what was found, of what was written as it is read from there."""
    related = result.dropped.union(result.similar)
    pairs = related.withColumnsRenamed({"original": "a", "key": "b"}).select(*PAIRS)
    frames = {
        "kept": _with_cluster_fields(result) if job.cluster_fields else result.kept.drop(*CLUSTER_FIELDS),
        "dropped": result.dropped.drop("record"),
        "similar": result.similar.drop("record"),
        "clusters": result.clusters,
        "rejected": rejected,
        "pairs": pairs,
    }
    written = {}
    for name in (each for each in frames if each in job.outputs):
        parent, _, folder = _root(job.outputs[name]).rpartition("/")
        written[name] = Steps(parent, telling=telling).keep(folder, frames[name], name)
    return replace(result, **{name: written[name] for name in ("dropped", "similar", "clusters") if name in written})


def _with_cluster_fields(result: Deduplicated) -> DataFrame:
    """Return what is kept with the key of the leader of its cluster, as `dedup files` writes it."""
    leaders = result.clusters.select("cluster", "leader").distinct()
    wordless = result.signed.where((f.col("low") == 0) & (f.col("high") == 0)).select("id").withColumn("none", f.lit(1))
    kept = result.kept.join(leaders, "cluster", "left").join(wordless, "id", "left")
    cluster = f.when(f.col("none").isNull(), f.coalesce("leader", "key"))
    return kept.withColumn("cluster", cluster).select(*result.kept.columns)


def _count(tally: Tally, documents: DataFrame, result: Deduplicated, rejected: DataFrame) -> Result:
    """Count what became of documents."""
    is_wordless = (f.col("tokens") == 0) & f.col("reason").isNull()
    counted = f.count_if(is_wordless), f.count("reason"), f.sum(f.when(f.col("reason").isNull(), f.col("bytes")))
    [(tally.wordless, tally.unanalysed, text_bytes)] = documents.agg(*counted).collect()
    saved = semi_join(result.dropped, documents.select("id", "bytes")).agg(f.sum("bytes"))
    [(saved_bytes,)] = saved.collect()
    tally.text_bytes, tally.saved_bytes = text_bytes or 0, saved_bytes or 0
    by_verdict = result.dropped.groupBy("verdict").agg(
        f.count("*").alias("documents"),
        f.sum("lost_bytes").alias("lost_bytes"),
        *(f.array(f.min(name), f.max(name)).alias(name) for name in ("distance", "similarity")),
    )
    counts = {row["verdict"]: row for row in by_verdict.collect()}
    if exact := counts.get(Verdict.EXACT_DUPLICATE.value):
        tally.exact = exact["documents"]
    if near := counts.get(Verdict.NEAR_DUPLICATE.value):
        tally.near, tally.lost_bytes = near["documents"], near["lost_bytes"]
        tally.distances, tally.similarities = tuple(near["distance"]), tuple(near["similarity"])
    tally.kept = tally.documents - tally.exact - tally.near
    tally.similar = result.similar.count()
    tenth = f.least(f.floor(f.col("similarity") * 10), f.lit(9))
    tenths = result.dropped.where(f.col("verdict") == Verdict.NEAR_DUPLICATE.value).groupBy(tenth).count().collect()
    tally.histogram = {f".{number}": count for number, count in sorted(tenths)}
    tally.rejected = rejected.count()
    tally.first_rejected = [tuple(row) for row in rejected.limit(NAMED).collect()] if tally.rejected else []
    if tally.unanalysed:
        found = documents.where(f.col("reason").isNotNull()).orderBy("id").limit(NAMED)
        tally.first_unanalysed = [tuple(row) for row in found.select("source", "reason").collect()]
    sizes = result.clusters.groupBy("cluster", "leader").count()
    largest = sizes.orderBy(f.desc("count"), "cluster").limit(_LARGEST).collect()
    return Result(tally, [(row["leader"], row["count"] - 1) for row in largest])


def _write_report(
    job: Job[str], documents: DataFrame, result: Deduplicated, known: DataFrame | None, tally: Tally
) -> None:
    """Write the report as a page, with the pairs that come first in the order of review, as many as it holds.

    Args:
        job: what was done.
        documents: what was read.
        result: what was made of it.
        known: the documents of an earlier index, if any, see `dedup.spark.candidates.COLUMNS`.
        tally: what was counted.
    """
    related, similar = (frame.select("id", *_SHOWN) for frame in (result.dropped, result.similar))
    ordered, name = with_review_order(related.union(similar)), name_of([file.name for file in job.files])
    # No more than these come to the driver.
    shown = ordered.orderBy("review_order", "id").limit(MOST_ROWS).toLocalIterator()
    rows = [row_of(row.asDict(), name) for row in shown]
    left_out = LeftOut(
        tally.exact + tally.near + tally.similar - len(rows),
        ordered.where("is_flagged").count() - sum(row.is_flagged for row in rows),
        tally.similar - sum(not row.verdict.is_duplicate for row in rows),
    )
    report = report_of(name, tally, iter(rows), partial(_compare, documents, known), left_out)
    # Their words come to the driver.
    write_report(Path(job.outputs["report"]), replace(report, most_compared=_MOST_COMPARED))


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


def _compare(documents: DataFrame, known: DataFrame | None, rows: Sequence[Row]) -> Iterator[WordDiff | None]:
    spark = documents.sparkSession
    wanted = sorted({key for row in rows for key in (row.original, row.dropped)})
    keys = f.broadcast(spark.createDataFrame([(key,) for key in wanted], "key string"))
    # Two documents of one key are told apart nowhere in a report.
    first = f.min_by(f.when(f.col("bytes") <= _LONGEST_TEXT, f.col("words")), "id").alias("words")
    found = [documents.join(keys, "key").groupBy("key").agg(first)]
    found += [] if known is None else [known.join(keys, "key").select("key", "words")]
    words_of: dict[str, bytes] = {}
    for row in chain.from_iterable(frame.where("words is not null").toLocalIterator() for frame in found):
        words_of.setdefault(row["key"], zlib.decompress(row["words"]))
    return differences_of(rows, lambda key: words_of.get(key, b""))
