"""Files of a corpus as a DataFrame: executors read them by the readers of `dedup files`, remote ones by fsspec.

What a job writes lies in the file systems of Spark, and is looked for there.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.portion import general_row
from dedup.corpus.signing import page_identity
from dedup.errors import InputError, reason_of
from dedup.readers.documents import CorpusDocument, CorpusFile, Item, ReadOptions, Rejected, Skipped
from dedup.readers.jsonl import LineRange, find_line_ranges
from dedup.readers.portions import has_ranges, read_file
from dedup.signature.signature import digest, encoded
from dedup.spark.signing import ddl_of, packed

COLUMNS = {
    "id": "int64",
    "key": "string",
    "text": "string",
    "identity": "binary",
    "record": "string",
    "source": "string",
    "reason": "string",
}
ORDINAL_BITS = 40
"""The bits of an id below the number of the file: no file has as many lines."""

_BYTES_A_TASK = 1 << 26
_FEWEST_TASKS = 8

_Portion = LineRange | tuple[CorpusFile, int]


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether something is there.

    Raises:
        InputError: its file system cannot be reached, or is none that Spark knows.
    """
    with _opened(spark, path) as (system, place):
        return bool(system.exists(place))


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


def remove(spark: SparkSession, path: str) -> None:
    """Remove a file, or a folder with all that is in it, if it is there; see `exists`."""
    with _opened(spark, path) as (system, place):
        system.delete(place, True)


@contextmanager
def _opened(spark: SparkSession, path: str) -> Iterator[tuple[Any, Any]]:
    """Give the file system of a path, and the path as Hadoop has it; say in one line what is wrong with it."""
    context: Any = spark.sparkContext
    try:
        place = context._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 -- there is no other way from Python
        yield place.getFileSystem(context._jsc.hadoopConfiguration()), place  # noqa: SLF001
    except AnalysisException as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage() or error.java_exception.toString()).splitlines()[0]
        raise InputError(f"{path}: {reason}; check the name, and what Spark needs to reach it") from None


def read(spark: SparkSession, files: Sequence[CorpusFile], options: ReadOptions) -> DataFrame:
    """Return the documents of files, and what could not be read as one.

    Args:
        spark: the session.
        files: local ones have the same paths on all executors. Of local uncompressed JSONL ranges are read, whose ends
            are looked for here; any other file is read by one task.
        options: how documents are found in them.

    Returns:
        A row a document: `id`, which rises as files and lines do, `key`, `text`, `source`, and `identity` of a page;
        `reason` says of a page without text why it could not be analysed. Of what could not be read as a document:
        `source` and `reason`, and no `id`; of what is skipped `reason`, and how many as `record`.
    """
    portions = [(pickle.dumps((portion, options)),) for portion in _portions(files, options)]
    tasks = min(len(portions), max(_FEWEST_TASKS, sum(file.size for file in files) // _BYTES_A_TASK))
    spread = spark.createDataFrame(portions, "portion binary").repartition(tasks)
    return spread.mapInArrow(_read, ddl_of(COLUMNS))


def _portions(files: Sequence[CorpusFile], options: ReadOptions) -> Iterator[_Portion]:
    for number, file in enumerate(files):
        if has_ranges(file):
            yield from find_line_ranges(file, number, options)
        else:
            yield file, number


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    items = (item for batch in batches for portion in batch.column(0) for item in _items(portion.as_py()))
    return packed(rows_of_items(items), COLUMNS)


def rows_of_items(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Yield what was read as rows of `COLUMNS`."""
    skipped: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Skipped):
            skipped[item.reason] += item.count
        else:
            yield _row(item)
    for reason, count in skipped.items():
        yield {"reason": reason, "record": str(count)}


def _items(pickled: bytes) -> Iterator[Item]:
    portion, options = pickle.loads(pickled)  # noqa: S301 -- what `read` has pickled
    if isinstance(portion, LineRange):
        return portion.read()
    file, number = portion
    return read_file(file, number, options)


def _row(item: CorpusDocument | Rejected) -> dict[str, Any]:
    if not isinstance(item, CorpusDocument):
        return {"source": item.source, "reason": item.reason}
    id_ = item.position.file << ORDINAL_BITS | item.position.ordinal
    text, identity, reason = _content(item)
    row = general_row(item, None if item.html is None else text)
    return row | {"id": id_, "text": encoded(text).decode(), "identity": identity, "reason": reason}


def _content(item: CorpusDocument) -> tuple[str, bytes | None, str | None]:
    if item.problem:
        return "", None, item.problem
    return (item.text or "", None, None) if item.html is None else _page(item.html)


def _page(html: bytes) -> tuple[str, bytes | None, str | None]:
    # Only the processes that do the work load the parser, where there are pages.
    from dedup.signature.extraction import text_of  # noqa: PLC0415

    try:
        text = text_of(html)
    except MemoryError:
        raise
    except Exception as error:  # no page may end a job, whatever parsers raise
        return "", None, reason_of(error)
    return text, page_identity(digest(html)), None
