"""Output files of rows: JSON Lines and Parquet, with checkpoints.

A Parquet file has its table of contents at its end, so one that is not finished is nothing. What is written between two
checkpoints is therefore a file of its own, in a folder NAME.part, and when all is written they become one: what is
whole stays whole, and is written twice if there were checkpoints.
"""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, datetime, time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from dedup.corpus.appending import open_at, write_all
from dedup.corpus.reading.documents import MEGABYTE, ParquetRow
from dedup.corpus.reading.streams import load_pyarrow
from dedup.errors import InputError
from dedup.files import replace_file, sync

# Lines of JSON without the end of the last one, values by column, or a row that goes from Parquet to Parquet.
Row = bytes | dict[str, Any] | ParquetRow


_HAVE_COLUMNS = {".jsonl": False, ".ndjson": False, ".parquet": True}

FORMATS = tuple(suffix.removeprefix(".") for suffix in _HAVE_COLUMNS)
"""What the name of a file of rows can end in, the usual one first."""


MOST_WAITING = 1 << 20
MOST_UNSAFE = 1 << 26

_encode = msgspec.json.Encoder().encode


_ROWS_A_BLOCK = 1_000
_GROUP_BYTES = 64 * MEGABYTE
_MOST_ROWS = 1_000_000


class Output(ABC):
    """A file of rows that gets its name when it is whole."""

    @abstractmethod
    def write(self, row: Row) -> None:
        """Write a row."""

    @abstractmethod
    def checkpoint(self) -> int:
        """Make all rows so far safe; return where writing can be resumed."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file and give it its name, in the place of a file that has it."""

    @abstractmethod
    def suspend(self) -> None:
        """Close what is open; what was written stays, to be resumed at the last checkpoint."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.suspend()


def open_output(path: Path, columns: Any, resume_at: int | None = None) -> Output:
    """Open a file for rows.

    Args:
        path: what it will be called, ending in `.jsonl`, `.ndjson` or `.parquet`. Until it is whole, it is
            written beside it, with `.part` behind the name.
        columns: those of a Parquet file: a `pyarrow.Schema`, or names of types by column, as
            `pyarrow.type_for_alias` knows them, and `strings` for lists of them.
        resume_at: what the last checkpoint returned: what came after it is removed, and writing goes on
            there. None: begin anew.

    Raises:
        InputError: the name says no known format, its folder cannot be written, or what is to be resumed
            is not there.
    """
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: its folder is not there or cannot be written; make it first")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if resume_at is not None and path.exists() and not part_of(path).exists():
        return FinishedOutput(path, resume_at)
    if path.suffix.lower() not in _HAVE_COLUMNS:
        raise InputError(f"{path}: not a format to write; its name must end in .{', .'.join(FORMATS)}")
    if not has_columns(path):
        return JsonlOutput(path, resume_at)
    return ParquetOutput(path, columns, resume_at)


def has_columns(path: Path) -> bool:
    """Say whether all rows of a file of this name have the same columns, so that not any record can be one."""
    return _HAVE_COLUMNS.get(path.suffix.lower(), False)


class FinishedOutput(Output):
    """A file that was finished when the program was killed before it could note that.

    Whoever notes a checkpoint right before closing resumes with nothing left to write.

    Args:
        path: the file.
        resume_at: the checkpoint that was noted.
    """

    def __init__(self, path: Path, resume_at: int) -> None:
        self._path = path
        self._resume_at = resume_at

    def write(self, row: Row) -> None:
        """Refuse the row.

        Raises:
            InputError: always.
        """
        raise not_resumable(self._path, f"it is finished and {part_of(self._path).name} is not there")

    def checkpoint(self) -> int:
        """Return the checkpoint that was noted."""
        return self._resume_at

    def close(self) -> None:
        """Do nothing: the file is whole."""

    def suspend(self) -> None:
        """Do nothing: the file is whole."""


def discard_part(path: Path) -> None:
    """Remove what was written of an output that has not got its name."""
    remove(part_of(path))


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """Return what a file is called until it is whole."""
    return path.with_name(path.name + ".part")


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON, all of it or nothing; it is there after a loss of power too."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(value), encoding="utf-8")
    replace_file(new, path)


def not_resumable(path: Path, found: str) -> InputError:
    """Say that a checkpoint does not fit what is there."""
    return InputError(f"{path}: cannot be resumed, {found}; start again without resuming")


class JsonlOutput(Output):
    """A JSONL file; a checkpoint is its length in bytes. Lines are written as they are.

    Now and then a thread hands what was written to the disk: at the end little is left to wait for.

    Args:
        path: what it will be called.
        resume_at: a checkpoint; None: begin anew.

    Raises:
        InputError: there is less than was written up to the checkpoint.
    """

    def __init__(self, path: Path, resume_at: int | None = None) -> None:
        self._path = path
        self._part = part_of(path)
        size = self._part.stat().st_size if self._part.exists() else -1
        if resume_at is not None and size < resume_at:
            raise not_resumable(path, f"{self._part.name} is {'not there' if size < 0 else 'too short'}")
        self._file = open_at(self._part, resume_at or 0)
        self._waiting = bytearray()
        self._thread = ThreadPoolExecutor(1)
        self._syncing: Future[None] | None = None
        self._unsafe = 0

    def write(self, row: Row) -> None:
        """Write a row.

        Raises:
            OSError: the disk does not take it, or has not taken what was written before.
        """
        self._waiting += row if isinstance(row, bytes) else to_json(row)
        self._waiting += b"\n"
        if len(self._waiting) >= MOST_WAITING:
            self._write_waiting()
            if self._unsafe >= MOST_UNSAFE and (self._syncing is None or self._syncing.done()):
                self._wait_for_sync()
                self._syncing = self._thread.submit(os.fsync, self._file.fileno())
                self._unsafe = 0

    def checkpoint(self) -> int:
        """Make all rows so far safe; return where writing can be resumed."""
        self._write_waiting()
        # The system tells of a failure once: it may have told the thread.
        self._wait_for_sync()
        os.fsync(self._file.fileno())
        self._unsafe = 0
        return self._file.tell()

    def close(self) -> None:
        """Finish the file and give it its name."""
        self.checkpoint()
        self.suspend()
        replace_file(self._part, self._path)

    def suspend(self) -> None:
        """Close what is open; what was written up to the last checkpoint stays."""
        self._thread.shutdown()
        self._file.close()

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, bytearray()
        write_all(self._file, waiting)
        self._unsafe += len(waiting)

    def _wait_for_sync(self) -> None:
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            syncing.result()


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


class ParquetOutput(Output):
    """A Parquet file; a checkpoint is the number of its parts.

    Args:
        path: what it will be called.
        columns: a `pyarrow.Schema`, or names of types by column.
        resume_at: a checkpoint; None: begin anew.

    Raises:
        InputError: pyarrow is not installed, or a part is missing that was there at the checkpoint.
    """

    def __init__(self, path: Path, columns: Any, resume_at: int | None = None) -> None:
        arrow = load_pyarrow(str(path))
        self._arrow = arrow
        self._schema = columns if isinstance(columns, arrow.Schema) else _schema(columns, arrow)
        self._path = path
        self._folder = part_of(path)
        self._parts = resume_at or 0
        self._remove_behind_checkpoint(is_new=resume_at is None)
        self._values: list[dict[str, Any]] = []
        self._rows: list[ParquetRow] = []
        self._blocks: list[Any] = []
        self._block_bytes = 0
        self._writer: Any = None

    def _remove_behind_checkpoint(self, *, is_new: bool) -> None:
        done = self._folder.with_suffix(".done")
        for path in (self._folder, done) if is_new else (done,):
            remove(path)
        if is_new:
            self._folder.mkdir()
        missing = [name for name in map(self._part, range(self._parts)) if not name.exists()]
        if missing or not self._folder.is_dir():
            raise not_resumable(self._path, f"{(missing or [self._folder])[0].name} is not there")
        keep = {self._part(i) for i in range(self._parts)}
        for path in set(self._folder.iterdir()) - keep:
            path.unlink()

    def _part(self, number: int) -> Path:
        return self._folder / f"{number:06d}.parquet"

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
        if self._writer is None:
            self._writer = self._arrow.parquet.ParquetWriter(self._part(self._parts), self._schema, compression="zstd")
        table = self._arrow.concat_tables(self._blocks) if self._blocks else self._schema.empty_table()
        self._writer.write_table(table, row_group_size=_MOST_ROWS)
        self._blocks = []
        self._block_bytes = 0

    def checkpoint(self) -> int:
        """Make all rows so far safe; return where writing can be resumed."""
        self._gather()
        if self._blocks:
            self._write_group()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            sync(self._part(self._parts))
            sync(self._folder)
            self._parts += 1
        return self._parts

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self.checkpoint() == 0:
            self._write_group()
            self.checkpoint()
        whole = self._folder / "whole.parquet"
        if self._parts == 1:
            whole.hardlink_to(self._part(0))
        else:
            self._join(whole)
        replace_file(whole, self._path)
        # Killed before this line, it is resumed with all parts; after it, the file is finished.
        done = self._folder.replace(self._folder.with_suffix(".done"))
        shutil.rmtree(done)

    def _join(self, whole: Path) -> None:
        """Write the rows of all parts into one file, in row groups of the usual size."""
        self._writer = self._arrow.parquet.ParquetWriter(whole, self._schema, compression="zstd")
        for number in range(self._parts):
            with self._arrow.parquet.ParquetFile(self._part(number)) as part:
                for group in range(part.num_row_groups):
                    self._blocks.append(part.read_row_group(group).cast(self._schema))
                    self._block_bytes += self._blocks[-1].nbytes
                    if self._block_bytes >= _GROUP_BYTES:
                        self._write_group()
        self._write_group()
        self._writer.close()
        self._writer = None

    def suspend(self) -> None:
        """Close what is open; parts up to the last checkpoint stay."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _schema(columns: dict[str, str], arrow: Any) -> Any:
    strings = arrow.list_(arrow.string())
    return arrow.schema(
        [(name, strings if kind == "strings" else arrow.type_for_alias(kind)) for name, kind in columns.items()]
    )
