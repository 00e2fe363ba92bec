"""Documents to what is kept, dropped, similar, and to clusters: all steps, one after the other.

The last one has a task for whole components: documents that can have to do with each other, in the order of their ids.
It writes them into parts and decides them as `dedup files` does.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from dedup.corpus import chains
from dedup.corpus.decisions import decision_in
from dedup.corpus.index import rows_of
from dedup.corpus.pairing import PAIR
from dedup.corpus.parts import NULL, Columns, Parts, RowsFile, rows_of_signatures, write_part
from dedup.corpus.tally import about_settings
from dedup.corpus.writing import RELATED, related_row
from dedup.errors import InputError
from dedup.rules.documents import DUPLICATES, Verdict
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule
from dedup.spark.candidates import DIGEST, PriorIndex, candidates_of, contents_of, semi_join
from dedup.spark.session import Steps, Telling
from dedup.spark.signing import ddl_of, packed, sign_documents, signatures_of, with_word_lists

_CLOSENESS = ("distance", "similarity")
_FIRST = (*DIGEST, "id", "key", "tokens")
_IDENTITY = "identity"
_NEEDED = {"id": "bigint", "key": "string", "text": "string"}

_RELATED = {"id": "int64", **{name: kind for name, kind in RELATED.items() if name != "source"}}
_DECIDED = {**_RELATED, "leader": "int64", "second": "int64", "second_key": "string"}


@dataclass(frozen=True)
class Deduplicated:
    """Deduplicated documents.

    Attributes:
        kept: those that are kept, all their columns, with the id of the leader of their cluster as `cluster`, and as
            `copies` how many documents each stands for: itself, and those that `dropped` names it as the original of.
        dropped: copies: `id`, `key`, the leader of the cluster (`original`) and the member that they were found by
            (`matched`), `verdict`, `distance` in bits, `similarity` and `rule`, `lost`, how many words they say that
            nothing kept does, and `lost_bytes`, `places`, where each of the two says what the other does not, and
            further columns of the documents.
        similar: kept ones that resemble others, likewise.
        clusters: who belongs to whom, a row a document, the leader itself included, in clusters of two or more:
            `cluster` and `leader`, the leader's id and key, `id` and `key`.
        signed: what `dedup.spark.signing.sign_documents` returns, of all documents.
        contents: the first document of each content that is new, for an index: what `signed` has of it, and `leader`,
            the id of the leader of its cluster if that is another one; all ids lie behind those of the earlier index.
        texts: `id` and `text` of all documents, with the same ids.
        recurring: those that the earlier index has with the same key.
    """

    kept: DataFrame
    dropped: DataFrame
    similar: DataFrame
    clusters: DataFrame
    signed: DataFrame
    contents: DataFrame
    texts: DataFrame
    recurring: DataFrame


def deduplicate(
    documents: DataFrame,
    work: str,
    settings: RuleSettings | None = None,
    against: DataFrame | None = None,
    about: Mapping[str, Any] | None = None,
    *,
    telling: Telling = nullcontext,
) -> Deduplicated:
    """Find the duplicates among documents: the same ones as `dedup files` finds among them in the order of their ids.

    Args:
        documents: `id` (a long of its own for each, which says what comes before what), `key`, `text`, and whatever
            else goes with them; with `identity`, 16 bytes or null, texts without words are copies where it is the same.
        work: a folder for what is kept between the steps, a path that Spark can write and all executors can read. It
            has to stay until what is returned has been written.
        settings: how they are decided; by default as everywhere.
        against: the documents of an earlier index, of which new ones may be copies too, as `dedup.spark.load_index`
            returns them. All of them count as earlier, whatever their ids.
        about: what says which documents and which index they are, such as names and times of files; all of it can be
            JSON. Where an earlier call with the same one, and the same settings, has failed, this one goes on with the
            steps in `work` that are done. None: it begins anew.
        telling: is given what each step does, in a few words, and entered while it does.

    Raises:
        InputError: a column is missing or of another type, or an id comes twice or is null; or an unfinished call with
            another `about` has left its steps in `work`.
    """
    settings = settings or RuleSettings()
    _require_columns(documents)
    steps = Steps.of(documents.sparkSession, work, about_of_job(settings, about), telling)
    signed = steps.keep("signed", sign_documents(documents, settings))
    _require_ids(signed)
    prior = PriorIndex.below(against, signed)
    equal = prior.exact_matches(signed, steps)
    contents = steps.keep("contents", contents_of(signed, equal))
    candidates = steps.keep("candidates", candidates_of(contents, prior, settings, steps))
    decided = steps.keep("decided", decide(documents, candidates, prior, settings, steps))
    is_copy = f.col("verdict").isin([each.value for each in DUPLICATES])
    led = decided.where(is_copy).select("id", "key", "leader", f.col("original").alias("leader_key"), *_CLOSENESS)
    firsts = contents.select(*_FIRST).union(equal.select(*_FIRST))
    copied = steps.keep("copied", _copied(signed, firsts, led.union(prior.led(equal))))
    found = decided.select(*_RELATED)
    further = documents.drop("key", "text", _IDENTITY)
    dropped = found.where(is_copy).union(copied.select(*_RELATED))
    similar = found.where(~is_copy)
    leaders = decided.where(is_copy).select("leader").union(copied.select("leader"))
    seconds = decided.where(is_copy & f.col("second").isNotNull())
    joined = seconds.select("leader", f.col("original").alias("leader_key"), "second", "second_key")
    clusters = _clusters(led.select("id", "key", "leader", "leader_key"), copied, joined, steps)
    return Deduplicated(
        kept=_kept(documents.drop(_IDENTITY), dropped, clusters, leaders),
        dropped=dropped.join(semi_join(dropped, further), "id"),
        similar=similar.join(semi_join(similar, further), "id"),
        clusters=clusters,
        signed=signed,
        contents=prior.after_prior(contents.join(led.select("id", "leader"), "id", "left")),
        texts=prior.after_prior(documents.select("id", "text")),
        recurring=signed.join(equal.select(*DIGEST, "key"), [*DIGEST, "key"], "left_semi"),
    )


def about_of_job(settings: RuleSettings, about: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what must be the same for a job to go on: what its caller says, the settings, and the program."""
    if about is None:
        return None
    return {**about, "settings": about_settings(settings), "version": version("scrapy-neardup")}


