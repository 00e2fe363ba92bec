"""Documents to what is kept, dropped, similar, and to clusters: all steps, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from dedup.corpus.tally import about_settings
from dedup.errors import InputError
from dedup.rules.documents import DUPLICATES, Verdict
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule
from dedup.spark.candidates import DIGEST, PriorIndex, candidates_of, contents_of, semi_join
from dedup.spark.chains import DECIDED, components_of, decide
from dedup.spark.session import Steps, Telling
from dedup.spark.signing import sign_documents
from dedup.spark.titles import with_titles

_CLOSENESS = ("distance", "similarity")
_FIRST = (*DIGEST, "id", "key", "tokens")
_NEEDED = {"id": "bigint", "key": "string", "text": "string"}
_RELATED = [name for name in DECIDED if name not in {"leader", "second", "second_key"}]


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
        signed: the signatures of all documents, of the columns `dedup.spark.signing.SIGNED`.
        contents: the first document of each content that is new, for an index: what `signed` has of it, and `leader`,
            the id of the leader of its cluster if that is another one; all ids lie behind those of the earlier index.
        words: `id` and `words` of all documents, with the same ids.
        recurring: those that the earlier index has with the same key.
    """

    kept: DataFrame
    dropped: DataFrame
    similar: DataFrame
    clusters: DataFrame
    signed: DataFrame
    contents: DataFrame
    words: DataFrame
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
            else goes with them.
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
    return decide_signed(signed, documents, settings, against, steps)


def decide_signed(
    signed: DataFrame,
    documents: DataFrame,
    settings: RuleSettings,
    against: DataFrame | None,
    steps: Steps,
) -> Deduplicated:
    """Find the duplicates among documents that have their signatures; see `deduplicate`.

    Args:
        signed: of the columns `dedup.spark.signing.SIGNED`, each with an id of its own.
        documents: the same ones with what else goes with them, see `deduplicate`.
        settings: how they are decided.
        against: the documents of an earlier index; None: there is none.
        steps: keeps what is made on the way.
    """
    prior = PriorIndex.below(against, signed)
    equal = prior.exact_matches(signed, steps)
    contents = steps.keep("contents", contents_of(signed, equal))
    candidates = steps.keep("candidates", candidates_of(contents, prior, settings, steps))
    decided = steps.keep("decided", decide(signed, candidates, prior, settings, steps))
    led = _copies(decided).select("id", "key", "leader", f.col("original").alias("leader_key"), *_CLOSENESS)
    firsts = contents.select(*_FIRST).union(equal.select(*_FIRST))
    copied = _copied(signed, firsts, led.union(prior.led(equal)))
    copied = steps.keep("copied", with_titles(copied, signed, settings))
    related = decided.select(*_RELATED).union(copied.select(*_RELATED))
    dropped = _copies(related)
    similar = related.where(~_is_copy())
    further = documents.drop("key", "text")
    leaders = _copies(decided).select("leader").union(_copies(copied).select("leader"))
    seconds = _copies(decided).where(f.col("second").isNotNull())
    joined = seconds.select("leader", f.col("original").alias("leader_key"), "second", "second_key")
    clusters = _clusters(led.select("id", "key", "leader", "leader_key"), _copies(copied), joined, steps)
    return Deduplicated(
        kept=_kept(documents, dropped, clusters, leaders),
        dropped=dropped.join(semi_join(dropped, further), "id"),
        similar=similar.join(semi_join(similar, further), "id"),
        clusters=clusters,
        signed=signed,
        contents=prior.after_prior(contents.join(led.select("id", "leader"), "id", "left")),
        words=prior.after_prior(signed.select("id", "words")),
        recurring=signed.join(equal.select(*DIGEST, "key"), [*DIGEST, "key"], "left_semi"),
    )


def _is_copy() -> Column:
    return f.col("verdict").isin([each.value for each in DUPLICATES])


def _copies(rows: DataFrame) -> DataFrame:
    """Return those that are dropped."""
    return rows.where(_is_copy())


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
    copies = signed.select("id", "key", "title", *DIGEST).join(first, [*DIGEST]).where(f.col("id") != f.col("first"))
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
        "title",
        "tokens",
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
