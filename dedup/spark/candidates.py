"""The candidates of documents: a join on the keys, of which the crowded ones are read to a bound.

Equal texts come first: of each content the first document is compared, the others are copies of it. What is found is
what `dedup.corpus.pairing` finds. No step costs more than so many rows a document: it has 34 keys, of each of which
the earliest 16 documents are read, and of all of these 64 are compared.

A key is one long here: its number and value, mixed. Two of a billion documents' may be the same by chance; such a
candidate is one more that nothing confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from dedup.corpus import index
from dedup.corpus.pairing import SKETCH, estimate
from dedup.errors import InputError
from dedup.keys import Keys, choose
from dedup.rules.settings import LIMITS, Caution, Limits, Mode, RuleSettings
from dedup.spark.session import Steps
from dedup.spark.signing import ddl_of, packed

DIGEST = ("low", "high")
"""The columns of the digest of a content; both 0: it has no words."""

COLUMNS = {"id" if name == "number" else name: kind for name, kind in index.COLUMNS.items()}
"""Those of a saved index: of each content one document."""

_SHARED = {"id": "int64", "candidate": "int64", "shares_band": "bool"}
_OF_CONTENT = [name for name in COLUMNS if name not in {*DIGEST, "id", "leader", "words"}]
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_SKETCH = ("minima", "shingles", "tokens")
_COMPARED = ("fingerprint", *_SKETCH)
_THEIRS = "their_"
# What any two reach.
_ANY = LIMITS[Caution.EAGER]._replace(min_jaccard=0.0)

_IS_BAND = np.uint64(1)
_MARKED_BITS = np.uint64(64 - 25)
# Maps of bits have so many in Spark, and bytes.
_BITS_A_MAP, _BYTES_A_MAP = 1 << 15, 1 << 12


def contents_of(signed: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the first document of each content that is not known; texts without words are copies of nothing.

    Args:
        signed: of the columns `dedup.spark.signing.SIGNED`.
        equal: the known documents with the same contents, see `PriorIndex.exact_matches`.
    """
    with_words = signed.where((f.col("low") != 0) | (f.col("high") != 0))
    # An aggregate has its part done before documents are moved: equal texts, however many, arrive as one.
    first = f.min(f.struct("id", *_OF_CONTENT)).alias("first")
    contents = with_words.groupBy(*DIGEST).agg(first).select(*DIGEST, "first.*")
    return contents.join(equal.select(*DIGEST), [*DIGEST], "left_anti")


