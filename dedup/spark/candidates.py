"""The closest earlier documents of each one: chunks of what is stored, each compared with a stream of documents.

G. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 4.2: a task of a batch
has a chunk of the stored fingerprints and goes through those that are looked up. A join on the values of blocks that
probes look up would do less only if fingerprints were spread evenly: those of real texts crowd, and a look-up brings a
quarter of them. So what a task takes is bounded by the size of a chunk, whatever is alike.

What is found is what `dedup.corpus.candidates` finds: of the earlier documents that the plan's probes bring, the
closest ones, by distance and number, whether they are worth a check or not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from math import ceil, sqrt
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from dedup.index.memory.index import require_design
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import plan_of
from dedup.spark.comparing import FOUND, compare, merge
from dedup.spark.contents import is_comparable
from dedup.spark.word_lists import with_word_lists

STORED = ("id", "fingerprint", "minima", "shingles", "tokens")
"""The columns of documents among which is looked."""

# Of each 350 bytes are in memory.
_MOST_STORED = 500_000
_TASKS_A_CORE = 4
# Parts are of one size to within a tenth.
_ACCURACY = 10
# What a task is sent of a document that is looked around, by what it is sent of a stored one.
_WEIGHT_OF_ASKED = 6


def candidates_of(asked: DataFrame, stored: DataFrame, settings: RuleSettings) -> DataFrame:
    """Return the candidates of each document that has any which its sketch does not rule out.

    Args:
        asked: the contents that are looked around, see `dedup.spark.contents.contents_of`.
        stored: those among which is looked for earlier ones, by id; the columns `STORED`.
        settings: how far is looked, and how many are wanted.

    Returns:
        A row a document: its `id`, and the ids of its `candidates`, all earlier, the most similar first.

    Raises:
        SettingsError: the table design is none that there are probes for.
    """
    require_design(plan_of(settings))
    asked, stored = (each.where(is_comparable(settings)) for each in (asked, stored))
    grid = _Grid.of(asked, stored)
    if grid is None:
        return asked.sparkSession.createDataFrame([], "id long, candidates array<long>")
    sent = stored.select(grid.of_stored(), f.lit(False).alias("is_asked"), *STORED, f.lit(None).alias("margins"))
    sent = sent.union(asked.select(grid.of_asked(), f.lit(True).alias("is_asked"), *STORED, "margins"))
    tasks = sent.repartition(grid.tasks, "task").sortWithinPartitions("task", "is_asked", "id")
    found = tasks.mapInArrow(with_word_lists(partial(compare, settings=settings)), FOUND)
    together = found.repartition("query").sortWithinPartitions("query", "task")
    return together.mapInArrow(partial(merge, settings=settings), "id long, candidates array<long>")


class _Grid(NamedTuple):
    """Which documents meet in which task: one for each chunk and each range of ids that reaches beyond its start.

    Attributes:
        chunks: where each chunk of what is stored begins, but for the first.
        ranges: where each range of what is looked around begins, but for the first; both rise.
    """

    chunks: Sequence[int]
    ranges: Sequence[int]

    @classmethod
    def of(cls, asked: DataFrame, stored: DataFrame) -> _Grid | None:
        """Make it for so many tasks that all cores have something to do; None: there is nothing to do."""
        asked_count, stored_count = asked.count(), stored.count()
        if not asked_count or not stored_count:
            return None
        tasks = _TASKS_A_CORE * asked.sparkSession.sparkContext.defaultParallelism
        # Each chunk is sent to all ranges, and each range to all chunks: so the least is sent.
        ranges = ceil(sqrt(tasks * _WEIGHT_OF_ASKED * asked_count / stored_count))
        chunks = max(ceil(tasks / ranges), ceil(stored_count / _MOST_STORED))
        return cls(_bounds(stored, min(chunks, stored_count)), _bounds(asked, min(ranges, asked_count)))

    @property
    def tasks(self) -> int:
        """How many tasks there are at most."""
        return (len(self.chunks) + 1) * (len(self.ranges) + 1)

    def of_stored(self) -> Column:
        """Return the tasks that a stored document is sent to, a row each: ranges that end after its chunk begins."""
        first = [0, *(bisect_right(self.ranges, start) for start in self.chunks)]
        chunk = _place(self.chunks)
        ranges = f.sequence(_looked_up(chunk, first), f.lit(len(self.ranges)).cast("long"))
        return f.explode(f.transform(ranges, lambda range_: self._task(chunk, range_))).alias("task")

    def of_asked(self) -> Column:
        """Return the tasks that a document is sent to, a row each: the chunks that begin before its range ends."""
        last = [*(bisect_left(self.chunks, end) for end in self.ranges), len(self.chunks)]
        range_ = _place(self.ranges)
        chunks = f.sequence(f.lit(0).cast("long"), _looked_up(range_, last))
        return f.explode(f.transform(chunks, lambda chunk: self._task(chunk, range_))).alias("task")

    def _task(self, chunk: Column, range_: Column) -> Column:
        return (chunk * (len(self.ranges) + 1) + range_).cast("long")


def _bounds(contents: DataFrame, parts: int) -> list[int]:
    """Return where about equal parts begin by id, but for the first one."""
    if parts == 1:
        return []
    shares = [part / parts for part in range(1, parts)]
    [bounds] = contents.agg(f.percentile_approx("id", shares, _ACCURACY * parts)).collect()
    return sorted(set(bounds[0]))


def _place(bounds: Sequence[int]) -> Column:
    """Return in which part the id of a row lies."""
    return f.size(f.filter(_array(bounds), lambda bound: bound <= f.col("id")))


def _array(numbers: Sequence[int]) -> Column:
    return f.array(*map(f.lit, numbers)).cast("array<long>")


def _looked_up(place: Column, numbers: Sequence[int]) -> Column:
    return f.element_at(_array(numbers), place + 1)
