"""Paths of Hadoop (`hdfs://`, `s3a://`, `file:///`, whatever Spark knows): what is there, as Spark sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dedup.errors import InputError


def exists(spark: SparkSession, path: str) -> bool:
    """Say whether something is there.

    Raises:
        InputError: its file system cannot be reached, or is none that Spark knows.
    """
    with _opened(spark, path) as (system, place):
        return bool(system.exists(place))


def is_folder(spark: SparkSession, path: str) -> bool:
    """Say whether a folder is there; see `exists`."""
    with _opened(spark, path) as (system, place):
        return bool(system.exists(place) and system.getFileStatus(place).isDirectory())


def names_in(spark: SparkSession, path: str) -> list[str]:
    """Return the names of what is in a folder; see `exists`."""
    with _opened(spark, path) as (system, place):
        return [status.getPath().getName() for status in system.listStatus(place)]


def stat_of(spark: SparkSession, path: str) -> list[list[str | int]]:
    """Return what tells a file, or what is in a folder, from what stands there later; see `exists`.

    Returns:
        Of files name, bytes and time of the last change; of folders, whose times mean nothing in some systems, their
        names.
    """
    with _opened(spark, path) as (system, place):
        return sorted(
            [each.getPath().getName(), *(() if each.isDirectory() else (each.getLen(), each.getModificationTime()))]
            for each in system.listStatus(place)
        )


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path as Spark lists it: with the scheme and the server that it has by default; see `exists`."""
    with _opened(spark, path) as (system, place):
        return str(system.makeQualified(place).toString())


def is_empty_folder(spark: SparkSession, path: str) -> bool:
    """Say whether a folder is there, and nothing in it; see `exists`."""
    with _opened(spark, path) as (system, place):
        return bool(system.exists(place) and not len(system.listStatus(place)))


def remove(spark: SparkSession, path: str) -> None:
    """Remove a file, or a folder with all that is in it, if it is there; see `exists`."""
    with _opened(spark, path) as (system, place):
        system.delete(place, True)


def _gateway(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 -- there is no other way to Hadoop from Python


def _configuration(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001


@contextmanager
def _opened(spark: SparkSession, path: str) -> Iterator[tuple[Any, Any]]:
    """Give the file system of a path, and the path as Hadoop has it."""
    with translate_errors(path):
        place = _gateway(spark).org.apache.hadoop.fs.Path(path)
        yield place.getFileSystem(_configuration(spark)), place


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Say in one line what is wrong with a path.

    Raises:
        InputError: something is.
    """
    try:
        yield
    except AnalysisException as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage() or error.java_exception.toString()).splitlines()[0]
        raise InputError(f"{path}: {reason}; check the name, and what Spark needs to reach it") from None
