"""Columns of Arrow as arrays of numpy, and back, without a copy where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dedup.signature.batch import Texts


def texts_of(column: pa.Array) -> Texts:
    """Return a column of strings as texts; what is null is an empty text."""
    column = column.cast(pa.large_string())
    if column.null_count:
        column = column.fill_null("")
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8) if offsets else np.zeros(1, np.int64)
    everything = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return Texts(everything[ends[0] : ends[-1]], ends - ends[0])


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
