"""A saved index on Spark: the folder of `dedup.corpus.index` as a DataFrame, written, added to and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dedup.corpus import index
from dedup.corpus.tally import require_made_with
from dedup.errors import InputError
from dedup.rules.settings import Mode, RuleSettings
from dedup.spark import reading
from dedup.spark.candidates import COLUMNS
from dedup.spark.signing import ddl_of

if TYPE_CHECKING:
    from dedup.spark.deduplicating import Deduplicated


def require_free_index(spark: SparkSession, path: str) -> None:
    """Refuse to write an index where something is.

    Raises:
        InputError: something is there, or it cannot be reached.
    """
    if reading.exists(spark, path):
        raise InputError(f"{path}: already exists; remove it, or give it as --against too, to add to it")


def save_index(found: Deduplicated, path: str, settings: RuleSettings | None = None) -> None:
    """Write what is to be known of documents as an index, or add it to one.

    What is added is written beside what was there, which is not read: to add costs what is added. To add the same once
    more, as after a failure, replaces it.

    Args:
        found: what `dedup.spark.deduplicate` returned; where it is added, that against the index that is there.
        path: the folder, in any file system of Spark.
        settings: how the documents were decided; by default as everywhere.

    Raises:
        InputError: what is there is no index, or made with different settings, or it cannot be written.
    """
    settings = settings or RuleSettings()
    is_paper = settings.mode is Mode.PAPER
    is_comparable = f.col("tokens") >= settings.fewest_tokens
    stored = [name for name in COLUMNS if name not in {"id", "indexed", "words"}]
    contents = found.contents.select("id", f.struct(*stored).alias("content"))
    # Not a join, after which all words would be moved once more to have them in order.
    both = contents.unionByName(found.words, allowMissingColumns=True).repartitionByRange("id").groupBy("id")
    together = both.agg(*(f.first(name, ignorenulls=True).alias(name) for name in ("content", "words")))
    rows = (
        together.where(f.col("content").isNotNull())
        .select("id", "content.*", "words")
        .withColumn("indexed", is_comparable & (f.lit(not is_paper) | f.col("leader").isNull()))
        .sortWithinPartitions("id")
    )
    _write(rows, found.contents, path, settings)


def copy_index(rows: DataFrame, path: str, settings: RuleSettings | None = None) -> None:
    """Write what another index knows, as `save_index` does.

    Args:
        rows: what `load_index` returned.
        path: the folder, in any file system of Spark.
        settings: how the documents were decided; by default as everywhere.

    Raises:
        InputError: what is there is no index, or made with different settings, or it cannot be written.
    """
    _write(rows.orderBy("id"), rows, path, settings or RuleSettings())


def _write(rows: DataFrame, documents: DataFrame, path: str, settings: RuleSettings) -> None:
    """Write rows into parts with disjoint ranges of ids: whoever reads them one by one has them in their order.

    Args:
        rows: of the columns `COLUMNS`, by id.
        documents: the same ones; their `id`.
        path: the folder.
        settings: how they were decided.
    """
    spark, path = rows.sparkSession, path.rstrip("/")
    is_there = reading.exists(spark, path)
    if is_there:
        _require_index(spark, path, settings)
    [(first,)] = documents.agg(f.min("id")).collect()
    if first is not None or not is_there:
        stored = rows.select(*COLUMNS).withColumnRenamed("id", "number")
        parts = stored.write.option("compression", "zstd").option("parquet.block.size", index.ROW_GROUP_BYTES)
        parts.mode("overwrite").parquet(f"{path}/{index.ROWS}/{index.FROM}={first or 0}")
    if not is_there:
        about = spark.createDataFrame([(index.write_about(settings),)], f"{index.ABOUT} string")
        about.coalesce(1).write.parquet(f"{path}/{index.ABOUT}")


def load_index(spark: SparkSession, path: str, settings: RuleSettings | None = None) -> DataFrame:
    """Read an index.

    Args:
        spark: the session.
        path: the folder, in any file system of Spark.
        settings: those that it must have been made with; by default as everywhere.

    Returns:
        A row a content, of the columns `dedup.spark.candidates.COLUMNS`; what is not asked for is not read.

    Raises:
        InputError: it is no index, was made with different settings, or has rows that were not written to the end.
        IndexFileError: it is damaged.
    """
    path = path.rstrip("/")
    _require_index(spark, path, settings or RuleSettings())
    stored = spark.read.schema(ddl_of(index.COLUMNS)).parquet(f"{path}/{index.ROWS}")
    return stored.withColumnRenamed("number", "id").select(*COLUMNS)


def _require_index(spark: SparkSession, path: str, settings: RuleSettings) -> None:
    """Refuse what is no index with these settings, or has a part that was not written to the end."""
    if not all(reading.exists(spark, each) for each in (path, f"{path}/{index.ROWS}", f"{path}/{index.ABOUT}")):
        raise index.no_index(path)
    try:
        lines = spark.read.schema(f"{index.ABOUT} string").parquet(f"{path}/{index.ABOUT}").collect()
    except AnalysisException:
        lines = []
    if len(lines) != 1:
        raise index.no_index(path)
    named_settings, _ = index.read_about(path, lines[0][index.ABOUT])
    require_made_with(path, named_settings, settings)
    for name, *_ in reading.stat_of(spark, f"{path}/{index.ROWS}"):
        if not reading.exists(spark, f"{path}/{index.ROWS}/{name}/{index.COMPLETE}"):
            raise index.not_complete(f"{path}/{index.ROWS}/{name}")
