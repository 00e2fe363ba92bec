"""The candidates of documents: a join on the keys, of which the crowded ones are read to a bound.

Equal texts come first: of each content the first document is compared, the others are copies of it. What is found is
what `dedup.corpus.key_map` finds. No step costs more than so many rows a document: it has 34 keys, of each of which
the earliest 16 documents are read, and of all of these 64 are compared.

A key is one long here: its number and value, mixed. Two of a billion documents' may be the same by chance; such a
candidate is one more that nothing confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from dedup.errors import InputError
from dedup.index import MOST_RANKED, MOST_READ, RARITIES, Keys
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import Thresholds, fewest_tokens, keys_of, may_be_alike
from dedup.signature.signature import MINIMA, Sketch, compare, containment_of, jaccard_of
from dedup.spark.session import Steps
from dedup.spark.signing import arrow_schema, numbers, rows_of, unsigned

DIGEST = ("low", "high")
"""The columns of the digest of a content; both 0: it has no words."""

_FIRST = (*DIGEST, "id", "key", "tokens")


COLUMNS = (
    "id long, key string, low long, high long, fingerprint long, minima binary, tokens long, shingles long, "
    "leader long, indexed boolean, bands binary, words binary"
)
"""Of each content one document: with the id of the leader of its cluster if that is another one, whether it can be a
near-duplicate, its bands, and its words as a signature has them, deflated, null where they are not kept."""

_LED = "id long, key string, leader long, leader_key string, distance int, similarity double"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_COMPARED = ("fingerprint", "minima", "shingles", "tokens")

READ = "id long, shares_band boolean, rarity long, earlier array<long>"
"""What `read` yields: of a document and one of its keys the earliest documents that share it, and what it says of
them."""

# Any odd number with bits everywhere. Another one than shuffles have: they spread what it makes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_BITS = np.uint64(40)
_IS_BAND = np.uint64(1)
_MARKS, _MARKED_BITS = 1 << 25, np.uint64(64 - 25)
_RARITIES = np.array(RARITIES)

COMPARED = "id long, candidate long, jaccard double"
"""What `estimate` yields."""

_LOWEST_BITS = np.uint64(0x1111111111111111)
# The rules are plain functions of numbers; a table, and a call for each pair, take a microsecond.
_JACCARDS = np.array([jaccard_of(differing) for differing in range(MINIMA + 1)])
_containments: Any = np.frompyfunc(containment_of, 3, 1)


def is_comparable(settings: RuleSettings) -> Column:
    """Return whether a content can be a near-duplicate, as `dedup.rules.verification.is_comparable` says."""
    return f.col("tokens") >= fewest_tokens(settings)


def contents_of(signed: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the first document of each content that is not known; texts without words are copies of nothing.

    Args:
        signed: what `dedup.spark.signing.sign_documents` returns.
        equal: the known documents with the same contents, see `dedup.spark.candidates`.
    """
    with_words = signed.where((f.col("low") != 0) | (f.col("high") != 0))
    # An aggregate has its part done before documents are moved: equal texts, however many, arrive as one.
    others = [name for name in signed.columns if name not in (*DIGEST, "id", "reason")]
    first = f.min(f.struct("id", *others)).alias("first")
    contents = with_words.groupBy(*DIGEST).agg(first).select(*DIGEST, "first.*")
    return contents.join(equal.select(*DIGEST), [*DIGEST], "left_anti")


