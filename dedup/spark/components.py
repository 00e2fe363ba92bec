"""Documents that can have to do with each other, put together so that what decides them meets in one task.

R. Kiveris et al., "Connected components in MapReduce and beyond", SoCC 2014: each round turns edges towards the
smallest neighbour, until all of a component point at its smallest document. Clusters are never components: these only
say whose verdicts can depend on whose.
"""

from __future__ import annotations

from itertools import count

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.spark.steps import Steps


def components_of(edges: DataFrame, steps: Steps) -> DataFrame:
    """Return of each document that has a candidate, or is one, the smallest `id` of its `component`.

    Args:
        edges: from a document, `id`, to each of its candidates, `other`, which is an earlier one.
        steps: keeps what each round returns.
    """
    before, now = None, _mark_of(edges)
    for number in count(1):
        if before == now:
            break
        edges = steps.keep(f"components-{number}", _towards_smallest(_from_all(edges)))
        before, now = now, _mark_of(edges)
    members = edges.select("id", f.col("other").alias("component"))
    first = edges.select(f.col("other").alias("id"), f.col("other").alias("component"))
    return members.union(first).distinct()


def _from_all(edges: DataFrame) -> DataFrame:
    """Return an edge from each larger neighbour of a document to the smallest, the document included."""
    both = edges.union(edges.select(f.col("other").alias("id"), f.col("id").alias("other")))
    smallest = both.groupBy("id").agg(f.least("id", f.min("other")).alias("smallest"))
    larger = both.where(f.col("other") > f.col("id")).join(smallest, "id")
    return larger.select(f.col("other").alias("id"), f.col("smallest").alias("other")).distinct()


def _towards_smallest(edges: DataFrame) -> DataFrame:
    """Return an edge from each document and its smaller neighbours to the smallest of them."""
    smallest = edges.groupBy("id").agg(f.min("other").alias("smallest"))
    moved = edges.join(smallest, "id").where(f.col("other") != f.col("smallest"))
    turned = moved.select(f.col("other").alias("id"), f.col("smallest").alias("other"))
    return turned.union(smallest.select("id", f.col("smallest").alias("other"))).distinct()


def _mark_of(edges: DataFrame) -> tuple[int, int | None]:
    """Return what edges have in common with others only if they are the same."""
    [found] = edges.agg(f.count("*"), f.bit_xor(f.xxhash64("id", "other"))).collect()
    return found[0], found[1]
