"""What is kept between the steps, as Parquet: no step is done twice, and no plan grows with those before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.state import require_same
from dedup.errors import InputError
from dedup.spark import hadoop

_ABOUT, _STEPS = "about", "steps"
# Spark writes it into a folder once all that belongs there has been written.
_COMPLETE = "_SUCCESS"


Telling = Callable[[str], AbstractContextManager[object]]
"""Is given what is being done, in a few words, and entered while it is."""

_SAID = {
    "read": "reading documents",
    "signed": "making signatures",
    "equal": "finding texts that are known",
    "contents": "finding equal texts",
    "shared": "finding documents that share keys",
    "candidates": "ranking candidates",
    "components-": "following chains of candidates, round ",
    "in-doubt": "gathering what candidates connect",
    "needed": "finding known documents to compare",
    "decided": "comparing candidates word by word",
    "copied": "placing copies of equal texts",
}


class Steps:
    """Keeps what steps return.

    Args:
        folder: where, a path that Spark can write and all executors can read.
        reuse: whether a step that has left all of its result there is not done again; else that is overwritten.
        telling: told of each step that is done.
    """

    def __init__(self, folder: str, *, reuse: bool = False, telling: Telling = nullcontext) -> None:
        self._folder = folder.rstrip("/")
        self._reuse = reuse
        self._telling = telling

    @classmethod
    def of(
        cls, spark: SparkSession, folder: str, about: Mapping[str, Any] | None, telling: Telling = nullcontext
    ) -> Steps:
        """Return the steps of a job, with those that are done where it goes on.

        Args:
            spark: the session.
            folder: where they are kept.
            about: what must be the same for a job to go on, `settings` among it; all of it can be JSON. None: it begins
                anew.
            telling: told of each step that is done.

        Raises:
            InputError: an unfinished job with something else is there.
        """
        folder = folder.rstrip("/")
        if about is None:
            # What is overwritten belongs to nothing that could go on.
            hadoop.remove(spark, f"{folder}/{_ABOUT}")
            return cls(f"{folder}/{_STEPS}", telling=telling)
        saved = about_of(spark, folder)
        if saved is None:
            hadoop.remove(spark, f"{folder}/{_STEPS}")
            rows = spark.createDataFrame([(json.dumps(about),)], "value string")
            rows.coalesce(1).write.mode("overwrite").text(f"{folder}/{_ABOUT}")
        else:
            require_same(saved, json.loads(json.dumps(about)), folder)
        return cls(f"{folder}/{_STEPS}", reuse=True, telling=telling)

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Have a frame computed and kept, unless it is there already; return it as it is read from there.

        Args:
            name: the step.
            frame: what it returns.
        """
        path = f"{self._folder}/{name}"
        if not (self._reuse and hadoop.exists(frame.sparkSession, f"{path}/{_COMPLETE}")):
            with self._telling(_said(name)):
                frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.schema(frame.schema).parquet(path)


def _said(name: str) -> str:
    step = name.rstrip("0123456789")
    return _SAID.get(step, f"writing {step}") + name[len(step) :]


def about_of(spark: SparkSession, folder: str) -> dict[str, Any] | None:
    """Return what the unfinished job of a folder is about; None: there is none.

    Raises:
        InputError: that cannot be read.
    """
    path = f"{folder.rstrip('/')}/{_ABOUT}"
    if not hadoop.exists(spark, f"{path}/{_COMPLETE}"):
        return None
    try:
        [line] = spark.read.text(path).collect()
        about = json.loads(line["value"])
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}); begin anew with --force") from None
    if not isinstance(about, dict) or not isinstance(about.get("settings"), dict):
        raise InputError(f"{path}: is of no job; begin anew with --force")
    return about
