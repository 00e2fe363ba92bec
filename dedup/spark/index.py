"""A saved index on Spark: the rows of `dedup.corpus.saved.rows` as a DataFrame, written and read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from dedup.corpus.saved.rows import ABOUT, FORMAT, NAME, ROWS, About, no_export, read_about, write_about
from dedup.corpus.state.checkpoint import about_settings, require_made_with
from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import fewest_tokens
from dedup.signature.schemes import find_scheme
from dedup.spark import hadoop
from dedup.spark.signing import signatures_of

_SIGNATURE = "key string, low long, high long, fingerprint long, minima binary, tokens long, shingles long"
_COLUMNS = f"id long, {_SIGNATURE}, leader long, indexed boolean, words string"
_STORED = f"number long, {_SIGNATURE}, leader long, indexed boolean, words string"
_OF_CONTENTS = ("id", "key", "low", "high", "fingerprint", "minima", "tokens", "shingles")
_LEAST = -(1 << 63)


def is_comparable(settings: RuleSettings) -> Column:
    """Return whether a content with columns `tokens` and `fingerprint` can be a near-duplicate.

    It is what `dedup.rules.verification.is_comparable` says.
    """
    without = int(np.uint64(find_scheme(settings.scheme).without_features).astype(np.int64))
    return (f.col("tokens") >= fewest_tokens(settings)) & (f.col("fingerprint") != without)


def index_rows(contents: DataFrame, documents: DataFrame, settings: RuleSettings) -> DataFrame:
    """Make the rows of an index of contents; nobody is led by another one.

    Args:
        contents: what `dedup.spark.contents.contents_of` returns.
        documents: `id` and `text` of each, also of others: the words are made of them.
        settings: how they are decided.

    Returns:
        A row a content: `id`, `key`, `low`, `high`, `fingerprint`, `minima`, `tokens`, `shingles`, `leader` (null),
        `indexed`, and `words` with a line feed between them, null where `dedup files` keeps none.
    """
    compared = f.col("indexed") & (f.col("tokens") <= settings.max_compared)
    with_texts = (
        contents.select(*_OF_CONTENTS)
        .join(documents.select("id", "text"), "id", "left")
        .withColumn("indexed", is_comparable(settings))
        .withColumn("text", f.when(compared, f.col("text")))
        .withColumn("leader", f.lit(None).cast("long"))
    )
    return with_texts.mapInArrow(partial(_with_words, scheme_name=settings.scheme), _COLUMNS)


def save_index(
    rows: DataFrame, leaders: DataFrame, path: str, settings: RuleSettings | None = None, *, overwrite: bool = False
) -> None:
    """Write an index as a folder that `load_index` and `dedup index import` read.

    Args:
        rows: what `index_rows` or `load_index` returns, or several of them together, with an `id` of its own for each.
        leaders: who leads whom, `id` and `leader`: of these rows it takes the place of the leader that they have.
        path: the folder, in any file system of Spark.
        settings: how they were decided; by default as everywhere.
        overwrite: whether what is there is replaced.

    Raises:
        InputError: something is there, or it cannot be written there.
    """
    spark, path = rows.sparkSession, path.rstrip("/")
    if hadoop.exists(spark, path):
        if not overwrite:
            raise InputError(f"{path}: is there already; write elsewhere, or overwrite it")
        hadoop.remove(spark, path)
    named = leaders.select("id", f.col("leader").alias("led_by")).where(f.col("id") != f.col("leader"))
    led = rows.join(named, "id", "left").withColumn("leader", f.coalesce("led_by", "leader"))
    stored = led.select(f.col("id").alias("number"), *(name for name in rows.columns if name != "id"))
    # The parts hold disjoint ranges of numbers: whoever reads them one by one has them in their order.
    stored.orderBy("number").write.option("compression", "zstd").parquet(f"{path}/{ROWS}")
    about = json.dumps(write_about(about_settings(settings or RuleSettings())))
    spark.createDataFrame([(about,)], "value string").coalesce(1).write.text(f"{path}/{ABOUT}")


def load_index(spark: SparkSession, path: str, settings: RuleSettings | None = None, *, below: int = 0) -> DataFrame:
    """Read an index that `save_index` or `dedup index export` has written.

    Args:
        spark: the session.
        path: the folder, or the file `.parquet`, in any file system of Spark.
        settings: those that it must have been made with; by default as everywhere.
        below: all ids are below this number: they are made smaller where they are not, and stay in their order.

    Returns:
        A row a document, with the columns of `index_rows`; what is not asked for is not read.

    Raises:
        InputError: it is no index, was made with other settings, or its ids do not fit below that number.
    """
    path = path.rstrip("/")
    is_folder = hadoop.is_folder(spark, path)
    about = _about_folder(spark, path) if is_folder else _about_file(spark, path)
    if about.format != FORMAT:
        raise InputError(f"{path}: export format {about.format}, and Spark reads {FORMAT}; export the index again")
    require_made_with(path, about.named_settings, settings or RuleSettings())
    stored = spark.read.schema(_STORED).parquet(f"{path}/{ROWS}" if is_folder else path)
    down = _shift(stored, path, below)
    return stored.select(
        (f.col("number") - down).alias("id"),
        *_OF_CONTENTS[1:],
        (f.col("leader") - down).alias("leader"),
        "indexed",
        "words",
    )


def _with_words(batches: Iterable[pa.RecordBatch], scheme_name: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        kept = signatures_of(batch, scheme_name, with_words=True).words
        is_compared = columns.pop("text").is_valid().to_pylist()
        words = [zlib.decompress(each).decode() if is_ else None for each, is_ in zip(kept, is_compared, strict=True)]
        columns["words"] = pa.array(words, pa.string())
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in _names(_COLUMNS)})


def _names(columns: str) -> Iterator[str]:
    return (column.split()[0] for column in columns.split(", "))


def _about_folder(spark: SparkSession, path: str) -> About:
    try:
        lines = spark.read.text(f"{path}/{ABOUT}").collect()
    except AnalysisException:
        lines = []
    if len(lines) != 1:
        raise no_export(path)
    return read_about(path, lines[0]["value"])


def _about_file(spark: SparkSession, path: str) -> About:
    if not path.lower().endswith(".parquet"):
        raise no_export(path)
    about = hadoop.parquet_metadata(spark, path).get(NAME)
    if about is None:
        raise no_export(path)
    return read_about(path, about)


def _shift(stored: DataFrame, path: str, below: int) -> int:
    """Return by how much numbers must be made smaller for all to be below another one."""
    [(first, last)] = stored.select(f.min("number"), f.max("number")).collect()
    down: int = 0 if last is None else max(0, last - below + 1)
    if down and first - down < _LEAST:
        raise InputError(f"{path}: its numbers go from {first} to {last}, and do not fit below {below}")
    return down
