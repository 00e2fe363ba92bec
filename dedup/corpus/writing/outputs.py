"""Where rows go: one protocol for JSONL and Parquet."""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dedup.corpus.reading.documents import ParquetRow
from dedup.errors import InputError

# A line of JSON without its end, values by column, or a row that goes from Parquet to Parquet.
Row = bytes | dict[str, Any] | ParquetRow


class _Format(NamedTuple):
    """A format to write.

    Attributes:
        module: the module in this package whose `open_rows(path, columns, resume_at)` opens an `Output`.
        has_columns: whether all rows have the same columns.
    """

    module: str
    has_columns: bool


_FORMATS = {
    ".jsonl": _Format("jsonl", has_columns=False),
    ".ndjson": _Format("jsonl", has_columns=False),
    ".parquet": _Format("parquet", has_columns=True),
}

FORMATS = tuple(suffix.removeprefix(".") for suffix in _FORMATS)
"""What the name of a file of rows can end in, the usual one first."""


class Output(ABC):
    """A file of rows that gets its name when it is whole."""

    @abstractmethod
    def write(self, row: Row) -> None:
        """Write a row."""

    def write_lines(self, pieces: Sequence[memoryview]) -> None:
        """Write rows that are lines of JSON, with their ends, in one or more pieces."""
        for line in b"".join(pieces).split(b"\n")[:-1]:
            self.write(line)

    @abstractmethod
    def checkpoint(self) -> int:
        """Make all rows so far safe; return where writing can be resumed."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file and give it its name, in the place of a file that has it."""

    @abstractmethod
    def suspend(self) -> None:
        """Close what is open; what was written stays, to be resumed at the last checkpoint."""


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
    format_ = _FORMATS.get(path.suffix.lower())
    if format_ is None:
        raise InputError(f"{path}: not a format to write; its name must end in .{', .'.join(FORMATS)}")
    output: Output = import_module(f"dedup.corpus.writing.{format_.module}").open_rows(path, columns, resume_at)
    return output


def has_columns(path: Path) -> bool:
    """Say whether all rows of a file of this name have the same columns, so that not any record can be one."""
    format_ = _FORMATS.get(path.suffix.lower())
    return format_ is not None and format_.has_columns


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
    with new.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder safe against a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def not_resumable(path: Path, found: str) -> InputError:
    """Say that a checkpoint does not fit what is there."""
    return InputError(f"{path}: cannot be resumed, {found}; start again without resuming")