def copies_of(signed: DataFrame, contents: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the documents with the text of an earlier one: `id`, `key`, and `first`, `first_key`, `tokens` of that."""
    firsts = contents.select(*_FIRST).union(equal.select(*_FIRST))
    first = firsts.select(*DIGEST, f.col("id").alias("first"), f.col("key").alias("first_key"), "tokens")
    return (
        signed.select("id", "key", *DIGEST)
        .join(first, [*DIGEST])
        .where(f.col("id") != f.col("first"))
        .select("id", "key", "first", "first_key", "tokens")
    )


def semi_join(rows: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the documents that rows name by `id`, for a join with these.

    Where the rows are few, no other document is moved for it. Spark knows the size of what it has kept, but not of
    documents that come from Python: it would send all of them everywhere as if they were few.
    """
    return documents.join(rows.select("id"), "id", "left_semi").hint("merge")


def names_of(columns: str) -> list[str]:
    """Return the names of columns that are given with their types."""
    return [column.split()[0] for column in columns.split(", ")]


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

    def after_prior(self, rows: DataFrame) -> DataFrame:
        """Return rows of new documents with the ids that they have in the index, behind those of it.

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
        leaders = self.rows.select(
            f.col("id").alias("leader"), f.col("key").alias("leader_key"), f.struct(*_COMPARED).alias("theirs")
        )
        pairs = leaders.join(members.where(f.col("leader").isNotNull()), "leader").select(
            "id", "key", "leader", "leader_key", f.struct(*_COMPARED).alias("ours"), "theirs"
        )
        differing = f.bit_count(f.col("ours.fingerprint").bitwiseXOR(f.col("theirs.fingerprint")))
        return pairs.withColumn("distance", differing).mapInArrow(_compare, _LED)


def _compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = batch.to_pylist()
        for row in rows:
            row["similarity"] = compare(_sketch(row.pop("ours")), _sketch(row.pop("theirs"))).jaccard
        yield pa.RecordBatch.from_pylist(rows, arrow_schema(_LED))


def _sketch(row: dict[str, Any]) -> Sketch:
    return Sketch(row["minima"], 0, row["tokens"], row["shingles"])


def keys_in(contents: DataFrame, settings: RuleSettings, wanted: NDArray[np.uint8] | None = None) -> DataFrame:
    """Return a row for each key of documents: `key` and `id`.

    Args:
        contents: `id`, `fingerprint` and `bands` of each.
        settings: the tables.
        wanted: what `marks_of` returns; keys that were not marked are left out. None: none is.
    """
    columns = contents.select("id", "fingerprint", "bands")
    return columns.mapInArrow(partial(_make, keys=keys_of(settings), wanted=wanted), "key long, id long")


def marks_of(keys: DataFrame) -> NDArray[np.uint8]:
    """Return a bit for each of the highest 25 bits that a key may have, set where one has them: 4 MB, eight to a byte.

    Args:
        keys: what `keys_in` returns.
    """
    # What any task has seen is put together by one: the driver gets it once.
    seen = keys.mapInArrow(_mark, "marks binary").repartition(1).mapInArrow(_together, "marks binary").first()
    return np.frombuffer(seen["marks"], np.uint8) if seen is not None else np.zeros(_MARKS // 8, np.uint8)


def _make(batches: Iterable[pa.RecordBatch], keys: Keys, wanted: NDArray[np.uint8] | None) -> Iterator[pa.RecordBatch]:
    is_wanted = None if wanted is None else np.unpackbits(wanted).astype(np.bool_)
    for batch in batches:
        if len(batch):
            made, ids = _mixed(keys, batch).ravel(), np.repeat(batch.column("id").to_numpy(), keys.count)
            if is_wanted is not None:
                places = np.flatnonzero(is_wanted[made >> _MARKED_BITS])
                made, ids = made[places], ids[places]
            yield pa.RecordBatch.from_pydict({"key": numbers(made), "id": pa.array(ids)})


def _mark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    marks = np.zeros(_MARKS, np.bool_)
    for batch in batches:
        marks[unsigned(batch.column("key")) >> _MARKED_BITS] = True
    if marks.any():
        yield _row_of(np.packbits(marks))


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    marks = np.zeros(_MARKS // 8, np.uint8)
    for batch in batches:
        for each in batch.column("marks"):
            marks |= np.frombuffer(each.as_buffer(), np.uint8)
    yield _row_of(marks)


def _row_of(marks: NDArray[np.uint8]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"marks": pa.array([marks.tobytes()], pa.binary())})


def _mixed(keys: Keys, batch: pa.RecordBatch) -> NDArray[np.uint64]:
    """Return the keys of documents with their numbers in them, the lowest bit set in those of bands; (n, keys)."""
    found = keys.of(unsigned(batch.column("fingerprint")), rows_of(batch.column("bands"), np.uint64))
    places = np.arange(keys.count)
    found += places.astype(np.uint64) << _NUMBER_BITS
    found *= _SPREAD
    return np.where(places < keys.tables, found & ~_IS_BAND, found | _IS_BAND)


def read(batches: Iterable[pa.RecordBatch], first_asked: int) -> Iterator[pa.RecordBatch]:
    """Find the earliest documents that share the keys of documents, as `dedup.index` says.

    Args:
        batches: what `keys_in` returns, by `key` and `id`.
        first_asked: documents with smaller ids are found, and nothing is found for them.
    """
    key, begun = np.zeros(1, np.int64), np.zeros(0, np.int64)
    for batch in batches:
        if not len(batch):
            continue
        # The earliest documents of the first key may have come before.
        keys = np.concatenate([np.repeat(key, len(begun)), batch.column("key").to_numpy()])
        ids = np.concatenate([begun, batch.column("id").to_numpy()])
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        start = np.repeat(starts, np.diff(starts, append=len(keys)))
        place = np.arange(len(keys)) - start
        is_asked = (place > 0) & (ids >= first_asked)
        is_asked[: len(begun)] = False
        if is_asked.any():
            yield _read(keys[is_asked], ids, is_asked, start[is_asked], np.minimum(place[is_asked], MOST_READ))
        key, begun = keys[-1:], ids[starts[-1] :][:MOST_READ]


def _read(
    keys: NDArray[np.int64],
    ids: NDArray[np.int64],
    is_asked: NDArray[np.bool_],
    start: NDArray[np.int64],
    count: NDArray[np.int64],
) -> pa.RecordBatch:
    ends = np.cumsum(count)
    places = np.arange(ends[-1]) + np.repeat(start - ends + count, count)
    columns = {
        "id": pa.array(ids[is_asked]),
        "shares_band": pa.array((keys & 1).astype(np.bool_)),
        "rarity": pa.array(_RARITIES[count]),
        "earlier": pa.ListArray.from_arrays(pa.array(np.append(0, ends).astype(np.int32)), pa.array(ids[places])),
    }
    return pa.RecordBatch.from_pydict(columns)


def estimate(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Estimate how alike pairs are, and leave out those that no check confirms, as `dedup.rules.matcher.Matcher.rank`.

    Args:
        batches: `id` and `candidate`; the sketches of both, those of the candidate's with `their_` before their names.
        settings: what is to be reached.
    """
    worth_it: Any = np.frompyfunc(partial(may_be_alike, needed=Thresholds.of(settings)), 4, 1)
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


def _sketches(batch: pa.RecordBatch, before: str) -> dict[str, NDArray[Any]]:
    minima = rows_of(batch.column(f"{before}minima"), np.uint64)
    return {"minima": minima, **{name: batch.column(before + name).to_numpy() for name in ("shingles", "tokens")}}


def _differing(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return in how many minima sketches differ, as `dedup.signature.signature.compare` counts."""
    bits = ours ^ theirs
    bits |= bits >> np.uint64(2)
    bits |= bits >> np.uint64(1)
    differing: NDArray[np.int64] = np.bitwise_count(bits & _LOWEST_BITS).sum(axis=1, dtype=np.int64)
    return differing


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
    asked, earlier = (each.where(is_comparable(settings)) for each in (contents, prior.rows.where("indexed")))
    keys = keys_in(asked, settings)
    if not prior.is_empty:
        # Of what is known only little has keys that a new one has: the rest is not moved.
        keys = keys.union(keys_in(earlier, settings, marks_of(keys)))
    shared = steps.keep("shared", _all_sharing(keys, prior) if is_paper else _sharing_rarest(keys, prior))
    ours = asked.select("id", *_COMPARED)
    stored = ours.union(earlier.select(*ours.columns))
    theirs = stored.toDF("candidate", *(f"their_{name}" for name in stored.columns[1:]))
    distance = f.bit_count(f.col("fingerprint").bitwiseXOR(f.col("their_fingerprint")))
    # Many have the same candidate: what is moved for that join is short.
    pairs = shared.join(theirs, "candidate").join(ours, "id").withColumn("distance", distance)
    near = pairs.where(f.col("shares_band") | (f.col("distance") <= settings.radius))
    if is_paper:
        compared = near.select("id", "candidate", f.col("distance").alias("unlike"))
    else:
        columns = near.drop("fingerprint", "their_fingerprint", "shares_band", "distance")
        compared = columns.mapInArrow(partial(estimate, settings=settings), COMPARED).withColumn(
            "unlike", -f.col("jaccard")
        )
    ranked = f.array_sort(f.collect_list(f.struct("unlike", "candidate")))
    return compared.groupBy("id").agg(ranked["candidate"].alias("candidates"))


def _all_sharing(keys: DataFrame, prior: PriorIndex) -> DataFrame:
    """Return all earlier documents that share a key with each new one, as the paper's mode looks at all."""
    pairs = keys.join(keys.withColumnRenamed("id", "candidate"), "key")
    shared = pairs.where((f.col("id") >= prior.end) & (f.col("candidate") < f.col("id")))
    return shared.select("id", "candidate").distinct().withColumn("shares_band", f.lit(False))


def _sharing_rarest(keys: DataFrame, prior: PriorIndex) -> DataFrame:
    by_key = keys.repartition("key").sortWithinPartitions("key", "id")
    return _chosen(by_key.mapInArrow(partial(read, first_asked=prior.end), READ))


def _chosen(read_keys: DataFrame) -> DataFrame:
    """Return the documents that share the rarest keys with each one, as `dedup.index.choose` does.

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
