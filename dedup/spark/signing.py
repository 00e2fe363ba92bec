"""Documents to signatures, in batches of Arrow, by the code that signs files; rows and columns as Arrow has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from dedup.corpus.index import COLUMNS, byte_strings, columns_of
from dedup.corpus.signing import Signatures, sign
from dedup.rules.settings import RuleSettings
from dedup.signature import dictionaries

Batches = Iterable[pa.RecordBatch]

_SPARK_TYPES = {"int64": "long", "int32": "int", "float64": "double", "bool": "boolean"}
_NOT_SIGNED = {"number", "leader", "indexed", "words"}
_SIGNED = {
    "id": "int64",
    **{name: kind for name, kind in COLUMNS.items() if name not in _NOT_SIGNED},
    "reason": "string",
}
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
    signing = with_word_lists(partial(_sign, scheme_name=settings.scheme))
    return documents.select(*wanted).mapInArrow(signing, ddl_of(_SIGNED))


def signatures_of(texts: pa.Array, scheme_name: str, *, with_words: bool) -> Signatures:
    """Make the signatures of a column of texts; what is null is an empty text."""
    return sign([text or "" for text in texts.to_pylist()], scheme_name, with_words=with_words)


def _sign(batches: Batches, scheme_name: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        signatures = signatures_of(batch.column("text"), scheme_name, with_words=False)
        rows: Any = signatures.rows
        if "identity" in batch.schema.names:
            _identify(signatures, batch.column("identity"))
        columns = {
            "id": batch.column("id"),
            "key": batch.column("key"),
            **columns_of(rows),
            "bands": byte_strings(rows["bands"]),
            "reason": [signatures.unanalysed.get(place) for place in range(len(rows))],
        }
        yield pa.RecordBatch.from_pydict(columns, schema_of(_SIGNED))


def _identify(signatures: Signatures, identities: pa.Array) -> None:
    """Have identities stand for texts without words; see `dedup.corpus.signing.identity_of`."""
    rows, unanalysed = signatures.rows, signatures.unanalysed
    for place, identity in enumerate(identities.to_pylist()):
        if identity is not None and not rows["tokens"][place] and place not in unanalysed:
            rows["digest"][place] = np.frombuffer(identity, np.uint64)
