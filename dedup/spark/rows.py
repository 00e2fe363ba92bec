"""Rows of documents that others name."""

from __future__ import annotations

from pyspark.sql import DataFrame


def named_by(rows: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the documents that rows name by `id`, for a join with these.

    Where the rows are few, no other document is moved for it. Spark knows the size of what it has kept, but not of
    documents that come from Python: it would send all of them everywhere as if they were few.
    """
    return documents.join(rows.select("id"), "id", "left_semi").hint("merge")
