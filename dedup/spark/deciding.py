"""What candidates turn out to be: documents that can have to do with each other, decided one after the other.

A task has whole components, its documents in the order of their ids, and decides them by the `Matcher` that decides
crawls and files. It has some 140 bytes of a document in memory; words are in a temporary file.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
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

from dedup.corpus.deciding.clusters import ClusterMerges, KnownClusters, asked_of, content_of
from dedup.corpus.deciding.known import KnownDocuments, Lengths
from dedup.corpus.signing.batches import Signed
from dedup.corpus.signing.words import WordSource
from dedup.rules.decision import Decision, Verdict, decision_of
from dedup.rules.documents import NOTHING_ALIKE, Answer
from dedup.rules.matcher import Matcher
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import BITS, distance
from dedup.signature.sketch import Sketch, compare
from dedup.spark.contents import named_by
from dedup.spark.known import STANDINGS, STANDINGS_TYPE, Known
from dedup.spark.signing import signatures_of, with_word_lists
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


_COLUMNS = (
    "id long, key string, original string, matched string, verdict string, distance int, similarity double, "
    f"rule string, kept string, lost int, lost_bytes int, places int, standings {STANDINGS}"
)
_ROW = {
    "id": pa.int64(),
    "key": pa.string(),
    "original": pa.string(),
    "matched": pa.string(),
    "verdict": pa.string(),
    "distance": pa.int32(),
    "similarity": pa.float64(),
    "rule": pa.string(),
    "kept": pa.string(),
    "lost": pa.int32(),
    "lost_bytes": pa.int32(),
    "places": pa.int32(),
    "standings": STANDINGS_TYPE,
}
_ROWS = 4096
_ALL_BITS = (1 << BITS) - 1


class _Standing(NamedTuple):
    """Whom a document belongs to, by the number of the leader, and the id of the document since which it does."""

    since: int
    leader: int


def decide(
    documents: DataFrame, candidates: DataFrame, known: Known, settings: RuleSettings, steps: Steps
) -> DataFrame:
    """Decide the documents that have candidates.

    Args:
        documents: id, key and text of each, also of others.
        candidates: what `dedup.spark.candidates.candidates_of` returns.
        known: the documents of an earlier index, which stay what they are.
        settings: how matches are decided.
        steps: keeps what is made on the way.

    Returns:
        Rows of two kinds: those with a `verdict` are duplicates, or similar to others. Those with `standings` say of a
        document that is in another one's cluster in whose it was since which document was decided, the last in the
        end.
    """
    edges = candidates.select("id", f.explode("candidates").alias("other"))
    components = components_of(edges.where(f.col("other") >= known.end), steps)
    in_doubt = components.join(candidates, "id", "full_outer")
    in_doubt = steps.keep("in-doubt", in_doubt.withColumn("component", f.coalesce("component", "id")))
    needed = in_doubt.select("component", f.explode("candidates").alias("id")).where(f.col("id") < known.end)
    texts = named_by(in_doubt, documents.select("id", "key", "text"))
    of_new = texts.join(in_doubt, "id").select("component", "id", "key", "text", "candidates")
    rows = of_new.unionByName(known.with_leaders(needed, steps), allowMissingColumns=True)
    # All of a component in one task, whatever Spark makes of the number of tasks.
    together = rows.repartition("component").sortWithinPartitions("id")
    return together.drop("component").mapInArrow(with_word_lists(partial(_decide, settings=settings)), _COLUMNS)


def _decide(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder, closing(_Task(settings, Path(folder))) as task:
        for batch in batches:
            is_known = batch.column("text").is_null()
            task.know(batch.filter(is_known))
            yield from _packed(task.decide(batch.filter(pc.invert(is_known))))
        yield from _packed(task.standings())


def _packed(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    rows = list(rows)
    for start in range(0, len(rows), _ROWS):
        yield pa.RecordBatch.from_pylist(rows[start : start + _ROWS], pa.schema(_ROW))


class _Task:
    """The documents of a task: what they turn out to be, in the order of their ids.

    Args:
        settings: how they are decided.
        folder: where is kept what does not stand in memory.
    """

    def __init__(self, settings: RuleSettings, folder: Path) -> None:
        self._settings = settings
        self._matcher = Matcher(settings)
        self._source = WordSource(scheme_name=settings.scheme)
        self._known = KnownDocuments(folder)
        self._folder = folder
        # They stay in their clusters.
        self._earlier = 0
        self._ids: list[int] = []
        self._standings: dict[int, list[_Standing]] = {}

    @cached_property
    def _merges(self) -> ClusterMerges:
        return ClusterMerges(self._known, self._folder, Lengths(earlier=self._earlier))

    @cached_property
    def _clusters(self) -> KnownClusters:
        return KnownClusters(self._known, self._merges, self._source)

    def close(self) -> None:
        """Close the files."""
        self._merges.close()
        self._known.close()

    def know(self, batch: pa.RecordBatch) -> None:
        """Know the documents of an earlier index, all of which come first."""
        for row in batch.to_pylist():
            # Several components may need it.
            if self._ids and self._ids[-1] == row["id"]:
                continue
            digest = np.array([row["low"], row["high"]], np.int64).tobytes()
            sketch = Sketch(row["minima"], 0, row["tokens"], row["shingles"])
            fingerprint, words = row["fingerprint"] & _ALL_BITS, row["words"] or b""
            leader = None if row["leader"] is None else bisect_left(self._ids, row["leader"])
            self._known.add(row["key"], digest, fingerprint, sketch, words=words, leader=leader, indexed=True)
            self._ids.append(row["id"])
            self._earlier += 1

    def decide(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield what the documents of a batch are, where they are duplicates, or similar to others."""
        signatures = signatures_of(batch.column("text"), self._settings.scheme, with_words=True)
        columns = (batch.column(name).to_pylist() for name in ("id", "key", "candidates"))
        for number, key, candidates, row, words in zip(*columns, signatures.rows, signatures.words, strict=True):
            decision = self._decide(number, key, candidates or (), Signed.of(row, words))
            if decision is not None:
                yield {
                    "id": number,
                    "key": key,
                    "original": decision.original,
                    "matched": decision.matched,
                    "verdict": decision.verdict.value,
                    "distance": decision.distance,
                    "similarity": decision.similarity,
                    "rule": decision.rule and decision.rule.short,
                    "kept": decision.outcome.kept and decision.outcome.kept.value,
                    "lost": decision.lost.words,
                    "lost_bytes": decision.lost.bytes,
                    "places": decision.lost.places,
                }

    def standings(self) -> Iterator[dict[str, Any]]:
        """Yield in whose clusters documents were, and are."""
        for number, standings in self._standings.items():
            entries = [self._standing(number, each) for each in standings]
            yield {"id": self._ids[number], "key": self._known.key(number), "standings": entries}

    def _decide(self, id_: int, key: str, candidates: Sequence[int], signed: Signed) -> Decision | None:
        answer = NOTHING_ALIKE
        if candidates:
            ranked = [bisect_left(self._ids, each) for each in candidates]
            answer = self._matcher.find_among(asked_of(signed, key, self._source), ranked, self._clusters)
        self._enter(id_, key, signed, answer)
        if not (answer.match or answer.similar):
            return None
        return decision_of(Verdict.NEW, content_of(signed), answer)

    def _enter(self, id_: int, key: str, signed: Signed, answer: Answer) -> None:
        """Know a document, and join what it shows to be one."""
        match = answer.match
        if match is not None and match.joined is not None:
            joined = match.joined.id
            for number in (joined, *(self._merges.movable(joined) or ())):
                self._stand(number, _Standing(id_, match.leader.id))
            self._clusters.join(match)
        leader = None if match is None else match.leader.id
        number = self._known.add(
            key, signed.text_digest, signed.fingerprint, signed.sketch, words=signed.words, leader=leader, indexed=True
        )
        self._ids.append(id_)
        if answer.lost.is_long:
            self._clusters.pass_on(number)
        if leader is not None:
            self._stand(number, _Standing(id_, leader))

    def _stand(self, number: int, standing: _Standing) -> None:
        self._standings.setdefault(number, []).append(standing)

    def _standing(self, number: int, standing: _Standing) -> dict[str, Any]:
        """Return whom a document belongs to, with the distance and similarity of the two."""
        rows, leader = self._known.rows, standing.leader
        return {
            "since": standing.since,
            "leader": self._ids[leader],
            "leader_key": self._known.key(leader),
            "distance": distance(int(rows["fingerprint"][number]), int(rows["fingerprint"][leader])),
            "similarity": compare(self._known.sketch(number), self._known.sketch(leader)).jaccard,
        }
