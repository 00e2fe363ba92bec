"""One run of `dedup spark`: files in, what became of their documents out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.reading.documents import ReadOptions
from dedup.corpus.reading.files import find_files
from dedup.display import plain
from dedup.errors import InputError
from dedup.rules.decision import Verdict
from dedup.rules.settings import RuleSettings
from dedup.spark import hadoop
from dedup.spark.deduplicating import Deduplicated, deduplicate, require_checked
from dedup.spark.index import load_index, require_free_index, save_index
from dedup.spark.reading import read
from dedup.spark.remote import find_remote_files, read_remote
from dedup.spark.steps import Steps

OUTPUTS = ("kept", "dropped", "similar", "clusters", "rejected")
"""The folders that are written."""

_WORK = "_work"


@dataclass(frozen=True)
class SparkJob:
    """What is to be done. Paths without a scheme are those of this machine.

    Attributes:
        inputs: files and folders.
        output: the folder that is written.
        options: how documents are found in files.
        settings: how they are decided.
        against: an index whose documents count as earlier ones, if any.
        save_index: where an index is written or added to, if anywhere.
        overwrite: whether what is in the folder is overwritten.
    """

    inputs: Sequence[str]
    output: str
    options: ReadOptions
    settings: RuleSettings
    against: str | None = None
    save_index: str | None = None
    overwrite: bool = False

    def check(self) -> None:
        """Refuse what can be refused without Spark.

        Raises:
            InputError: an input is not there, or an output is.
            SettingsError: a setting has no meaning here.
        """
        require_checked(self.settings)
        if not _are_urls(self.inputs):
            find_files(list(map(Path, self.inputs)))
        if not _is_url(self.output):
            self.require_free(os.path.exists)

    def require_free(self, exists: Callable[[str], bool]) -> None:
        """Refuse to write over what is there already, unless that is wanted."""
        for path in (f"{self.output.rstrip('/')}/{name}" for name in OUTPUTS):
            if not self.overwrite and exists(path):
                raise InputError(f"{path}: is there already; write elsewhere, or give --force to overwrite it")


def run_job(spark: SparkSession, job: SparkJob) -> dict[str, int]:
    """Do a job.

    Returns:
        How many documents were `kept`, are `exact` or `near` duplicates, or `similar`, and how many were `rejected`.

    Raises:
        InputError: an input cannot be read, or an output cannot be written.
    """
    root = _root(job.output)
    if _is_url(job.output):
        job.require_free(partial(hadoop.exists, spark))
    against, index = (each and _root(each) for each in (job.against, job.save_index))
    known = load_index(spark, against, job.settings) if against else None
    if index and index != against:
        require_free_index(spark, index)
    try:
        # Pages are extracted once, however many steps need their texts.
        items = Steps(f"{root}/{_WORK}").keep("read", _read(spark, job))
        documents = items.where(items.reason.isNull()).drop("reason")
        rejected = items.where(items.reason.isNotNull()).select("source", "reason")
        _require_documents(documents, rejected)
        result = deduplicate(documents, f"{root}/{_WORK}", job.settings, known)
        _write(result, rejected, root)
        if index:
            if known is not None and index != against:
                save_index(known, index, job.settings)
            save_index(result.index, index, job.settings)
    finally:
        hadoop.remove(spark, f"{root}/{_WORK}")
        # Nothing could be written.
        if hadoop.is_empty_folder(spark, root):
            hadoop.remove(spark, root)
    return _report(spark, root)


def _is_url(path: str) -> bool:
    """Say whether a path is for Spark to read or write."""
    return "://" in path


def _are_urls(inputs: Sequence[str]) -> bool:
    kinds = set(map(_is_url, inputs))
    if len(kinds) > 1:
        raise InputError("inputs with a scheme, and others: give all of them with one, such as file:///data/a.jsonl")
    return kinds == {True}


def _root(path: str) -> str:
    """Return a path as Spark has it: not as a URI, in which a space would be another letter."""
    return path.rstrip("/") if _is_url(path) else f"file://{Path(path).absolute()}"


def _read(spark: SparkSession, job: SparkJob) -> DataFrame:
    if _are_urls(job.inputs):
        return read_remote(spark, job.inputs, find_remote_files(spark, job.inputs), job.options)
    return read(spark, find_files(list(map(Path, job.inputs))).files, job.options)


def _require_documents(documents: DataFrame, rejected: DataFrame) -> None:
    """Refuse to write where nothing could be read: a wrong name of a field would pass for an empty corpus."""
    if documents.isEmpty() and (first := rejected.first()) is not None:
        reason = f"{plain(first['source'])}: {plain(first['reason'])}"
        raise InputError(f"no document could be read, and nothing is written: {reason}")


def _write(result: Deduplicated, rejected: DataFrame, root: str) -> None:
    dropped, similar = (frame.drop("record") for frame in (result.dropped, result.similar))
    frames = (result.kept, dropped, similar, result.clusters, rejected)
    for name, frame in zip(OUTPUTS, frames, strict=True):
        frame.write.mode("overwrite").parquet(f"{root}/{name}")


def _report(spark: SparkSession, root: str) -> dict[str, int]:
    """Count what was written."""
    frames = {name: spark.read.parquet(f"{root}/{name}") for name in OUTPUTS}
    verdicts = {row["verdict"]: row["count"] for row in frames["dropped"].groupBy("verdict").count().collect()}
    return {
        "kept": frames["kept"].count(),
        "exact": verdicts.get(Verdict.EXACT_DUPLICATE.value, 0),
        "near": verdicts.get(Verdict.NEAR_DUPLICATE.value, 0),
        "similar": frames["similar"].count(),
        "rejected": frames["rejected"].count(),
    }
