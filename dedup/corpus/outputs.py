"""Output files of rows: JSON Lines and Parquet, which get their names when all of them are written."""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime, time
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import msgspec

from dedup.atomic_files import replace_file
from dedup.errors import InputError
from dedup.readers.documents import MEGABYTE, ParquetRow
from dedup.readers.streams import load_pyarrow, load_zstd

# Lines of JSON without the end of the last one, values by column, or a row that goes from Parquet to Parquet.
Row = bytes | dict[str, Any] | ParquetRow

_HAVE_COLUMNS = {".jsonl": False, ".ndjson": False, ".jsonl.gz": False, ".jsonl.zst": False, ".parquet": True}

FORMATS = tuple(suffix.removeprefix(".") for suffix in _HAVE_COLUMNS)
"""What the name of a file of rows can end in, the usual one first."""

MOST_WAITING = 1 << 20

_encode = msgspec.json.Encoder().encode

_GZIP_LEVEL = 6
_ROWS_A_BLOCK = 1_000
_GROUP_BYTES = 64 * MEGABYTE
_MOST_ROWS = 1_000_000


class Output(ABC):
    """A file of rows that gets its name when it is whole; until then it is called like that, with `.part` behind.

    Args:
        path: what it will be called.

    Attributes:
        path: the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._file = self._part.open("wb")

    @abstractmethod
    def write(self, row: Row) -> None:
        """Write a row.

        Raises:
            OSError: the disk does not take it.
        """

    @abstractmethod
    def finish(self) -> None:
        """Write what waits to be written."""

    def close(self) -> None:
        """Finish the file and give it its name, in the place of a file that has it."""
        self.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        replace_file(self._part, self.path)
        self._file.close()

    def discard(self) -> None:
        """Remove what was written, unless it has got its name."""
        if not self._file.closed:
            self._part.unlink(missing_ok=True)
            self._file.close()


def open_output(path: Path, columns: Any) -> Output:
    """Open a file for rows.

    Args:
        path: what it will be called, which ends in one of `FORMATS`.
        columns: those of a Parquet file: a `pyarrow.Schema`, or names of types by column, as
            `pyarrow.type_for_alias` knows them, and `strings` for lists of them.

    Raises:
        InputError: the name says no known format, or its folder cannot be written.
    """
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: its folder does not exist or is not writable; create it first")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.name.lower().endswith(tuple(_HAVE_COLUMNS)):
        raise InputError(f"{path}: unknown output format; its name must end in .{', .'.join(FORMATS)}")
    return ParquetOutput(path, columns) if has_columns(path) else JsonlOutput(path)


def has_columns(path: Path) -> bool:
    """Return whether all rows of a file of this name have the same columns, so that not any record can be one."""
    return _HAVE_COLUMNS.get(path.suffix.lower(), False)


def _compressed(file: BufferedIOBase, path: Path) -> BufferedIOBase:
    """Return what compresses into a file as its name says; the file itself where that says nothing."""
    match path.suffix.lower():
        case ".gz":
            return gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
        case ".zst":
            compressed: BufferedIOBase = load_zstd(str(path)).ZstdFile(file, "wb")
            # What nothing was ever written to becomes no frame.
            compressed.write(b"")
            return compressed
    return file


class JsonlOutput(Output):
    """A JSONL file; lines are written as they are."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._waiting = bytearray()
        self._stream = _compressed(self._file, path)

    def write(self, row: Row) -> None:
        """Write a row."""
        self._waiting += row if isinstance(row, bytes) else to_json(row)
        self._waiting += b"\n"
        if len(self._waiting) >= MOST_WAITING:
            self._flush()

    def finish(self) -> None:
        """Write what waits to be written."""
        self._flush()
        if self._stream is not self._file:
            self._stream.close()

    def discard(self) -> None:
        """Remove what was written, unless it has got its name."""
        if self._stream is not self._file:
            # It would write to the file when it is collected.
            with suppress(OSError):
                self._stream.close()
        super().discard()

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._stream.write(waiting)


