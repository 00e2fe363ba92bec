"""Documents to signatures, in batches of Arrow, by the code that signs files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from dedup.corpus.signing.batches import Contents, Signatures
from dedup.corpus.signing.signing import sign_contents
from dedup.rules.settings import RuleSettings
from dedup.spark.arrow import binaries, numbers, texts_of
from dedup.spark.word_lists import with_word_lists

_COLUMNS = (
    "id long, key string, low long, high long, fingerprint long, minima binary, shingles long, tokens long, "
    "bands binary, reason string"
)


def sign(documents: DataFrame, settings: RuleSettings) -> DataFrame:
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
    """Make the signatures of a column of texts."""
    return sign_contents(Contents(texts_of(texts), {}), scheme_name, with_words=with_words)


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
    """Have identities stand for texts without words; see `dedup.corpus.signing.signed.identity_of`."""
    rows, unanalysed = signatures.rows, signatures.unanalysed
    for place, identity in enumerate(identities.to_pylist()):
        if identity is not None and not rows["tokens"][place] and place not in unanalysed:
            rows["digest"][place] = np.frombuffer(identity, np.uint64)
