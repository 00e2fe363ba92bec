"""The candidates of documents: a join on the keys, of which the crowded ones are read to a bound.

What is found is what `dedup.corpus.deciding.key_map` finds. No step costs more than so many rows a document: it has 34
keys, of each of which the earliest 16 documents are read, and of all of these 64 are compared.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from dedup.index.keys import MOST_RANKED, RADIUS
from dedup.rules.settings import RuleSettings
from dedup.spark.comparing import COMPARED, SKETCH, compare
from dedup.spark.contents import is_comparable
from dedup.spark.keys import READ, keys_in, marks_of, read
from dedup.spark.known import Known
from dedup.spark.steps import Steps


def candidates_of(contents: DataFrame, known: Known, settings: RuleSettings, steps: Steps) -> DataFrame:
    """Return the candidates of each document that has any which its sketch does not rule out.

    Args:
        contents: the new ones, see `dedup.spark.contents.contents_of`.
        known: those of an earlier index, all of which come before.
        settings: how far is looked.
        steps: keeps what is made on the way: Spark then knows how few there are, and sends them to where others lie.

    Returns:
        A row a document: its `id`, and the ids of its `candidates`, all earlier, the most similar first.
    """
    asked, earlier = (each.where(is_comparable(settings)) for each in (contents, known.rows))
    keys = keys_in(asked, settings)
    if not known.is_empty:
        # Of what is known only little has keys that a new one has: the rest is not moved.
        keys = keys.union(keys_in(earlier, settings, marks_of(keys)))
    by_key = keys.repartition("key").sortWithinPartitions("key", "id")
    shared = steps.keep("shared", _chosen(by_key.mapInArrow(partial(read, first_asked=known.end), READ)))
    ours = asked.select("id", "fingerprint", *SKETCH)
    stored = ours.union(earlier.select(*ours.columns))
    theirs = stored.toDF("candidate", *(f"their_{name}" for name in stored.columns[1:]))
    is_near = f.bit_count(f.col("fingerprint").bitwiseXOR(f.col("their_fingerprint"))) <= RADIUS
    # Many have the same candidate: what is moved for that join is short.
    pairs = shared.join(theirs, "candidate").join(ours, "id").where(f.col("shares_band") | is_near)
    compared = pairs.drop("fingerprint", "their_fingerprint", "shares_band").mapInArrow(
        partial(compare, settings=settings), COMPARED
    )
    ranked = f.array_sort(f.collect_list(f.struct((-f.col("jaccard")).alias("unlike"), "candidate")))
    return compared.groupBy("id").agg(ranked["candidate"].alias("candidates"))


def _chosen(read_keys: DataFrame) -> DataFrame:
    """Return the documents that share the rarest keys with each one, as `dedup.index.keys.choose` does.

    Args:
        read_keys: of the columns `READ`.
    """
    # The keys of a document are put together before their documents are: these are some times as many rows.
    entries = read_keys.repartition("id").select("id", "shares_band", "rarity", f.explode("earlier").alias("candidate"))
    together = entries.groupBy("id", "candidate").agg(
        f.sum("rarity").alias("rarity"), f.bool_or("shares_band").alias("shares_band")
    )
    order = f.row_number().over(Window.partitionBy("id").orderBy(f.desc("rarity"), "candidate"))
    first = together.withColumn("place", order).where(f.col("place") <= MOST_RANKED)
    return first.select("id", "candidate", "shares_band")
