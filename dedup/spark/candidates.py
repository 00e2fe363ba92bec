"""The closest earlier documents of each one: a join of probes with stored blocks, and no more than are wanted.

What is found is what `dedup.corpus.candidates` finds: of the earlier documents that the plan's probes bring, the
closest ones, by distance and number, whether they are worth a check or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from dedup.corpus.candidates.probing import probes_of
from dedup.index.memory.flips import Flips
from dedup.index.memory.index import require_design
from dedup.index.memory.segment import BLOCK_BITS, BLOCK_VALUES, BLOCKS
from dedup.rules.matcher import Matcher
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import fewest_tokens, plan_of
from dedup.signature.schemes import find_scheme
from dedup.signature.sketch import Sketch
from dedup.spark.arrow import numbers, rows_of, unsigned

_SKETCH = ("minima", "shingles", "tokens")


def candidates_of(contents: DataFrame, settings: RuleSettings) -> DataFrame:
    """Return the candidates of each document that has any which its sketch does not rule out.

    Args:
        contents: what `dedup.spark.contents.contents_of` returns.
        settings: how far is looked, and how many are wanted.

    Returns:
        A row a document: its `id`, and the ids of its `candidates`, all earlier, the most similar first.

    Raises:
        SettingsError: the table design is none that there are probes for.
    """
    plan = plan_of(settings)
    require_design(plan)
    comparable = contents.where(f.col("tokens") >= fewest_tokens(settings))
    without = find_scheme(settings.scheme).without_features
    comparable = comparable.where(f.col("fingerprint") != int(np.uint64(without).astype(np.int64)))
    closest = _closest(_probed(comparable, Flips.of(plan)), _stored(comparable), plan.radius, settings.max_candidates)
    theirs = comparable.select(f.col("id").alias("candidate"), *_SKETCH)
    near = f.collect_list(f.struct("distance", "candidate", *_SKETCH))
    near_ones = closest.join(theirs, "candidate").groupBy("query").agg(f.array_sort(near).alias("near"))
    asked = comparable.select(f.col("id").alias("query"), *_SKETCH)
    rank = partial(_rank, settings=settings)
    return near_ones.join(asked, "query").mapInArrow(rank, "id long, candidates array<long>")


def _probed(contents: DataFrame, flips: Flips) -> DataFrame:
    """Return a row a look-up: `block`, which of which table; who asks, and in which bits all agrees that it brings."""
    explode = partial(_explode, flips=flips)
    wanted = contents.select("id", "fingerprint", "margins")
    return wanted.mapInArrow(explode, "block int, query long, asked long, kept long")


def _explode(batches: Iterable[pa.RecordBatch], flips: Flips) -> Iterator[pa.RecordBatch]:
    exact = np.diff(flips.starts)
    for batch in batches:
        if not len(batch):
            continue
        ids, fingerprints = batch.column("id").to_numpy(), unsigned(batch.column("fingerprint"))
        probes = probes_of(fingerprints, rows_of(batch.column("margins"), np.int64), flips)
        for table in range(BLOCKS):
            values, counts = probes.values[:, table], probes.counts[:, table]
            places = np.arange(values.shape[1])
            is_probe = places < counts[:, np.newaxis]
            query, place = np.nonzero(is_probe)
            # What is always looked up brings whatever has the block.
            kept = np.where(place < exact[table], np.uint64(0), probes.kept[query, table])
            columns = {
                "block": pa.array((values[is_probe] + table * BLOCK_VALUES).astype(np.int32)),
                "query": pa.array(ids[query]),
                "asked": numbers(fingerprints[query]),
                "kept": numbers(kept),
            }
            yield pa.RecordBatch.from_pydict(columns)


def _stored(contents: DataFrame) -> DataFrame:
    """Return a row a table: the `block` that a document stands under, and its fingerprint."""
    blocks = f.array(*(_block_of(f.col("fingerprint"), table) for table in range(BLOCKS)))
    stored = f.col("id").alias("candidate")
    return contents.select(f.explode(blocks).alias("block"), stored, "fingerprint")


def _block_of(fingerprint: Column, table: int) -> Column:
    shifted = f.shiftrightunsigned(fingerprint, BLOCK_BITS * (BLOCKS - 1 - table))
    return (shifted.bitwiseAND(BLOCK_VALUES - 1) + table * BLOCK_VALUES).cast("int")


def _closest(probed: DataFrame, stored: DataFrame, radius: int, count: int) -> DataFrame:
    """Return of each `query` the closest earlier documents, each once: `candidate` and `distance`."""
    differing = f.col("asked").bitwiseXOR(f.col("fingerprint"))
    # Sorted, both sides may be larger than memory, and neither goes to all executors.
    brought = (
        probed.join(stored.hint("merge"), "block")
        .where((f.col("candidate") < f.col("query")) & (differing.bitwiseAND(f.col("kept")) == 0))
        .select("query", f.bit_count(differing).alias("distance"), "candidate")
        .where(f.col("distance") <= radius)
    )
    # A document that several probes bring has the same rank each time. Where a rank is bounded, each task leaves out
    # what is beyond before anything is moved. Of texts that crowd so much is brought that sketches join only here.
    rank = f.dense_rank().over(Window.partitionBy("query").orderBy("distance", "candidate"))
    wanted = brought.withColumn("rank", rank).where(f.col("rank") <= count)
    return wanted.select("query", "distance", "candidate").distinct()


def _rank(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Leave what the sketches do not rule out, the most similar first."""
    matcher = Matcher(settings)
    for batch in batches:
        ids, ranked = [], []
        for row in batch.to_pylist():
            near = [(each["candidate"], _sketch(each)) for each in row["near"]]
            if candidates := matcher.rank(_sketch(row), near):
                ids.append(row["query"])
                ranked.append(candidates)
        yield pa.RecordBatch.from_arrays(
            [pa.array(ids, pa.int64()), pa.array(ranked, pa.list_(pa.int64()))], ["id", "candidates"]
        )


def _sketch(row: dict[str, object]) -> Sketch:
    minima, shingles, tokens = (row[name] for name in _SKETCH)
    return Sketch(minima, 0, tokens, shingles)  # type: ignore[arg-type]
