"""What candidates turn out to be: documents that can have to do with each other, decided one after the other.

A task has whole components, its documents in the order of their ids, and decides them by the `Matcher` that decides
crawls and files. It has some 140 bytes of a document in memory; words are in a temporary file.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.corpus.batches import WordSource
from dedup.corpus.deciding import Clusters, decide_content, query_of, table_rows
from dedup.corpus.document_table import Block, DocumentTable, Lengths, sketch_of
from dedup.corpus.recording import related_row
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import BITS, Sketch, compare, distance
from dedup.spark.candidates import PriorIndex, semi_join
from dedup.spark.session import Steps
from dedup.spark.signing import MEMBERSHIPS, arrow_schema, signatures_of, with_word_lists

_COLUMNS = (
    "id long, key string, original string, matched string, verdict string, distance int, similarity double, "
    f"rule string, kept string, lost int, lost_bytes int, places int, memberships {MEMBERSHIPS}"
)
_ROWS = 4096
_ALL_BITS = (1 << BITS) - 1


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


class _Membership(NamedTuple):
    """Whom a document belongs to, by the number of the leader, and the id of the document since which it does."""

    since: int
    leader: int


def decide(
    documents: DataFrame, candidates: DataFrame, prior: PriorIndex, settings: RuleSettings, steps: Steps
) -> DataFrame:
    """Decide the documents that have candidates.

    Args:
        documents: id, key and text of each, also of others.
        candidates: what `dedup.spark.candidates.candidates_of` returns.
        prior: the documents of an earlier index, which stay what they are.
        settings: how matches are decided.
        steps: keeps what is made on the way.

    Returns:
        Rows of two kinds: those with a `verdict` are duplicates, or similar to others. Those with `memberships` say in
        whose cluster a document was since which other was decided, the last in the end.
    """
    edges = candidates.select("id", f.explode("candidates").alias("other"))
    components = components_of(edges.where(f.col("other") >= prior.end), steps)
    in_doubt = components.join(candidates, "id", "full_outer")
    in_doubt = steps.keep("in-doubt", in_doubt.withColumn("component", f.coalesce("component", "id")))
    needed = in_doubt.select("component", f.explode("candidates").alias("id")).where(f.col("id") < prior.end)
    texts = semi_join(in_doubt, documents.select("id", "key", "text"))
    of_new = texts.join(in_doubt, "id").select("component", "id", "key", "text", "candidates")
    rows = of_new.unionByName(prior.with_leaders(needed, steps), allowMissingColumns=True)
    # All of a component in one task, whatever Spark makes of the number of tasks.
    together = rows.repartition("component").sortWithinPartitions("id")
    return together.drop("component").mapInArrow(with_word_lists(partial(_decide, settings=settings)), _COLUMNS)


def _decide(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder, closing(_Task(settings, Path(folder))) as task:
        for batch in batches:
            is_known = batch.column("text").is_null()
            task.add_earlier(batch.filter(is_known))
            yield from _packed(task.decide(batch.filter(pc.invert(is_known))))
        yield from _packed(task.memberships())


def _packed(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    rows = list(rows)
    for start in range(0, len(rows), _ROWS):
        yield pa.RecordBatch.from_pylist(rows[start : start + _ROWS], arrow_schema(_COLUMNS))


class _Task:
    """The documents of a task: what they turn out to be, in the order of their ids.

    Args:
        settings: how they are decided.
        folder: where is kept what does not stand in memory.
    """

    def __init__(self, settings: RuleSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._table = DocumentTable(folder)
        # They stay in their clusters.
        self._earlier = 0
        self._ids: list[int] = []
        self._memberships: dict[int, list[_Membership]] = {}

    @cached_property
    def _clusters(self) -> Clusters:
        words = WordSource(scheme_name=self._settings.scheme)
        return Clusters(self._table, self._settings, self._folder, words, Lengths(earlier=self._earlier))

    def close(self) -> None:
        """Close the files."""
        self._clusters.close()

    def add_earlier(self, batch: pa.RecordBatch) -> None:
        """Add documents of an earlier index, all of which come first."""
        for row in batch.to_pylist():
            # Several components may need it.
            if self._ids and self._ids[-1] == row["id"]:
                continue
            digest = np.array([row["low"], row["high"]], np.int64).tobytes()
            sketch = Sketch(row["minima"], 0, row["tokens"], row["shingles"])
            fingerprint, words = row["fingerprint"] & _ALL_BITS, row["words"] or b""
            leader = None if row["leader"] is None else bisect_left(self._ids, row["leader"])
            self._table.add(row["key"], digest, fingerprint, sketch, words=words, leader=leader, indexed=True)
            self._ids.append(row["id"])
            self._earlier += 1

    def decide(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield what the documents of a batch are, where they are duplicates, or similar to others."""
        signatures = signatures_of(batch.column("text"), self._settings.scheme, with_words=True)
        ids, keys, candidates = (batch.column(name).to_pylist() for name in ("id", "key", "candidates"))
        first, rows = len(self._table), signatures.rows
        encoded = [key.encode() for key in keys]
        self._table.extend(Block(table_rows(rows, indexed=True), encoded, signatures.words, rows["bands"]))
        self._ids += ids
        for place in (place for place, found in enumerate(candidates) if found):
            number = first + place
            query = query_of(rows[place], keys[place], partial(self._clusters.words_of, number))
            ranked = [bisect_left(self._ids, each) for each in candidates[place]]
            answer, moved = self._clusters.decide(number, query, ranked)
            if answer.match is not None:
                for each in (*moved, number):
                    membership = _Membership(ids[place], answer.match.leader.id)
                    self._memberships.setdefault(each, []).append(membership)
            if answer.match or answer.similar:
                decision = decide_content(rows[place], int(signatures.text_bytes[place]), answer)
                yield {"id": ids[place], **related_row(keys[place], decision)}

    def memberships(self) -> Iterator[dict[str, Any]]:
        """Yield in whose clusters documents were, and are."""
        for number, memberships in self._memberships.items():
            entries = [self._membership(number, each) for each in memberships]
            yield {"id": self._ids[number], "key": self._table.key(number), "memberships": entries}

    def _membership(self, number: int, membership: _Membership) -> dict[str, Any]:
        """Return whom a document belongs to, with the distance and similarity of the two."""
        row, leader = self._table.rows[number], self._table.rows[membership.leader]
        return {
            "since": membership.since,
            "leader": self._ids[membership.leader],
            "leader_key": self._table.key(membership.leader),
            "distance": distance(int(row["fingerprint"]), int(leader["fingerprint"])),
            "similarity": compare(sketch_of(row), sketch_of(leader)).jaccard,
        }
