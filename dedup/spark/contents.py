"""Equal texts first: of each content the first document is compared, the others are copies of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_DIGEST = ["low", "high"]


def contents_of(signed: DataFrame) -> DataFrame:
    """Return the first document of each content; texts without words are copies of nothing, and left out.

    Args:
        signed: what `dedup.spark.signing.sign` returns.
    """
    with_words = signed.where((f.col("low") != 0) | (f.col("high") != 0))
    # An aggregate has its part done before documents are moved: equal texts, however many, arrive as one.
    others = [name for name in signed.columns if name not in (*_DIGEST, "id")]
    first = f.min(f.struct("id", *others)).alias("first")
    return with_words.groupBy(*_DIGEST).agg(first).select(*_DIGEST, "first.*")


def copies_of(signed: DataFrame, contents: DataFrame) -> DataFrame:
    """Return the documents with the text of an earlier one: `id`, `key`, and `first`, `first_key`, `tokens` of that."""
    first = contents.select(*_DIGEST, f.col("id").alias("first"), f.col("key").alias("first_key"), "tokens")
    return (
        signed.select("id", "key", *_DIGEST)
        .join(first, _DIGEST)
        .where(f.col("id") != f.col("first"))
        .select("id", "key", "first", "first_key", "tokens")
    )