def _require_columns(documents: DataFrame) -> None:
    types = dict(documents.dtypes)
    for name, kind in _NEEDED.items():
        if types.get(name) != kind:
            found = f"is {types[name]}" if name in types else "is missing"
            raise InputError(f"column {name} {found}: expected {kind}")


def _require_ids(signed: DataFrame) -> None:
    # Verdicts depend on what comes first.
    twice = signed.groupBy("id").count().where(f.col("id").isNull() | (f.col("count") > 1)).first()
    if twice is not None:
        raise InputError(
            f"column id: {twice['id']} stands in {twice['count']:,} rows: expected a number of its own in each"
        )


def _copied(signed: DataFrame, firsts: DataFrame, led: DataFrame) -> DataFrame:
    """Return the copies of equal texts: each belongs to whom the first of its text belongs.

    Args:
        signed: the documents.
        firsts: the first document of each text.
        led: those of these that are led by another one.
    """
    first = firsts.withColumnsRenamed({"id": "first", "key": "first_key"})
    copies = signed.select("id", "key", *DIGEST).join(first, [*DIGEST]).where(f.col("id") != f.col("first"))
    of_first = led.select(f.col("id").alias("first"), "leader", "leader_key", *_CLOSENESS)
    is_leader = f.col("leader").isNull()
    return copies.join(of_first, "first", "left").select(
        "id",
        "key",
        f.coalesce("leader_key", "first_key").alias("original"),
        f.col("first_key").alias("matched"),
        f.when(is_leader, Verdict.EXACT_DUPLICATE.value).otherwise(Verdict.NEAR_DUPLICATE.value).alias("verdict"),
        f.coalesce("distance", f.lit(0)).alias("distance"),
        f.coalesce("similarity", f.lit(1.0)).alias("similarity"),
        f.when(f.col("tokens") > 0, Rule.SAME_TEXT.short).otherwise(Rule.SAME_BYTES.short).alias("rule"),
        f.lit(0).alias("lost"),
        f.lit(0).alias("lost_bytes"),
        f.lit(0).alias("places"),
        f.coalesce("leader", "first").alias("leader"),
    )


