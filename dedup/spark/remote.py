"""Files of a corpus in any file system of Spark: what lies there is read by the readers of `dedup files`.

Spark lists the files, and gives the bytes of each to one task, which has them read from a temporary file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f

from dedup.corpus.reading.documents import Item, Position, ReadOptions, Rejected
from dedup.corpus.reading.files import FORMATS, KNOWN, check_file, has_known_format
from dedup.corpus.reading.portions import read_file
from dedup.errors import InputError
from dedup.spark import hadoop
from dedup.spark.reading import COLUMNS, rows_of_items

MOST_BYTES = (1 << 31) - 1
"""Of a file: Spark gives its bytes as one value."""


class RemoteFile(NamedTuple):
    """A file as Spark lists it.

    Attributes:
        path: where it is, with its scheme.
        key_start: where in the path begins what documents are called that have no key of their own.
        size: its bytes.
        changed: when it was changed last, in seconds since 1970.
    """

    path: str
    key_start: int
    size: int
    changed: float


def find_remote_files(spark: SparkSession, inputs: Sequence[str]) -> list[RemoteFile]:
    """List the files of known formats that some paths name, in the order in which `dedup files` reads them.

    Spark leaves out what begins with a dot or an underscore.

    Args:
        spark: the session.
        inputs: files and folders, with their schemes; patterns with `*` are looked up.

    Raises:
        InputError: an input is not there, or too large, or there is none of a known format.
    """
    files: list[RemoteFile] = []
    for each in inputs:
        root = f"{hadoop.qualified(spark, each).rstrip('/')}/"
        found = _listed(spark, each)
        known = [file for file in found if has_known_format(file.path)]
        if not known:
            raise InputError(f"{each}: no file of a known format; known are {KNOWN}")
        for file in known:
            if file.size > MOST_BYTES:
                raise InputError(f"{file.path}: has {file.size:,} bytes, and Spark reads 2 GB of a file; split it")
            is_inside = len(inputs) == 1 and file.path.startswith(root)
            files.append(file._replace(key_start=len(root) if is_inside else 0))
    if len({file.path for file in files}) < len(files):
        raise InputError("an input names files that another one names too: give each file once")
    return files


def read_remote(
    spark: SparkSession, inputs: Sequence[str], files: Sequence[RemoteFile], options: ReadOptions
) -> DataFrame:
    """Return the documents of files, and what could not be read as one, as `dedup.spark.reading.read` does.

    Args:
        spark: the session.
        inputs: what names the files.
        files: what `find_remote_files` has found; what came since is left out.
        options: how documents are found in them.
    """
    numbers = {file.path: (number, file.key_start) for number, file in enumerate(files)}
    shared = spark.sparkContext.broadcast(numbers)
    # Only files that are wanted have their bytes read.
    contents = _files(spark).option("pathGlobFilter", _known_names()).load(list(inputs))
    return contents.select("path", "content").mapInArrow(partial(_read, shared=shared, options=options), COLUMNS)


def _files(spark: SparkSession) -> DataFrameReader:
    return spark.read.format("binaryFile").option("recursiveFileLookup", "true")


def _listed(spark: SparkSession, path: str) -> list[RemoteFile]:
    with hadoop.explained(path):
        frame = _files(spark).load(path)
    rows = frame.select("path", "length", f.unix_micros("modificationTime").alias("changed")).collect()
    found = [RemoteFile(row["path"], 0, row["length"], row["changed"] / 1e6) for row in rows]
    return sorted(found, key=lambda file: file.path.split("/"))


def _known_names() -> str:
    """Return the pattern of the names of files of known formats, in capitals or not."""
    suffixes = [
        f"{suffix}{compression}" for suffix, kind in FORMATS.items() for compression in ("", *kind.compressions)
    ]
    return f"*{{{','.join(map(_any_case, suffixes))}}}"


def _any_case(suffix: str) -> str:
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isalpha() else each for each in suffix)


def _read(
    batches: Iterable[pa.RecordBatch], shared: Broadcast[dict[str, tuple[int, int]]], options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    return rows_of_items(_items(batches, shared.value, options))


def _items(
    batches: Iterable[pa.RecordBatch], numbers: dict[str, tuple[int, int]], options: ReadOptions
) -> Iterator[Item]:
    for batch in batches:
        for path, content in zip(batch.column("path").to_pylist(), batch.column("content"), strict=True):
            if path in numbers:
                yield from _items_of(path, *numbers[path], content.as_buffer(), options)


def _items_of(path: str, number: int, key_start: int, content: pa.Buffer, options: ReadOptions) -> Iterator[Item]:
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
        # The readers look at the name.
        local = Path(folder) / f"file{''.join(PurePosixPath(path).suffixes[-2:])}"
        with local.open("wb") as file:
            file.write(content)
        try:
            checked = check_file(os.fspath(local), path, key_start)
        except InputError as error:
            yield Rejected(path, Position(number, 0, 0), str(error).removeprefix(f"{path}: "))
            return
        if checked is not None:
            yield from read_file(checked, number, options)
