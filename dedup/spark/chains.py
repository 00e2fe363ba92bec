"""Candidates to decisions: documents that can have to do with each other in one task, in the order of their ids.

A task writes them into parts and decides them by `dedup.corpus.chains`, as `dedup files` does.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.corpus import chains
from dedup.corpus.decisions import decision_in
from dedup.corpus.index import rows_of
from dedup.corpus.pairing import PAIR
from dedup.corpus.parts import NULL, Columns, Parts, RowsFile, write_part
from dedup.corpus.writing import RELATED, related_row
from dedup.rules.settings import Mode, RuleSettings
from dedup.spark.candidates import PriorIndex, semi_join
from dedup.spark.session import Steps
from dedup.spark.signing import ddl_of, packed, with_word_lists

DECIDED = {
    "id": "int64",
    **{name: kind for name, kind in RELATED.items() if name != "source"},
    "leader": "int64",
    "second": "int64",
    "second_key": "string",
}
"""The columns of decisions: those of what is written, and the ids of the leader and, of a copy of two, of the second
one, which has a key, too."""


def decide(
    signed: DataFrame, candidates: DataFrame, prior: PriorIndex, settings: RuleSettings, steps: Steps
) -> DataFrame:
    """Decide the documents that have candidates.

    Args:
        signed: of the columns `dedup.spark.signing.SIGNED`.
        candidates: what `dedup.spark.candidates.candidates_of` returns.
        prior: the documents of an earlier index, which stay what they are.
        settings: how matches are decided.
        steps: keeps what is made on the way.

    Returns:
        Those that are duplicates, or similar to others, of the columns `DECIDED`.
    """
    edges = candidates.select("id", f.explode("candidates").alias("other"))
    known = prior.leaders_of(edges.select(f.col("other").alias("id")), steps)
    # Two that resemble members of one cluster may be filled in from the same template.
    components = components_of(prior.by_leaders(edges, known), steps)
    needed = known.union(known.select("leader", "leader")).distinct()
    of_leaders = components.withColumnRenamed("id", "leader")
    of_known = needed.join(of_leaders, "leader").select("component", "id").join(prior.rows.drop("bands"), "id")
    new = components.where(f.col("id") >= prior.end).join(candidates, "id", "left")
    in_doubt = steps.keep("in-doubt", new)
    of_new = semi_join(in_doubt, signed.drop("bands", "reason")).join(in_doubt, "id")
    rows = of_new.unionByName(of_known, allowMissingColumns=True)
    # All of a component in one task, whatever Spark makes of the number of tasks.
    together = rows.repartition("component").sortWithinPartitions("id").drop("component")
    return together.mapInArrow(with_word_lists(partial(_decide, settings=settings, end=prior.end)), ddl_of(DECIDED))


def components_of(edges: DataFrame, steps: Steps, name: str = "components") -> DataFrame:
    """Return of each document that has an edge, or is at the end of one, the smallest `id` of its `component`.

    Args:
        edges: from a document, `id`, to each of those that it has to do with, `other`, which is an earlier one.
        steps: keeps what each round returns.
        name: what it is called there.
    """
    before, now = None, _mark_of(edges)
    for number in count(1):
        if before == now:
            break
        edges = steps.keep(f"{name}-{number}", _towards_smallest(_from_all(edges)))
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


def _decide(batches: Iterable[pa.RecordBatch], settings: RuleSettings, end: int) -> Iterator[pa.RecordBatch]:
    with tempfile.TemporaryDirectory(prefix="dedup-") as name:
        task = _Task(settings, end, Path(name))
        with closing(task):
            for batch in filter(len, batches):
                task.add(batch)
        yield from packed(task.decide(), DECIDED)


class _Task:
    """The documents of a task: what they turn out to be, in the order of their ids.

    Args:
        settings: how they are decided.
        end: the ids of documents of an earlier index are smaller.
        folder: takes them.
    """

    def __init__(self, settings: RuleSettings, end: int, folder: Path) -> None:
        self._settings, self._end, self._folder = settings, end, folder
        self._rows = RowsFile(folder)
        self._part = 0
        # Numbers, and the ids of candidates.
        self._ids, self._pairs = array("q"), array("q")

    def add(self, batch: pa.RecordBatch) -> None:
        """Add documents, which come behind all that were added before."""
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        rows = rows_of(batch)
        rows["deflated"], rows["known"] = True, batch.column("id").to_numpy() < self._end
        rows["size"] = [each or 0 for each in columns["bytes"]]
        rows["titled"] = [each is not None for each in columns["title"]]
        titles = [(each or "").encode() for each in columns["title"]]
        words = [each or b"" for each in columns["words"]]
        write_part(
            self._folder, self._part, rows, Columns([each.encode() for each in columns["key"]], words, titles=titles)
        )
        self._part += 1
        numbers = range(len(self._ids), len(self._ids) + len(rows))
        self._pairs.extend(
            chain.from_iterable(
                (number, each)
                for number, candidates in zip(numbers, columns["candidates"], strict=True)
                for each in candidates or ()
            )
        )
        self._ids.extend(columns["id"])
        ids = np.frombuffer(self._ids, np.int64)
        rows["leader"] = [NULL if each is None else np.searchsorted(ids, each) for each in columns["leader"]]
        del ids
        self._rows.add(rows)

    def close(self) -> None:
        """Write what waits to be written."""
        self._rows.close()

    def decide(self) -> Iterator[dict[str, Any]]:
        """Yield what documents are, where they are duplicates, or similar to others."""
        ids, parts = np.frombuffer(self._ids, np.int64), Parts(self._folder)
        pairs = np.frombuffer(self._pairs, PAIR).copy()
        pairs["candidate"] = np.searchsorted(ids, pairs["candidate"])
        if self._settings.mode is Mode.PAPER:
            decided = chains.decide_by_paper(parts, _closest(parts, pairs))
        else:
            np.save(self._folder / chains.PAIRS, pairs)
            decided = chains.decide(self._folder, 0, len(pairs), self._settings)
        for row in decided:
            decision, second = decision_in(row, parts), int(row["second"])
            yield {
                "id": int(ids[row["number"]]),
                **related_row(decision.key, decision),
                "leader": int(ids[row["original"]]),
                "second": None if second == NULL else int(ids[second]),
                "second_key": decision.details.second,
            }


def _closest(parts: Parts, pairs: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the duplicates of the paper's mode, each with the first candidate that is no duplicate itself."""
    is_led = parts.rows["leader"] != NULL
    for number, some in groupby(pairs.tolist(), itemgetter(0)):
        closest = next((candidate for _, candidate in some if not is_led[candidate]), None)
        if closest is not None:
            is_led[number] = True
            yield number, closest
