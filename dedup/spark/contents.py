"""Equal texts first: of each content the first document is compared, the others are copies of it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from dedup.rules.settings import RuleSettings
from dedup.rules.verification import fewest_tokens

DIGEST = ("low", "high")
"""The columns of the digest of a content; both 0: it has no words."""

_FIRST = (*DIGEST, "id", "key", "tokens")


def is_comparable(settings: RuleSettings) -> Column:
    """Return whether a content can be a near-duplicate, as `dedup.rules.verification.is_comparable` says."""
    return f.col("tokens") >= fewest_tokens(settings)


def contents_of(signed: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the first document of each content that is not known; texts without words are copies of nothing.

    Args:
        signed: what `dedup.spark.signing.sign` returns.
        equal: the known documents with the same contents, see `dedup.spark.known`.
    """
    with_words = signed.where((f.col("low") != 0) | (f.col("high") != 0))
    # An aggregate has its part done before documents are moved: equal texts, however many, arrive as one.
    others = [name for name in signed.columns if name not in (*DIGEST, "id", "reason")]
    first = f.min(f.struct("id", *others)).alias("first")
    contents = with_words.groupBy(*DIGEST).agg(first).select(*DIGEST, "first.*")
    return contents.join(equal.select(*DIGEST), [*DIGEST], "left_anti")


def copies_of(signed: DataFrame, contents: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the documents with the text of an earlier one: `id`, `key`, and `first`, `first_key`, `tokens` of that."""
    firsts = contents.select(*_FIRST).union(equal.select(*_FIRST))
    first = firsts.select(*DIGEST, f.col("id").alias("first"), f.col("key").alias("first_key"), "tokens")
    return (
        signed.select("id", "key", *DIGEST)
        .join(first, [*DIGEST])
        .where(f.col("id") != f.col("first"))
        .select("id", "key", "first", "first_key", "tokens")
    )


def named_by(rows: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the documents that rows name by `id`, for a join with these.

    Where the rows are few, no other document is moved for it. Spark knows the size of what it has kept, but not of
    documents that come from Python: it would send all of them everywhere as if they were few.
    """
    return documents.join(rows.select("id"), "id", "left_semi").hint("merge")
