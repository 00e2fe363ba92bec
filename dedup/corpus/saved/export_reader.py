"""Where exported rows are read from: a file of JSONL or Parquet, or a folder of parts as Spark writes it."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dedup.corpus.reading.libraries import load_pyarrow, parquet_damage
from dedup.corpus.saved.export_format import (
    ABOUT,
    COMPLETE,
    FROM,
    NAME,
    ROWS,
    About,
    Row,
    no_export,
    not_complete,
    read_about,
    row_of,
)
from dedup.errors import InputError
from dedup.progress import Progress
from dedup.signature.signature import digest

_LONGEST_LINE = 1 << 30
_ROWS_AT_ONCE = 4096


class Found(NamedTuple):
    """A row that was read.

    Attributes:
        where: the words that say where it stands.
        place: how many rows are before it.
        row: the row.
        leader: the place of its leader, if it has one.
    """

    where: str
    place: int
    row: Row
    leader: int | None


class Exported:
    """An index that was exported.

    Args:
        path: the file, or the folder that Spark wrote.

    Raises:
        InputError: it cannot be read, or is none that was exported.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_parquet = path.is_dir() or path.suffix.lower() == ".parquet"
        try:
            about = _about_folder(path) if path.is_dir() else _about_file(path, is_parquet=self._is_parquet)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the name") from None
        self._about = read_about(str(path), about)

    @property
    def about(self) -> About:
        """What it says of itself."""
        return self._about

    @property
    def identity(self) -> bytes:
        """The digest of names, sizes and times of its files: another one has another."""
        states = [(path.name, path.stat()) for path in self._parts()]
        return digest(json.dumps([(name, state.st_size, state.st_mtime_ns) for name, state in states]).encode())

    def rows(self) -> Iterator[Found]:
        """Yield all rows.

        Raises:
            InputError: a row is not what it should be, or does not fit to those before.
        """
        found = chain.from_iterable(map(_of_parquet, self._parts())) if self._is_parquet else _of_jsonl(self._path)
        numbers = array("q")
        for place, (where, values) in enumerate(found):
            try:
                row = row_of(values, is_parquet=self._is_parquet)
                leader = _place_of_leader(row, numbers)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise wrong_row(where, f"no {error}" if isinstance(error, KeyError) else str(error)) from None
            numbers.append(row.number)
            yield Found(where, place, row, leader)

    def _parts(self) -> list[Path]:
        """Return the files in the order of their first numbers, and leave out those without rows."""
        if not self._path.is_dir():
            return [self._path]
        folders = sorted((self._path / ROWS).glob(f"{FROM}=*"))
        if broken := [folder for folder in folders if not (folder / COMPLETE).exists()]:
            raise not_complete(str(broken[0]))
        firsts = [(_first_number(path), path) for folder in folders for path in sorted(folder.glob("*.parquet"))]
        return [path for _, path in sorted((first, path) for first, path in firsts if first is not None)]


def wrong_row(where: str, reason: str) -> InputError:
    """Return what is said of a row that is not what it should be."""
    return InputError(f"{where}: {reason}; export the index again")


def _place_of_leader(row: Row, numbers: array[int]) -> int | None:
    """Return the place of the leader of a row, by the numbers of the rows before.

    Raises:
        ValueError: it is none of them, or the number of the row is not greater than theirs.
    """
    if numbers and row.number <= numbers[-1]:
        raise ValueError(f"number {row.number} does not come after {numbers[-1]}")
    if row.leader is None:
        return None
    place = bisect_left(numbers, row.leader)
    if place == len(numbers) or numbers[place] != row.leader:
        raise ValueError(f"leader '{row.leader}' is not the number of a row before")
    return place


def _about_folder(path: Path) -> bytes:
    lines = [line for part in sorted((path / ABOUT).glob("part-*")) if (line := part.read_bytes().strip())]
    if len(lines) != 1:
        raise no_export(str(path))
    return lines[0]


def _about_file(path: Path, *, is_parquet: bool) -> bytes:
    # Opened here, since the library's own errors for a file that is not there say less.
    with path.open("rb") as file:
        if not is_parquet:
            return _about_jsonl(path, file.readline(_LONGEST_LINE))
        arrow = load_pyarrow(str(path))
        try:
            about: bytes = (arrow.parquet.read_schema(file).metadata or {})[NAME.encode()]
        except parquet_damage(arrow):
            raise no_export(str(path)) from None
        return about


def _about_jsonl(path: Path, line: bytes) -> bytes:
    try:
        return json.dumps(json.loads(line)[NAME]).encode()
    except (ValueError, KeyError, TypeError):
        raise no_export(str(path)) from None


def _of_jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file, Progress("reading", path.stat().st_size) as progress:
        file.readline(_LONGEST_LINE)
        number = 1
        while line := file.readline(_LONGEST_LINE):
            number += 1
            progress.show(file.tell())
            try:
                values = json.loads(line)
            except ValueError:
                # The reader of the rows says where.
                values = None
            yield f"{path}: line {number:,}", values


def _of_parquet(path: Path) -> Iterator[tuple[str, Any]]:
    arrow = load_pyarrow(str(path))
    try:
        with arrow.parquet.ParquetFile(path) as file, Progress("reading", file.metadata.num_rows) as progress:
            number = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                progress.show(number)
                for values in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number:,}", values
    except parquet_damage(arrow) as error:
        raise InputError(f"{path}: damaged ({str(error)[:200]}); export the index again") from None


def _first_number(path: Path) -> int | None:
    """Return the number of the first row of a part; None where it has no row."""
    arrow = load_pyarrow(str(path))
    try:
        with arrow.parquet.ParquetFile(path) as file:
            if not file.metadata.num_rows:
                return None
            first = next(file.iter_batches(1, columns=["number"])).column(0)[0].as_py()
    except parquet_damage(arrow) as error:
        raise InputError(f"{path}: damaged ({str(error)[:200]}); export the index again") from None
    # Whoever reads its rows says what is wrong with them.
    return first if isinstance(first, int) else -1
