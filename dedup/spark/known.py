"""The documents of an earlier index, among which new ones are looked for: they stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.errors import InputError
from dedup.signature.sketch import Sketch, compare
from dedup.spark.contents import DIGEST
from dedup.spark.steps import Steps

COLUMNS = (
    "id long, key string, low long, high long, fingerprint long, minima binary, tokens long, shingles long, "
    "leader long, indexed boolean, bands binary, words binary"
)
"""Of each content one document, as `dedup.spark.contents` has them: with the id of the leader of its cluster if that is
another one, whether it can be a near-duplicate, its bands, and its words with a line feed between them, deflated, null
where they are not kept."""

STANDINGS = "array<struct<since:long,leader:long,leader_key:string,distance:int,similarity:double>>"
"""In whose cluster a document was, since which document, and how near it is to that leader; the last is the present."""

STANDINGS_TYPE = pa.list_(
    pa.struct(
        {
            "since": pa.int64(),
            "leader": pa.int64(),
            "leader_key": pa.string(),
            "distance": pa.int32(),
            "similarity": pa.float64(),
        }
    )
)
"""The same, as Arrow has it."""

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_SKETCH = ("minima", "shingles", "tokens")
_COMPARED = ("fingerprint", *_SKETCH)
_OF_LEADER = ("leader", "leader_key", "distance")


def names_of(columns: str) -> list[str]:
    """Return the names of columns that are given with their types."""
    return [column.split()[0] for column in columns.split(", ")]


@dataclass(frozen=True)
class Known:
    """The documents of an earlier index.

    Attributes:
        rows: of the columns `COLUMNS`.
        end: all their ids are smaller, and those of new documents are not.
        shift: by how much their ids in the index are larger.
        is_empty: whether there is no index.
    """

    rows: DataFrame
    end: int
    shift: int
    is_empty: bool = False

    @classmethod
    def before(cls, rows: DataFrame | None, signed: DataFrame) -> Known:
        """Return the documents of an index with ids below those of new documents, in the same order.

        Args:
            rows: of the columns `COLUMNS`; None: nothing is known.
            signed: the new documents; their `id`.

        Raises:
            InputError: the ids of both together do not fit into a long.
        """
        if rows is None:
            return cls(signed.sparkSession.createDataFrame([], COLUMNS), _LEAST, 0, is_empty=True)
        [(smallest, last)] = signed.agg(f.min("id"), f.max("id")).collect()
        [(first, largest)] = rows.agg(f.min("id"), f.max("id")).collect()
        if None in {smallest, largest}:
            return cls(rows, _LEAST if smallest is None else smallest, 0)
        shift = largest + 1 - smallest
        if first - shift < _LEAST or last + shift > _MOST:
            raise InputError(
                f"column id: {smallest} to {last} do not fit behind those of the earlier index, up to {largest}; "
                "give smaller ones"
            )
        return cls(rows.withColumns({name: f.col(name) - shift for name in ("id", "leader")}), smallest, shift)

    def behind(self, rows: DataFrame) -> DataFrame:
        """Return rows of new documents with the ids that they have in the index behind those that are known.

        Args:
            rows: their `id`, maybe `leader`, and other columns.
        """
        ids = [name for name in ("id", "leader") if name in rows.columns]
        return rows.withColumns({name: f.col(name) + self.shift for name in ids})

    def with_leaders(self, needed: DataFrame, steps: Steps) -> DataFrame:
        """Return known documents with the leaders of their clusters, once for each component that needs them.

        Args:
            needed: `component` and `id`.
            steps: keeps which they are.
        """
        leaders = needed.join(self.rows.select("id", "leader"), "id").where(f.col("leader").isNotNull())
        ids = needed.union(leaders.select("component", f.col("leader").alias("id"))).distinct()
        # Kept, so that Spark knows how few they are, and sends them to where the rows are read: their words stay there.
        return steps.keep("needed", ids).join(self.rows.drop("bands"), "id")

    def equal_to(self, signed: DataFrame, steps: Steps) -> DataFrame:
        """Return the known documents that have the content of a new one, without their words and bands.

        Args:
            signed: the new documents; the digests of their contents.
            steps: keeps them: Spark then knows how few they are.
        """
        rows = self.rows.drop("bands", "words")
        if self.is_empty:
            return rows
        return steps.keep("equal", rows.join(signed.select(*DIGEST), [*DIGEST], "left_semi"))

    def standings_of(self, members: DataFrame) -> DataFrame:
        """Return the standings of known documents that do not lead themselves.

        Args:
            members: the documents, also others, of which there are few.

        Returns:
            `id`, `key` and `standings`.
        """
        leaders = self.rows.select(
            f.col("id").alias("leader"), f.col("key").alias("leader_key"), f.struct(*_COMPARED).alias("theirs")
        )
        pairs = leaders.join(members.where(f.col("leader").isNotNull()), "leader").select(
            "id", "key", "leader", "leader_key", f.struct(*_COMPARED).alias("ours"), "theirs"
        )
        differing = f.bit_count(f.col("ours.fingerprint").bitwiseXOR(f.col("theirs.fingerprint")))
        columns = f"id long, key string, standings {STANDINGS}"
        return pairs.withColumn("distance", differing).mapInArrow(_compare, columns)


def _compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        standings = [[_standing(row)] for row in batch.to_pylist()]
        columns = [batch.column("id"), batch.column("key"), pa.array(standings, STANDINGS_TYPE)]
        yield pa.RecordBatch.from_arrays(columns, ["id", "key", "standings"])


def _standing(row: dict[str, Any]) -> dict[str, Any]:
    similarity = compare(_sketch(row["ours"]), _sketch(row["theirs"])).jaccard
    return {"since": row["id"], **{name: row[name] for name in _OF_LEADER}, "similarity": similarity}


def _sketch(row: dict[str, Any]) -> Sketch:
    return Sketch(row["minima"], 0, row["tokens"], row["shingles"])
