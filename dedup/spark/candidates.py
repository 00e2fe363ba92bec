"""The candidates of documents: a join on the keys, of which the crowded ones are read to a bound.

What is found is what `dedup.corpus.deciding.key_map` finds. No step costs more than so many rows a document: it has 34
keys, of each of which the earliest 16 documents are read, and of all of these 64 are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from dedup.index.keys import MOST_RANKED, RADIUS
from dedup.rules.settings import RuleSettings
from dedup.rules.thresholds import Thresholds, may_be_alike
from dedup.signature.sketch import MINIMA, containment_of, jaccard_of
from dedup.spark.contents import is_comparable
from dedup.spark.keys import READ, keys_in, marks_of, read
from dedup.spark.known import Known
from dedup.spark.signing import rows_of
from dedup.spark.steps import Steps

SKETCH = ("minima", "shingles", "tokens")
"""The columns of a sketch."""

COMPARED = "id long, candidate long, jaccard double"
"""What `compare` yields."""

_LOWEST_BITS = np.uint64(0x1111111111111111)
# The rules are plain functions of numbers; a table, and a call for each pair, take a microsecond.
_JACCARDS = np.array([jaccard_of(differing) for differing in range(MINIMA + 1)])
_containments: Any = np.frompyfunc(containment_of, 3, 1)


def compare(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Estimate how alike pairs are, and leave out those that no check confirms, as `dedup.rules.matcher.Matcher.rank`.

    Args:
        batches: `id` and `candidate`; the sketches of both, those of the candidate's with `their_` before their names.
        settings: what is to be reached.
    """
    worth_it: Any = np.frompyfunc(partial(_is_worth_it, Thresholds.of(settings)), 4, 1)
    for batch in batches:
        if not len(batch):
            continue
        ours, theirs = (_sketches(batch, before) for before in ("", "their_"))
        fewer, more = (each(ours["shingles"], theirs["shingles"]) for each in (np.minimum, np.maximum))
        # What has no shingle is like nothing.
        is_any = fewer > 0
        jaccard = _JACCARDS[_differing(ours["minima"], theirs["minima"])] * is_any
        containment = _containments(jaccard, np.maximum(fewer, 1), np.maximum(more, 1))
        fewer, more = (each(ours["tokens"], theirs["tokens"]) for each in (np.minimum, np.maximum))
        found = worth_it(jaccard, containment, fewer / np.maximum(more, 1) * is_any, fewer)
        columns = [batch.column("id"), batch.column("candidate"), pa.array(jaccard)]
        rows = pa.RecordBatch.from_arrays(columns, ["id", "candidate", "jaccard"])
        yield rows.filter(pa.array(found.astype(np.bool_)))


def _is_worth_it(needed: Thresholds, jaccard: float, containment: float, length_ratio: float, tokens: int) -> bool:
    return may_be_alike(jaccard, containment, length_ratio, tokens, needed)


def _sketches(batch: pa.RecordBatch, before: str) -> dict[str, NDArray[Any]]:
    minima = rows_of(batch.column(f"{before}minima"), np.uint64)
    return {"minima": minima, **{name: batch.column(before + name).to_numpy() for name in ("shingles", "tokens")}}


def _differing(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return in how many minima sketches differ, as `dedup.signature.sketch.compare` counts."""
    bits = ours ^ theirs
    bits |= bits >> np.uint64(2)
    bits |= bits >> np.uint64(1)
    differing: NDArray[np.int64] = np.bitwise_count(bits & _LOWEST_BITS).sum(axis=1, dtype=np.int64)
    return differing


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