def _clusters(led: DataFrame, copied: DataFrame, joined: DataFrame, steps: Steps) -> DataFrame:
    """Return who belongs to whom; clusters of which a document is a copy of both are one, that of the first leader.

    Args:
        led: `id`, `key`, `leader` and `leader_key` of those that are near-duplicates.
        copied: what `_copied` returns.
        joined: `leader`, `leader_key`, `second` and `second_key` of those that are copies of two leaders.
        steps: keeps which clusters are one.
    """
    columns = ("id", "key", "leader", "leader_key")
    edges = joined.select(f.greatest("leader", "second").alias("id"), f.least("leader", "second").alias("other"))
    components = components_of(edges.distinct(), steps, "joined").withColumnRenamed("id", "leader")
    members = led.select(*columns).union(copied.select("id", "key", "leader", f.col("original").alias("leader_key")))
    leaders = members.select("leader", "leader_key").union(joined.select("second", "second_key")).distinct()
    # A leader belongs to its own cluster, or to that which its own is counted with.
    members = members.select("id", "key", "leader").union(leaders.select("leader", "leader_key", "leader"))
    found = members.join(components, "leader", "left").withColumn("cluster", f.coalesce("component", "leader"))
    named = leaders.select(f.col("leader").alias("cluster"), f.col("leader_key").alias("leader"))
    return found.select("cluster", "id", "key").join(named, "cluster").select("cluster", "leader", "id", "key")


def _kept(documents: DataFrame, dropped: DataFrame, clusters: DataFrame, leaders: DataFrame) -> DataFrame:
    """Return the documents that are not dropped; `leaders` has the `leader` of each dropped one."""
    copies = leaders.groupBy(f.col("leader").alias("id")).agg((f.count("*") + 1).alias("copies"))
    kept = documents.join(dropped.select("id"), "id", "left_anti").join(clusters.select("id", "cluster"), "id", "left")
    return kept.join(copies, "id", "left").withColumns(
        {"cluster": f.coalesce("cluster", "id"), "copies": f.coalesce("copies", f.lit(1).cast("long"))}
    )


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
        Those that are duplicates, or similar to others; of each the ids of `leader` and, of a copy of two, `second`.
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
    return together.drop("component").mapInArrow(with_word_lists(partial(_decide, settings=settings)), ddl_of(_DECIDED))


def _decide(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    with tempfile.TemporaryDirectory(prefix="dedup-") as name:
        task = _Task(settings, Path(name))
        with closing(task):
            for batch in batches:
                is_known = batch.column("text").is_null()
                task.add_earlier(batch.filter(is_known))
                task.add(batch.filter(pc.invert(is_known)))
        yield from packed(task.decide(), _DECIDED)


class _Task:
    """The documents of a task: what they turn out to be, in the order of their ids.

    Args:
        settings: how they are decided.
        folder: takes them.
    """

    def __init__(self, settings: RuleSettings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self._rows = RowsFile(folder)
        self._part = 0
        self._ids = array("q")
        # Numbers, and the ids of candidates.
        self._pairs = array("q")

    def add_earlier(self, batch: pa.RecordBatch) -> None:
        """Add documents of an earlier index, all of which come first."""
        ids, places = np.unique(batch.column("id").to_numpy(), return_index=True)
        # Several components may need one.
        is_new = ~np.isin(ids, self._ids[-1:])
        if is_new.any():
            self._ids.extend(ids[is_new].tolist())
            batch = batch.take(pa.array(places[is_new]))
            rows = rows_of(batch)
            leaders = batch.column("leader").to_pylist()
            rows["leader"] = [NULL if each is None else bisect_left(self._ids, each) for each in leaders]
            rows["deflated"] = rows["known"] = True
            self._write(rows, batch.column("key"), [each or b"" for each in batch.column("words").to_pylist()])

    def add(self, batch: pa.RecordBatch) -> None:
        """Add documents that are to be decided."""
        if not len(batch):
            return
        signed = signatures_of(batch.column("text"), self._settings.scheme, with_words=True)
        for number, candidates in enumerate(batch.column("candidates").to_pylist(), len(self._ids)):
            self._pairs.extend(chain.from_iterable((number, each) for each in candidates or ()))
        self._ids.extend(batch.column("id").to_pylist())
        rows = rows_of_signatures(signed.rows)
        rows["indexed"] = True
        self._write(rows, batch.column("key"), signed.words)

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
                "second_key": decision.second,
            }

    def _write(self, rows: NDArray[Any], keys: pa.Array, words: Sequence[bytes]) -> None:
        columns = Columns([key.encode() for key in keys.to_pylist()], words)
        write_part(self._folder, self._part, rows, columns)
        self._rows.add(rows)
        self._part += 1


def _closest(parts: Parts, pairs: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the duplicates of the paper's mode, each with the first candidate that is no duplicate itself."""
    is_led = parts.rows["leader"] != NULL
    for number, some in groupby(pairs.tolist(), itemgetter(0)):
        closest = next((candidate for _, candidate in some if not is_led[candidate]), None)
        if closest is not None:
            is_led[number] = True
            yield number, closest
