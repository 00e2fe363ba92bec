"""The report on a job of Spark: counts, and the pairs most worth a look, as many as a page holds."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from dedup.corpus.job.job import Result
from dedup.corpus.job.reporting import name_of, report_of, row_of, write_report
from dedup.corpus.state import NAMED, Tally
from dedup.report import doubt
from dedup.report.contents import LeftOut, RelatedRow
from dedup.report.explanation.pairs import differences_of
from dedup.report.explanation.words import WordDiff
from dedup.report.html.model import MOST_ROWS
from dedup.rules.decision import Verdict
from dedup.rules.rule import Rule
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import find_scheme
from dedup.spark.signing import signatures_of

_LARGEST = 5
# Longer ones are not compared word by word.
_LONGEST_TEXT = 1_000_000
_ENDS = (f.min, f.max)
_SHOWN = ("key", "original", "matched", "verdict", "distance", "similarity", "rule", "kept", "lost", "places")


@dataclass(frozen=True)
class Written:
    """What a job has made of documents, as it has been written.

    Attributes:
        documents: all of them; `reason` says of a page why it could not be analysed.
        signed: their signatures; `reason` says so of a text.
        kept: the ones that are kept.
        dropped: the copies.
        similar: what is kept and similar to others.
        clusters: who belongs to whom.
        rejected: what was no document.
        known: the documents of an earlier index, if any, see `dedup.spark.known.COLUMNS`.
    """

    documents: DataFrame
    signed: DataFrame
    kept: DataFrame
    dropped: DataFrame
    similar: DataFrame
    clusters: DataFrame
    rejected: DataFrame
    known: DataFrame | None


def result_of(written: Written, settings: RuleSettings) -> Result:
    """Count what was written."""
    without = int(np.uint64(find_scheme(settings.scheme).without_features).astype(np.int64))
    size = f.sum(f.octet_length("text"))
    has_features = f.col("fingerprint") != without
    counted = (
        f.count("*"),
        f.count_if(f.col("tokens") == 0),
        f.count_if((f.col("tokens") > 0) & ~has_features),
        f.count("reason"),
    )
    [(documents, wordless, featureless, texts)] = written.signed.agg(*counted).collect()
    [(text_bytes, pages)] = written.documents.agg(size, f.count("reason")).collect()
    unanalysed = texts + pages
    [(kept, kept_bytes)] = written.kept.agg(f.count("*"), size).collect()
    counts = {
        row["verdict"]: row
        for row in written.dropped.groupBy("verdict")
        .agg(
            f.count("*").alias("documents"),
            f.sum("lost_bytes").alias("lost_bytes"),
            *(each(name).alias(f"{each.__name__}_{name}") for name in ("distance", "similarity") for each in _ENDS),
        )
        .collect()
    }
    near, exact = (counts.get(each.value) for each in (Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE))
    [(related, says_more)] = written.similar.agg(f.count("*"), f.count("kept")).collect()
    rejected = written.rejected.count()
    tally = Tally(
        documents=documents,
        kept=kept,
        exact=exact["documents"] if exact else 0,
        near=near["documents"] if near else 0,
        similar=related - says_more,
        says_more=says_more,
        rejected=rejected,
        unanalysed=unanalysed,
        wordless=wordless - unanalysed,
        featureless=featureless,
        text_bytes=text_bytes or 0,
        saved_bytes=(text_bytes or 0) - (kept_bytes or 0),
        lost_bytes=near["lost_bytes"] if near else 0,
        distances=near and (near["min_distance"], near["max_distance"]),
        similarities=near and (near["min_similarity"], near["max_similarity"]),
        first_rejected=[tuple(row) for row in written.rejected.limit(NAMED).collect()] if rejected else [],
        first_unanalysed=_first_unanalysed(written) if unanalysed else [],
    )
    sizes = written.clusters.groupBy("cluster", "leader").count()
    largest = sizes.orderBy(f.desc("count"), "cluster").limit(_LARGEST).collect()
    return Result(tally, [(row["leader"], row["count"] - 1) for row in largest])


def _first_unanalysed(written: Written) -> list[tuple[str, str]]:
    texts = written.signed.where(f.col("reason").isNotNull()).select("id", f.col("reason").alias("of_text"))
    both = written.documents.select("id", "source", "reason").join(texts, "id", "left")
    reason = f.coalesce("reason", "of_text").alias("reason")
    found = both.select("id", "source", reason).where(f.col("reason").isNotNull()).orderBy("id").limit(NAMED)
    return [(row["source"], row["reason"]) for row in found.collect()]


def write_report_of_job(path: Path, files: Sequence[str], written: Written, tally: Tally, scheme_name: str) -> None:
    """Write the report as a page, with the pairs most worth a look, as many as it holds.

    Args:
        path: the file, of this machine.
        files: what was read.
        written: what was made of it.
        tally: what `result_of` has counted.
        scheme_name: how signatures are made.
    """
    related = written.dropped.select("id", *_SHOWN).union(written.similar.select("id", *_SHOWN))
    name = name_of(files)
    # No more than these come to the driver.
    shown = related.orderBy(*order_of_doubt(), "id").limit(MOST_ROWS).toLocalIterator()
    rows = [row_of(row.asDict(), name) for row in shown]
    [(doubtful,)] = related.agg(f.count_if(is_doubtful())).collect()
    left_out = LeftOut(
        tally.exact + tally.near + tally.similar + tally.says_more - len(rows),
        doubtful - sum(map(doubt.is_doubtful, rows)),
        tally.similar - sum(not row.verdict.is_duplicate for row in rows),
    )
    compare = partial(_compare, written, scheme_name)
    write_report(path, report_of(name, tally, iter(rows), left_out), compare)


def is_doubtful() -> Column:
    """Return what `dedup.report.doubt.is_doubtful` says of a row."""
    # There is no mode of the paper here.
    is_unsure = (f.col("places") >= doubt.FEWEST_PLACES) | f.col("rule").eqNullSafe(Rule.SHORT_ALIKE.short)
    return _is(Verdict.NEAR_DUPLICATE) & f.col("kept").isNull() & is_unsure


def order_of_doubt() -> list[Column]:
    """Return what `dedup.report.doubt.order_of_doubt` sorts rows by."""
    group = (
        f.when(_is(Verdict.EXACT_DUPLICATE), 3)
        .when(~_is(Verdict.NEAR_DUPLICATE), 1)
        .when(is_doubtful(), 0)
        .otherwise(2)
    )
    return [group, f.col("similarity"), -f.col("distance")]


def _is(verdict: Verdict) -> Column:
    return f.col("verdict") == verdict.value


def _compare(written: Written, scheme_name: str, rows: Sequence[RelatedRow]) -> Iterator[WordDiff | None]:
    spark = written.documents.sparkSession
    wanted = sorted({key for row in rows for key in (row.original, row.dropped)})
    keys = f.broadcast(spark.createDataFrame([(key,) for key in wanted], "key string"))
    # Two documents of one key are told apart nowhere in a report.
    first = f.when(f.octet_length("text") <= _LONGEST_TEXT, f.col("text"))
    texts = written.documents.join(keys, "key").groupBy("key").agg(f.min_by(first, "id").alias("text"))
    found = [row for row in texts.toLocalIterator() if row["text"] is not None]
    column = pa.array([row["text"] for row in found], pa.string())
    deflated = signatures_of(column, scheme_name, with_words=True).words
    words_of = {row["key"]: each for row, each in zip(found, deflated, strict=True)}
    if written.known is not None:
        for row in written.known.join(keys, "key").where("words is not null").select("key", "words").toLocalIterator():
            words_of.setdefault(row["key"], row["words"])
    return differences_of(rows, lambda key: zlib.decompress(words_of[key]) if key in words_of else b"")
