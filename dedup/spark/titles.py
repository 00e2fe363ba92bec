"""Copies whose text says too little to be what their pages are about: pages of one site with other titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.rules.scope import are_other_titles, owner_of, says_too_little
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule

_PAIR = "id long, leader long, tokens long, owner string"


def with_titles(copied: DataFrame, signed: DataFrame, settings: RuleSettings) -> DataFrame:
    """Return copies of equal texts, of which those are similar that are told apart by their titles.

    As `dedup.corpus.chains.complete` does.

    Args:
        copied: `id`, `leader` and its key (`original`), `verdict`, `rule`, `title`, `tokens`, and other columns.
        signed: all documents, of the columns `dedup.spark.signing.SIGNED`.
        settings: which texts are short.
    """
    titled = signed.where(f.col("title").isNotNull()).select("id", "key", "title")
    if titled.isEmpty():
        return copied
    of_leaders = titled.toDF("leader", "their_key", "their_title")
    pairs = copied.where(f.col("title").isNotNull()).join(of_leaders, "leader")
    columns = ("id", "leader", "tokens", "key", "their_key", "title", "their_title")
    others = pairs.select(*columns).mapInArrow(_with_other_titles, _PAIR)
    pages = titled.select("key").mapInArrow(_owners, "owner string").groupBy("owner").agg(f.count("*").alias("pages"))
    equal = others.groupBy("owner", "leader").agg(f.count("*").alias("equal"))
    counted = others.join(equal, ["owner", "leader"]).join(pages, "owner")
    telling = partial(_telling, short_tokens=settings.short_tokens)
    similar = counted.select("id", "tokens", "equal", "pages").mapInArrow(telling, "id long")
    told = {"verdict": Rule.SAME_SHORT_TEXT.verdict.value, "rule": Rule.SAME_SHORT_TEXT.short}
    is_similar = f.col("is_similar").isNotNull()
    marked = copied.join(similar.withColumn("is_similar", f.lit(True)), "id", "left")
    changed = {name: f.when(is_similar, each).otherwise(f.col(name)) for name, each in told.items()}
    return marked.withColumns(changed).select(*copied.columns)


def _with_other_titles(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = batch.to_pylist()
        owners = [owner_of(row["key"]) for row in rows]
        found = [
            {name: row[name] for name in ("id", "leader", "tokens")} | {"owner": owner}
            for row, owner in zip(rows, owners, strict=True)
            if owner == owner_of(row["their_key"]) != "" and are_other_titles(row["title"], row["their_title"])
        ]
        if found:
            yield pa.RecordBatch.from_pylist(found)


def _owners(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"owner": [owner_of(key) for key in batch.column("key").to_pylist()]})


def _telling(batches: Iterable[pa.RecordBatch], short_tokens: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        ids = [
            row["id"]
            for row in batch.to_pylist()
            if says_too_little(row["tokens"], row["equal"], row["pages"], short_tokens)
        ]
        yield pa.RecordBatch.from_pydict({"id": pa.array(ids, pa.int64())})
