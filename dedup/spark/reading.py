"""Files of a corpus as a DataFrame, by the readers of `dedup files`: executors read them, wherever they see them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dedup.corpus.reading.documents import CorpusDocument, Item, ReadOptions
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.line_ranges import LineRange, find_line_ranges
from dedup.corpus.reading.portions import has_ranges, read_file
from dedup.corpus.signing.batches import page_identity
from dedup.corpus.writing.tables import general_row
from dedup.errors import DedupError, reason_of
from dedup.signature.batch import encoded
from dedup.signature.signature import digest

COLUMNS = "id long, key string, text string, identity binary, record string, source string, reason string"
_ROW = {
    "id": pa.int64(),
    "key": pa.string(),
    "text": pa.string(),
    "identity": pa.binary(),
    "record": pa.string(),
    "source": pa.string(),
    "reason": pa.string(),
}
# No file has as many lines.
_ORDINAL_BITS = 40
_BYTES_A_TASK = 1 << 26
_FEWEST_TASKS = 8
_ROWS = 256

_Portion = LineRange | tuple[CorpusFile, int]


def read(spark: SparkSession, files: Sequence[CorpusFile], options: ReadOptions) -> DataFrame:
    """Return the documents of files, and what could not be read as one.

    Args:
        spark: the session.
        files: they have the same paths on all executors. Uncompressed JSONL is read in ranges, whose ends are looked
            for here; of other formats each file is read by one task.
        options: how documents are found in them.

    Returns:
        A row a document: `id`, which rises as files and lines do, `key`, `text`, `source`, and `identity` of a page;
        `reason` says of a page without text why it could not be analysed. Of what could not be read as a document:
        `source` and `reason`, and no `id`.
    """
    portions = [(pickle.dumps((portion, options)),) for portion in _portions(files, options)]
    tasks = min(len(portions), max(_FEWEST_TASKS, sum(file.size for file in files) // _BYTES_A_TASK))
    spread = spark.createDataFrame(portions, "portion binary").repartition(tasks)
    return spread.mapInArrow(_read, COLUMNS)


def _portions(files: Sequence[CorpusFile], options: ReadOptions) -> Iterator[_Portion]:
    for number, file in enumerate(files):
        if has_ranges(file):
            yield from find_line_ranges(file, number, options, None, with_words=False)
        else:
            yield file, number


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return rows_of_items(item for batch in batches for packed in batch.column(0) for item in _items(packed.as_py()))


def rows_of_items(items: Iterable[Item]) -> Iterator[pa.RecordBatch]:
    """Yield what was read as rows of `COLUMNS`, some at a time."""
    rows = map(_row, items)
    while some := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(some, pa.schema(_ROW))


def _items(packed: bytes) -> Iterator[Item]:
    portion, options = pickle.loads(packed)  # noqa: S301 -- what `read` has packed
    if isinstance(portion, LineRange):
        return portion.read()
    file, number = portion
    return read_file(file, number, options)


def _row(item: Item) -> dict[str, Any]:
    if not isinstance(item, CorpusDocument):
        return {"source": item.source, "reason": item.reason}
    id_ = item.position.file << _ORDINAL_BITS | item.position.ordinal
    text, identity, reason = (item.text, None, None) if item.html is None else _page(item.html)
    row = general_row(item, None if item.html is None else text)
    return row | {"id": id_, "text": _valid(text or ""), "identity": identity, "reason": reason}


def _page(html: bytes) -> tuple[str, bytes | None, str | None]:
    # Only the processes that do the work load the parser, where there are pages.
    from dedup.signature.extraction import text_of  # noqa: PLC0415

    try:
        text = text_of(html)
    except (DedupError, MemoryError):
        raise
    except Exception as error:  # no page may end a job, whatever parsers raise
        return "", None, reason_of(error)
    return text, page_identity(digest(html)), None


def _valid(text: str) -> str:
    return encoded(text).decode()