def semi_join(rows: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the documents that rows name by `id`, for a join with these.

    Where the rows are few, no other document is moved for it. Spark knows the size of what it has kept, but not of
    documents that come from Python: it would send all of them everywhere as if they were few.
    """
    return documents.join(rows.select("id"), "id", "left_semi").hint("merge")


@dataclass(frozen=True)
class PriorIndex:
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
    def below(cls, rows: DataFrame | None, signed: DataFrame) -> PriorIndex:
        """Return the documents of an index with ids below those of new documents, in the same order.

        Args:
            rows: of the columns `COLUMNS`; None: there is none.
            signed: the new documents; their `id`.

        Raises:
            InputError: the ids of both together do not fit into a long.
        """
        if rows is None:
            return cls(signed.sparkSession.createDataFrame([], ddl_of(COLUMNS)), _LEAST, 0, is_empty=True)
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

    def by_leaders(self, edges: DataFrame, known: DataFrame) -> DataFrame:
        """Return edges to the leaders of known documents instead of to these.

        Args:
            edges: from a document, `id`, to each of its candidates, `other`.
            known: what `leaders_of` returns of these.
        """
        if self.is_empty:
            return edges
        leaders = known.select(f.col("id").alias("other"), "leader")
        moved = edges.join(leaders, "other", "left").select("id", f.coalesce("leader", "other").alias("other"))
        return moved.distinct()

    def after_prior(self, rows: DataFrame) -> DataFrame:
        """Return rows of new documents with the ids that they have in the index, behind those of it.

        Args:
            rows: their `id`, maybe `leader`, and other columns.
        """
        ids = [name for name in ("id", "leader") if name in rows.columns]
        return rows.withColumns({name: f.col(name) + self.shift for name in ids})

    def leaders_of(self, candidates: DataFrame, steps: Steps) -> DataFrame:
        """Return the known documents among candidates: `id`, and that of the `leader`, which may be the same.

        Args:
            candidates: their `id`, also of others.
            steps: keeps what is returned: Spark then knows how few they are.
        """
        known = candidates.where(f.col("id") < self.end).distinct().join(self.rows.select("id", "leader"), "id")
        return steps.keep("needed", known.select("id", f.coalesce("leader", "id").alias("leader")))

    def exact_matches(self, signed: DataFrame, steps: Steps) -> DataFrame:
        """Return the known documents that have the content of a new one, without their words and bands.

        Args:
            signed: the new documents; the digests of their contents.
            steps: keeps them: Spark then knows how few they are.
        """
        rows = self.rows.drop("bands", "words")
        if self.is_empty:
            return rows
        return steps.keep("equal", rows.join(signed.select(*DIGEST), [*DIGEST], "left_semi"))

    def led(self, members: DataFrame) -> DataFrame:
        """Return the leaders of known documents that do not lead themselves.

        Args:
            members: the documents, also others, of which there are few.

        Returns:
            `id`, `key`, `leader`, `leader_key`, and the `distance` and `similarity` of the two.
        """
        of_leaders = self.rows.select("id", "key", *_COMPARED)
        leaders = of_leaders.toDF("leader", "leader_key", *(f"{_THEIRS}{name}" for name in _COMPARED))
        led = members.select("id", "key", "leader", *_COMPARED).where(f.col("leader").isNotNull())
        pairs = leaders.join(led, "leader").withColumn("distance", _distance())
        found = ("id", "key", "leader", "leader_key", "distance", "similarity")
        return _compared(pairs.drop("fingerprint"), _ANY).select(*found)


def keys_in(contents: DataFrame, settings: RuleSettings, wanted: NDArray[np.uint8] | None = None) -> DataFrame:
    """Return a row for each key of documents: `key` and `id`.

    Args:
        contents: `id`, `fingerprint` and `bands` of each.
        settings: the tables.
        wanted: what `marks_of` returns; keys that were not marked are left out. None: none is.
    """
    columns = contents.select("id", "fingerprint", "bands")
    return columns.mapInArrow(partial(_make, keys=settings.keys, wanted=wanted), "key long, id long")


def marks_of(keys: DataFrame) -> NDArray[np.uint8]:
    """Return a bit for each of the highest 25 bits that a key may have, set where one has them: 4 MB, eight to a byte.

    Args:
        keys: what `keys_in` returns.
    """
    # Spark counts bits and maps from one.
    bit = f.shiftrightunsigned("key", int(_MARKED_BITS)) + 1
    maps = keys.groupBy(f.bitmap_bucket_number(bit)).agg(f.bitmap_construct_agg(f.bitmap_bit_position(bit))).collect()
    marks = np.zeros(((1 << 64 - int(_MARKED_BITS)) // _BITS_A_MAP, _BYTES_A_MAP), np.uint8)
    for number, bits in maps:
        marks[number - 1] = np.frombuffer(bits, np.uint8)
    return marks.ravel()


def _make(batches: Iterable[pa.RecordBatch], keys: Keys, wanted: NDArray[np.uint8] | None) -> Iterator[pa.RecordBatch]:
    is_wanted = None if wanted is None else np.unpackbits(wanted, bitorder="little").astype(np.bool_)
    for batch in batches:
        if len(batch):
            made = _mixed(keys, batch).ravel()
            ids = np.repeat(batch.column("id").to_numpy(), keys.count)
            if is_wanted is not None:
                places = np.flatnonzero(is_wanted[made >> _MARKED_BITS])
                made, ids = made[places], ids[places]
            yield pa.RecordBatch.from_pydict({"key": made.view(np.int64), "id": ids})


def _mixed(keys: Keys, batch: pa.RecordBatch) -> NDArray[np.uint64]:
    """Return the keys of documents with their numbers in them, the lowest bit set in those of bands; (n, keys)."""
    found = keys.mixed(batch.column("fingerprint").to_numpy().view(np.uint64), index.bits_of(batch.column("bands")))
    return np.where(np.arange(keys.count) < keys.tables, found & ~_IS_BAND, found | _IS_BAND)


def _distance() -> Column:
    """Return the distance of the two documents of a pair, in bits."""
    return f.bit_count(f.col("fingerprint").bitwiseXOR(f.col(f"{_THEIRS}fingerprint")))


def _compared(pairs: DataFrame, needed: Limits) -> DataFrame:
    """Return the pairs that a check may confirm, with their `similarity` in the place of sketches.

    Args:
        pairs: the sketches of both, those of the second behind `their_`, and other columns.
        needed: what is to be reached.
    """
    others = [name for name in pairs.columns if name.removeprefix(_THEIRS) not in _SKETCH]
    columns = pairs.select(*others).schema.add("similarity", "double")
    return pairs.mapInArrow(partial(_estimate, others=others, needed=needed), columns)


def _estimate(batches: Iterable[pa.RecordBatch], others: list[str], needed: Limits) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if len(batch):
            jaccards, may_be_alike = estimate(_sketches(batch, ""), _sketches(batch, _THEIRS), needed)
            rows = batch.select(others).append_column("similarity", pa.array(jaccards))
            yield rows.filter(pa.array(may_be_alike))


def _sketches(batch: pa.RecordBatch, before: str) -> NDArray[Any]:
    sketches = np.empty(len(batch), SKETCH)
    sketches["minima"] = index.bits_of(batch.column(f"{before}minima"))
    for name in ("shingles", "tokens"):
        sketches[name] = batch.column(before + name).to_numpy()
    return sketches


def candidates_of(contents: DataFrame, prior: PriorIndex, settings: RuleSettings, steps: Steps) -> DataFrame:
    """Return the candidates of each document that has any which its sketch, or the paper's radius, does not rule out.

    Args:
        contents: the new ones, see `dedup.spark.candidates.contents_of`.
        prior: those of an earlier index, all of which come before.
        settings: how far is looked.
        steps: keeps what is made on the way: Spark then knows how few there are, and sends them to where others lie.

    Returns:
        A row a document: its `id`, and the ids of its `candidates`, all earlier, the most similar first.
    """
    is_paper = settings.mode is Mode.PAPER
    is_comparable = f.col("tokens") >= settings.fewest_tokens
    asked, earlier = contents.where(is_comparable), prior.rows.where(is_comparable & f.col("indexed"))
    keys = keys_in(asked, settings)
    if not prior.is_empty:
        # Of what is known only little has keys that a new one has: the rest is not moved.
        keys = keys.union(keys_in(earlier, settings, marks_of(keys)))
    sharing = _all_sharing(keys, prior) if is_paper else _sharing_rarest(keys, prior, settings.keys)
    shared = steps.keep("shared", sharing)
    ours = asked.select("id", *_COMPARED)
    stored = ours.union(earlier.select(*ours.columns))
    theirs = stored.toDF("candidate", *(f"{_THEIRS}{name}" for name in _COMPARED))
    # Many have the same candidate: what is moved for that join is short.
    pairs = shared.join(theirs, "candidate").join(ours, "id")
    near = pairs.where(f.col("shares_band") | (_distance() <= settings.radius))
    if is_paper:
        compared = near.withColumn("unlike", _distance())
    else:
        pairs = near.drop("fingerprint", f"{_THEIRS}fingerprint", "shares_band")
        compared = _compared(pairs, settings.limits).withColumn("unlike", -f.col("similarity"))
    ranked = f.array_sort(f.collect_list(f.struct("unlike", "candidate")))
    return compared.groupBy("id").agg(ranked["candidate"].alias("candidates"))


def _all_sharing(keys: DataFrame, prior: PriorIndex) -> DataFrame:
    """Return all earlier documents that share a key with each new one, as the paper's mode looks at all."""
    pairs = keys.join(keys.withColumnRenamed("id", "candidate"), "key")
    shared = pairs.where((f.col("id") >= prior.end) & (f.col("candidate") < f.col("id")))
    return shared.select("id", "candidate").distinct().withColumn("shares_band", f.lit(False))


def _sharing_rarest(keys: DataFrame, prior: PriorIndex, made: Keys) -> DataFrame:
    """Return the documents that share the rarest keys with each new one, by the earliest of each key."""
    of_key = Window.partitionBy("key").orderBy("id")
    earliest = f.when(f.row_number().over(of_key) <= made.most_read, f.col("id"))
    earlier = f.collect_list("earliest").over(of_key.rowsBetween(Window.unboundedPreceding, -1))
    read = keys.withColumn("earliest", earliest).withColumn("earlier", earlier)
    asked = read.where((f.col("id") >= prior.end) & (f.size("earlier") > 0))
    together = asked.select("id", "key", "earlier").repartition("id").sortWithinPartitions("id")
    return together.mapInArrow(partial(_choose, keys=made), ddl_of(_SHARED))


def _choose(batches: Iterable[pa.RecordBatch], keys: Keys) -> Iterator[pa.RecordBatch]:
    return packed(_chosen(batches, keys), _SHARED)


def _chosen(batches: Iterable[pa.RecordBatch], keys: Keys) -> Iterator[dict[str, Any]]:
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for id_, shared in groupby(rows, itemgetter(0)):
        # The lowest bit is that of bands.
        found = ((keys.tables * (key & 1), earlier) for _, key, earlier in shared)
        for candidate, shares_band in choose(found, keys):
            yield {"id": id_, "candidate": candidate, "shares_band": shares_band}
