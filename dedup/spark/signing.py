"""Documents to rows with their signatures, by the code that signs files; rows and columns as Arrow has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from dedup.corpus.index import COLUMNS, columns_of
from dedup.corpus.parts import Columns
from dedup.corpus.portion import Portion, Wanted, portion_of
from dedup.corpus.signing import contents_of, sign
from dedup.readers.documents import CorpusDocument, Position
from dedup.rules.settings import RuleSettings
from dedup.signature import dictionaries

Batches = Iterable[pa.RecordBatch]

SIGNED = {
    "id": "int64",
    **{name: kind for name, kind in COLUMNS.items() if name not in {"number", "leader"}},
    "title": "string",
    "bytes": "int64",
    "reason": "string",
}
"""The columns of documents with their signatures: those of a saved index; the title of a page, null of all else; the
size of the text in UTF-8; why the document could not be analysed, null of nearly all."""

_SPARK_TYPES = {"int64": "long", "int32": "int", "float64": "double", "bool": "boolean"}
_AT_ONCE = 256


def ddl_of(columns: Mapping[str, str]) -> str:
    """Return columns, which are given with their types as Arrow names them, as Spark writes them."""
    return ", ".join(f"{name} {_SPARK_TYPES.get(kind, kind)}" for name, kind in columns.items())


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """Return columns, which are given with their types as Arrow names them, as a schema of Arrow."""
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def packed(rows: Iterable[dict[str, Any]], columns: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield rows of some columns, some at a time."""
    left, schema = iter(rows), schema_of(columns)
    while some := list(islice(left, _AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema)


def with_word_lists(
    function: Callable[[Batches], Iterator[pa.RecordBatch]],
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function of batches that brings along the word lists that are known in this process."""
    return partial(_call, function, list(dictionaries.registered().values()))


def _call(
    function: Callable[[Batches], Iterator[pa.RecordBatch]], lists: Iterable[bytes], batches: Batches
) -> Iterator[pa.RecordBatch]:
    dictionaries.prepare(lists)
    return function(batches)


def signed_columns(ids: Sequence[int], portion: Portion, columns: Columns) -> dict[str, Any]:
    """Return the documents of a portion as columns of `SIGNED`.

    Args:
        ids: those of the documents.
        portion: what `dedup.corpus.portion.portion_of` returns.
        columns: likewise; words are deflated.
    """
    rows = portion.rows
    return {
        "id": ids,
        "key": [each.decode() for each in columns.keys],
        **columns_of(rows),
        "words": [each or None for each in columns.words],
        "title": [each.decode() or None for each in columns.titles] if columns.titles else [None] * len(rows),
        "bytes": rows["size"],
        "reason": [portion.unanalysed.get(place) for place in range(len(rows))],
    }


def sign_documents(documents: DataFrame, settings: RuleSettings) -> DataFrame:
    """Make the signatures of documents.

    Args:
        documents: `id`, `key` and `text` of each; a text that is null is an empty one.
        settings: the scheme, and which documents are compared word by word.

    Returns:
        A row a document, of the columns `SIGNED`.
    """
    wanted = Wanted.of_words(settings, deflated=True)
    signing = with_word_lists(partial(_sign, wanted=wanted))
    return documents.select("id", "key", "text").mapInArrow(signing, ddl_of(SIGNED))


def _sign(batches: Batches, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        ids, keys, texts = (column.to_pylist() for column in batch.columns)
        position = Position(0, 0, 0)
        documents = [
            CorpusDocument(key or "", text or "", None, "", position, b"")
            for key, text in zip(keys, texts, strict=True)
        ]
        portion, columns = portion_of(documents, sign(contents_of(documents), wanted.scheme), wanted)
        yield pa.RecordBatch.from_pydict(signed_columns(ids, portion, columns), schema_of(SIGNED))