def to_json(row: dict[str, Any] | ParquetRow) -> bytes:
    """Return a row as a line of JSON in UTF-8.

    Times are written as ISO 8601, bytes as text if they are UTF-8 and as `{"base64": ...}` if not, what
    JSON has no number for (NaN, infinities) as null, anything else as its string.
    """
    values = row.to_dict() if isinstance(row, ParquetRow) else row
    try:
        return (
            b"{" + b", ".join([_encode(name) + b": " + _value_to_json(value) for name, value in values.items()]) + b"}"
        )
    except ValueError:
        line = json.dumps(_without_nan(values), ensure_ascii=False, default=_to_json_value)
        return line.encode("utf-8", "replace")


def _value_to_json(value: object) -> bytes:
    # Of a text json takes five times as long, and what it makes is the same.
    return _encode(value) if type(value) is str else _ENCODER.encode(value).encode()


def _to_json_value(value: object) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


# json.dumps would make one for every row.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_to_json_value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return value


def extended(columns: Any, more: dict[str, str]) -> Any:
    """Return the columns of a file, see `open_output`, with more behind them.

    Raises:
        InputError: there is one of such a name already.
    """
    if isinstance(columns, dict):
        return columns | more
    for field in _schema(more, load_pyarrow("--cluster-fields")):
        if field.name in columns.names:
            raise InputError(f"--cluster-fields: the inputs have a column {field.name!r} already; leave it out")
        columns = columns.append(field)
    return columns


def with_columns(batch: Any, values: Iterable[dict[str, Any]], columns: dict[str, str]) -> Any:
    """Return a `pyarrow.RecordBatch` with more columns behind its own, and what each row has in these."""
    arrow = load_pyarrow("--cluster-fields")
    more = arrow.RecordBatch.from_pylist(list(values), _schema(columns, arrow))
    return arrow.RecordBatch.from_arrays(batch.columns + more.columns, schema=extended(batch.schema, columns))


class ParquetOutput(Output):
    """A Parquet file.

    Args:
        path: what it will be called.
        columns: a `pyarrow.Schema`, or names of types by column.

    Raises:
        InputError: pyarrow is not installed.
    """

    def __init__(self, path: Path, columns: Any) -> None:
        arrow = load_pyarrow(str(path))
        super().__init__(path)
        self._arrow = arrow
        self._schema = columns if isinstance(columns, arrow.Schema) else _schema(columns, arrow)
        self._values: list[dict[str, Any]] = []
        self._rows: list[ParquetRow] = []
        self._blocks: list[Any] = []
        self._block_bytes = 0
        self._writer = arrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def write(self, row: Row) -> None:
        """Write a row; it is converted and written together with others."""
        if isinstance(row, ParquetRow):
            if self._values or (self._rows and row.batch is not self._rows[-1].batch):
                self._gather()
            self._rows.append(row)
        else:
            if self._rows:
                self._gather()
            self._values.append(json.loads(row) if isinstance(row, bytes) else row)
        if len(self._values) + len(self._rows) >= _ROWS_A_BLOCK:
            self._gather()

    def finish(self) -> None:
        """Write what waits to be written, and the table of contents."""
        self._gather()
        if self._blocks:
            self._write_group()
        self._writer.close()

    def discard(self) -> None:
        """Remove what was written, unless it has got its name."""
        # pyarrow would write to the file when the writer is collected.
        with suppress(OSError):
            self._writer.close()
        super().discard()

    def _gather(self) -> None:
        """Make a block of the rows that wait, and a row group of the blocks when there is enough."""
        arrow = self._arrow
        if self._values:
            self._blocks.append(arrow.Table.from_pylist(self._values, schema=self._schema))
            self._values = []
        if self._rows:
            rows = self._rows[0].batch.take([row.index for row in self._rows])
            self._blocks.append(arrow.Table.from_batches([rows]).cast(self._schema))
            self._rows = []
        if self._blocks:
            self._block_bytes += self._blocks[-1].nbytes
            if self._block_bytes >= _GROUP_BYTES:
                self._write_group()

    def _write_group(self) -> None:
        self._writer.write_table(self._arrow.concat_tables(self._blocks), row_group_size=_MOST_ROWS)
        self._blocks = []
        self._block_bytes = 0


def _schema(columns: dict[str, str], arrow: Any) -> Any:
    strings = arrow.list_(arrow.string())
    return arrow.schema(
        [(name, strings if kind == "strings" else arrow.type_for_alias(kind)) for name, kind in columns.items()]
    )
