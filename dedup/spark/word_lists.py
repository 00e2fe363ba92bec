"""The word lists of a scheme where signatures are made: executors have none of those that the driver has read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa

from dedup.signature import word_lists

Batches = Iterable[pa.RecordBatch]


def with_word_lists(
    function: Callable[[Batches], Iterator[pa.RecordBatch]],
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function of batches that brings along the word lists that are known in this process."""
    return partial(_call, function, list(word_lists.registered().values()))


def _call(
    function: Callable[[Batches], Iterator[pa.RecordBatch]], lists: Iterable[bytes], batches: Batches
) -> Iterator[pa.RecordBatch]:
    word_lists.prepare(lists)
    return function(batches)
