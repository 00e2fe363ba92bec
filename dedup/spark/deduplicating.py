"""Documents to what is kept, dropped, similar, and to clusters: all steps, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import dedup
from dedup.corpus.recording import RELATED
from dedup.corpus.state import about_settings
from dedup.errors import InputError, SettingsError
from dedup.rules.documents import DUPLICATES, Rule, Verdict
from dedup.rules.settings import Mode, RuleSettings
from dedup.spark.candidates import PriorIndex, candidates_of, contents_of, copies_of, semi_join
from dedup.spark.deciding import decide
from dedup.spark.session import Steps, Telling
from dedup.spark.signing import sign_documents

_RELATED = ("id", *(name for name in RELATED if name != "source"))
_IDENTITY = "identity"
_NEEDED = {"id": "bigint", "key": "string", "text": "string"}


@dataclass(frozen=True)
class Deduplicated:
    """What became of documents.

    Attributes:
        kept: those that are kept, all their columns, with the id of the leader of their cluster as `cluster`, and its
            `cluster_size`.
        dropped: copies: `id`, `key`, the leader of the cluster (`original`) and the member that they were found by
            (`matched`), `verdict`, `distance` in bits, `similarity` and `rule`, `lost`, how many words they say that
            nothing kept does, and `lost_bytes`, `places`, where each of the two says what the other does not, and
            further columns of the documents.
        similar: kept ones that resemble others, likewise, and copies that are `kept` since they say more.
        clusters: who belongs to whom, a row a document, the leader itself included, in clusters of two or more:
            `cluster` and `leader`, the leader's id and key, `id` and `key`.
        signed: what `dedup.spark.signing.sign_documents` returns, of all documents.
        contents: the first document of each content that is new, for an index: what `signed` has of it, and `leader`,
            the id of the leader of its cluster if that is another one; all ids lie behind those of the earlier index.
        texts: `id` and `text` of all documents, with the same ids.
    """

    kept: DataFrame
    dropped: DataFrame
    similar: DataFrame
    clusters: DataFrame
    signed: DataFrame
    contents: DataFrame
    texts: DataFrame


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
        SettingsError: a setting has no meaning here, such as the mode of the paper.
    """
    settings = settings or RuleSettings()
    require_checked(settings)
    _require_columns(documents)
    steps = Steps.of(documents.sparkSession, work, about_of_job(settings, about), telling)
    signed = steps.keep("signed", sign_documents(documents, settings))
    _require_ids(signed)
    prior = PriorIndex.below(against, signed)
    equal = prior.exact_matches(signed, steps)
    contents = steps.keep("contents", contents_of(signed, equal))
    candidates = steps.keep("candidates", candidates_of(contents, prior, settings, steps))
    decided = steps.keep("decided", decide(documents, candidates, prior, settings, steps))
    memberships = decided.where(f.col("memberships").isNotNull()).select("id", "key", "memberships")
    copies = copies_of(signed, contents, equal)
    copied = steps.keep("copied", _copied(copies, memberships.union(prior.memberships_of(equal))))
    found = decided.where(f.col("verdict").isNotNull()).select(*_RELATED)
    is_dropped = f.col("verdict").isin([each.value for each in DUPLICATES]) & f.col("kept").isNull()
    further = documents.drop("key", "text", _IDENTITY)
    dropped = found.where(is_dropped).union(copied.select(*_RELATED))
    similar = found.where(~is_dropped)
    clusters = _clusters(memberships, copied)
    return Deduplicated(
        kept=_kept(documents.drop(_IDENTITY), dropped, clusters),
        dropped=dropped.join(semi_join(dropped, further), "id"),
        similar=similar.join(semi_join(similar, further), "id"),
        clusters=clusters,
        signed=signed,
        contents=prior.after_prior(_with_leaders(contents, memberships)),
        texts=prior.after_prior(documents.select("id", "text")),
    )


def about_of_job(settings: RuleSettings, about: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what must be the same for a job to go on: what its caller says, the settings, and the program."""
    if about is None:
        return None
    return {**about, "settings": about_settings(settings), "version": dedup.__version__}


def require_checked(settings: RuleSettings) -> None:
    """Refuse the mode of the paper: whether a document is looked for there depends on all verdicts before.

    Raises:
        SettingsError: it is asked for.
    """
    if settings.mode is Mode.PAPER:
        raise SettingsError("mode paper: decides by what was dropped before, one after the other; take `dedup files`")


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


def _with_leaders(contents: DataFrame, memberships: DataFrame) -> DataFrame:
    """Return contents with the ids of the leaders that they have in the end."""
    leader = f.element_at("memberships", -1)["leader"].alias("leader")
    return contents.join(memberships.select("id", leader), "id", "left")


def _copied(copies: DataFrame, memberships: DataFrame) -> DataFrame:
    """Return the copies of equal texts: each belongs to whom the first of its text belonged when it came."""
    of_first = memberships.select(f.col("id").alias("first"), "memberships")
    by_then = f.filter("memberships", lambda each: each["since"] <= f.col("id"))
    with_first = copies.join(of_first, "first", "left")
    with_first = with_first.withColumn("then", f.try_element_at(by_then, f.lit(-1)))
    with_first = with_first.withColumn("last", f.try_element_at(f.col("memberships"), f.lit(-1)))
    is_first = f.col("then").isNull()
    return with_first.select(
        "id",
        "key",
        f.coalesce("then.leader_key", "first_key").alias("original"),
        f.col("first_key").alias("matched"),
        f.when(is_first, Verdict.EXACT_DUPLICATE.value).otherwise(Verdict.NEAR_DUPLICATE.value).alias("verdict"),
        f.coalesce("then.distance", f.lit(0)).alias("distance"),
        f.coalesce("then.similarity", f.lit(1.0)).alias("similarity"),
        f.when(f.col("tokens") > 0, Rule.SAME_TEXT.short).otherwise(Rule.SAME_BYTES.short).alias("rule"),
        f.lit(None).cast("string").alias("kept"),
        f.lit(0).alias("lost"),
        f.lit(0).alias("lost_bytes"),
        f.lit(0).alias("places"),
        f.coalesce("last.leader", "first").alias("cluster"),
        f.coalesce("last.leader_key", "first_key").alias("leader"),
    )


def _clusters(memberships: DataFrame, copied: DataFrame) -> DataFrame:
    columns = ("cluster", "leader", "id", "key")
    last = memberships.withColumn("last", f.element_at("memberships", -1))
    members = last.select(f.col("last.leader").alias("cluster"), f.col("last.leader_key").alias("leader"), "id", "key")
    members = members.union(copied.select(*columns))
    leaders = members.select("cluster", "leader").distinct()
    return members.union(
        leaders.select("cluster", "leader", f.col("cluster").alias("id"), f.col("leader").alias("key"))
    )


def _kept(documents: DataFrame, dropped: DataFrame, clusters: DataFrame) -> DataFrame:
    sizes = clusters.groupBy("cluster").agg(f.count("*").alias("cluster_size"))
    belonging = clusters.select("id", "cluster").join(sizes, "cluster")
    kept = documents.join(dropped.select("id"), "id", "left_anti").join(belonging, "id", "left")
    return kept.withColumns(
        {
            "cluster": f.coalesce("cluster", "id"),
            "cluster_size": f.coalesce("cluster_size", f.lit(1).cast("long")),
        }
    )
