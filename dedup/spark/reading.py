"""Files of a corpus as a DataFrame: executors read and sign them as `dedup files` does, remote ones by fsspec.

What a job writes lies in the file systems of Spark, and is looked for there.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.job import Job
from dedup.corpus.portion import Wanted, documents_in, portion_of, text_column
from dedup.corpus.signing import contents_of, sign
from dedup.errors import InputError
from dedup.readers.documents import CorpusFile, Item, ReadOptions
from dedup.readers.jsonl import LineRange, find_line_ranges
from dedup.readers.portions import first_documents, gather, has_ranges, read_file, read_files
from dedup.spark.signing import SIGNED, ddl_of, packed, schema_of, signed_columns, with_word_lists

COLUMNS = {
    **SIGNED,
    "text": "string",
    "record": "string",
    "source": "string",
    "file": "int32",
    "fields": "int64",
    "month_first": "int64",
    "day_first": "int64",
    "is_without": "bool",
    "is_day_first": "bool",
}
"""Those of `dedup.spark.signing.SIGNED`; the text and the record as they are written; file and line, and the number of
the file; which fields named for the text the document has; its `dedup.corpus.sorting.Ranks`."""

_ORDINAL_BITS = 40
_BYTES_A_TASK = 1 << 26
_FEWEST_TASKS = 8

_Portion = LineRange | list[Item] | tuple[CorpusFile, int]


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


def read(spark: SparkSession, job: Job[str]) -> DataFrame:
    """Return the documents of files with their signatures, and what could not be read as one.

    Args:
        spark: the session.
        job: names the files and how documents are found in them. Local files have the same paths on all executors. Of
            local uncompressed JSONL ranges are read, whose ends are looked for here; any other file is read by one
            task. Where there is a limit, the first documents are read here.

    Returns:
        A row a document, of the columns `COLUMNS`; its `id` rises as files and lines do. Of what could not be read as
        a document `source` and `reason`, and no `id`; of what is skipped `reason`, and how many as `record`.
    """
    portions = [(pickle.dumps(portion),) for portion in _portions(job)]
    tasks = min(len(portions), max(_FEWEST_TASKS, sum(file.size for file in job.files) // _BYTES_A_TASK))
    spread = spark.createDataFrame(portions, "portion binary").repartition(max(1, tasks))
    wanted = Wanted.of_words(job.settings, deflated=True, records=True, texts=True, order=job.order)
    reading = with_word_lists(partial(_read, options=job.options, wanted=wanted))
    return spread.mapInArrow(reading, ddl_of(COLUMNS))


def _portions(job: Job[str]) -> Iterator[_Portion]:
    if job.limit is not None:
        yield from gather(first_documents(read_files(job.files, job.options), job.limit))
        return
    for number, file in enumerate(job.files):
        if has_ranges(file):
            yield from find_line_ranges(file, number, job.options)
        else:
            yield file, number


def _read(batches: Iterable[pa.RecordBatch], options: ReadOptions, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    for pickled in (each.as_py() for batch in batches for each in batch.column(0)):
        portion: _Portion = pickle.loads(pickled)  # noqa: S301 -- what `read` has pickled
        for items in _items(portion, options):
            yield from batches_of(items, wanted)


def _items(portion: _Portion, options: ReadOptions) -> Iterator[list[Item]]:
    if isinstance(portion, LineRange):
        yield list(portion.read())
    elif isinstance(portion, list):
        yield portion
    else:
        yield from gather(read_file(*portion, options))


def batches_of(items: list[Item], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Sign what was read; yield it as rows of `COLUMNS`."""
    documents = documents_in(items)
    portion, columns = portion_of(items, sign(contents_of(items), wanted.scheme), wanted)
    if documents:
        ids = [each.position.file << _ORDINAL_BITS | each.position.ordinal for each in documents]
        texts = zip(columns.texts, portion.rows["unanalysed"].tolist(), strict=True)
        values = {
            **signed_columns(ids, portion, columns),
            "text": [text_column(text, is_unanalysed=each) for text, each in texts],
            "record": [each[:-1].decode() for each in columns.records],
            "source": [each.source for each in documents],
            "file": portion.rows["file"],
            "fields": [each.parts for each in documents],
            "month_first": portion.ranks.month_first,
            "day_first": portion.ranks.day_first,
            "is_without": portion.ranks.is_without,
            "is_day_first": [portion.ranks.is_day_first] * len(documents),
        }
        yield pa.RecordBatch.from_pydict(values, schema_of(COLUMNS))
    others = [{"source": each.source, "reason": each.reason} for each in portion.rejected]
    others += [{"reason": each.reason, "record": str(each.count)} for each in portion.skipped]
    yield from packed(others, COLUMNS)
