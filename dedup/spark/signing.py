"""Documents to signatures, in batches of Arrow, by the code that signs files; columns of Arrow as arrays of numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from dedup.corpus.batches import Signatures, sign
from dedup.rules.settings import RuleSettings
from dedup.signature import dictionaries

_TYPES = {
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}

Batches = Iterable[pa.RecordBatch]

_COLUMNS = (
    "id long, key string, low long, high long, fingerprint long, minima binary, shingles long, tokens long, "
    "bands binary, reason string"
)


def numbers(column: NDArray[Any]) -> pa.Array:
    """Return numbers as a column; what is unsigned stays the same bits, as Spark's long has a sign."""
    column = np.ascontiguousarray(column)
    return pa.array(column.view(np.int64) if column.dtype == np.uint64 else column.astype(np.int64))


def binaries(rows: NDArray[Any]) -> pa.Array:
    """Return each row of an array of shape (n, m) as bytes."""
    width = rows.dtype.itemsize * rows.shape[1]
    fixed = pa.py_buffer(np.ascontiguousarray(rows).tobytes())
    return pa.Array.from_buffers(pa.binary(width), len(rows), [None, fixed]).cast(pa.binary())


def unsigned(column: pa.Array) -> NDArray[np.uint64]:
    """Return a column of longs as the unsigned numbers that they stand for."""
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).view(np.uint64)


def rows_of(column: pa.Array, kind: Any) -> NDArray[Any]:
    """Return bytes of equal length as rows of numbers, shape (n, m); at least one."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * np.int32().itemsize)
    return np.frombuffer(bytes(data[ends[0] : ends[-1]]), kind).reshape(len(column), -1)


def arrow_schema(columns: str) -> pa.Schema:
    """Return columns that are given with their types as Spark writes them, as Arrow has them."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in (column.split() for column in columns.split(", "))])


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


def sign_documents(documents: DataFrame, settings: RuleSettings) -> DataFrame:
    """Make the signatures of documents.

    Args:
        documents: id, key and text of each. Where there is a column `identity`, texts without words are the same if
            it is.
        settings: the scheme.

    Returns:
        A row a document: id and key, digest (`low`, `high`; 0 for a text without words), fingerprint, sketch
        (`minima`, `shingles`, `tokens`) and `bands`, 24 numbers of 64 bits, little-endian;
        `reason` says why a text could not be analysed.
    """
    wanted = [name for name in ("id", "key", "text", "identity") if name in documents.columns]
    return documents.select(*wanted).mapInArrow(with_word_lists(partial(_sign, scheme_name=settings.scheme)), _COLUMNS)


def signatures_of(texts: pa.Array, scheme_name: str, *, with_words: bool) -> Signatures:
    """Make the signatures of a column of texts; what is null is an empty text."""
    return sign([text or "" for text in texts.to_pylist()], scheme_name, with_words=with_words)


def _sign(batches: Iterable[pa.RecordBatch], scheme_name: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        signatures = signatures_of(batch.column("text"), scheme_name, with_words=False)
        rows: Any = signatures.rows
        if "identity" in batch.schema.names:
            _identify(signatures, batch.column("identity"))
        columns = {
            "id": batch.column("id"),
            "key": batch.column("key"),
            "low": numbers(rows["digest"][:, 0]),
            "high": numbers(rows["digest"][:, 1]),
            "fingerprint": numbers(rows["fingerprint"]),
            "minima": binaries(rows["minima"]),
            "shingles": numbers(rows["shingles"]),
            "tokens": numbers(rows["tokens"]),
            "bands": binaries(rows["bands"]),
            "reason": pa.array(map(signatures.unanalysed.get, range(len(rows))), pa.string()),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _identify(signatures: Signatures, identities: pa.Array) -> None:
    """Have identities stand for texts without words; see `dedup.corpus.batches.identity_of`."""
    rows, unanalysed = signatures.rows, signatures.unanalysed
    for place, identity in enumerate(identities.to_pylist()):
        if identity is not None and not rows["tokens"][place] and place not in unanalysed:
            rows["digest"][place] = np.frombuffer(identity, np.uint64)
