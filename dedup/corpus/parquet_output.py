"""Rows to Parquet.

A Parquet file has its table of contents at its end, so one that is not finished is nothing. What is
written between two checkpoints is therefore a file of its own, in a folder NAME.part, and when all is
written they become one: what is whole stays whole, and is written twice if there were checkpoints.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from dedup.corpus.outputs import Output, Row, not_resumable, part_of, remove
from dedup.corpus.reading.documents import MEGABYTE, ParquetRow
from dedup.corpus.reading.streams import load_pyarrow
from dedup.files import replace_file, sync

_ROWS_A_BLOCK = 1_000
_GROUP_BYTES = 64 * MEGABYTE
_MOST_ROWS = 1_000_000


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
