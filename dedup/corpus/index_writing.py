"""How a saved index is written, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.atomic_files import sync
from dedup.corpus.index import (
    ABOUT,
    AT_ONCE,
    COLUMNS,
    COMPLETE,
    FROM,
    ROWS,
    Block,
    columns_of,
    is_index,
    write_about,
)
from dedup.corpus.parts import DOCUMENT, NULL, Column, Columns, Parts, RowsFile, write_part
from dedup.corpus.tally import locked
from dedup.errors import InputError
from dedup.readers.streams import load_pyarrow
from dedup.rules.settings import Mode, RuleSettings


def require_free(target: Path, *, force: bool) -> None:
    """Refuse to write an index where something is that must not be lost.

    Raises:
        InputError: it is, or there is no folder to write it to, or pyarrow is not installed.
    """
    load_pyarrow(str(target))
    if not target.parent.is_dir():
        raise InputError(f"{target}: its folder does not exist; create it first")
    if not target.exists():
        return
    if not is_index(target):
        raise InputError(f"{target}: exists and is not an index; choose another path")
    if not force:
        raise InputError(f"{target}: already exists; choose another path or pass --force")


class NewIndex:
    """An index that is being made: documents are added one after the other.

    Args:
        folder: where they wait.

    Attributes:
        contents: how many documents it has, of different contents, once it is made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows = RowsFile(folder)
        self._part = self._count = self.contents = 0
        self._waiting = Block(np.zeros(AT_ONCE, DOCUMENT), [], [])

    def add(self, row: NDArray[Any], key: str, words: bytes) -> int:
        """Add a document; return its number.

        Args:
            row: of the type `dedup.corpus.parts.DOCUMENT`, shape (1,).
            key: what it is called.
            words: its words, deflated; nothing where they are not kept.
        """
        rows, keys, all_words = self._waiting
        rows[len(keys)] = row[0]
        keys.append(key.encode())
        all_words.append(words)
        self._count += 1
        if len(keys) == AT_ONCE:
            self._write()
        return self._count - 1

    def close(self) -> None:
        """Write what waits to be written."""
        self._write()
        self._rows.close()

    def save(self, target: Path, settings: RuleSettings) -> None:
        """Save what was added as an index, the first document of each content."""
        parts = Parts(self._folder)
        contents = parts.contents()
        leaders = parts.rows["leader"]
        # What led a document may be a copy of an earlier one.
        leaders = np.where(leaders == NULL, NULL, parts.firsts[leaders])
        save(target, settings, blocks_of(parts, contents, leaders, settings.mode))
        self.contents = len(contents)

    def _write(self) -> None:
        rows, keys, words = self._waiting
        rows = rows[: len(keys)]
        write_part(self._folder, self._part, rows, Columns(keys, words))
        self._rows.add(rows)
        self._part += 1
        keys.clear()
        words.clear()


@contextmanager
def new_index(target: Path, settings: RuleSettings, *, force: bool) -> Iterator[NewIndex]:
    """Make an index: what is added in the block is saved at its end, all of it or nothing.

    Args:
        target: the folder that it will be.
        settings: how its documents are decided.
        force: whether an index that is there is replaced.

    Yields:
        Where documents are added.

    Raises:
        InputError: the folder is there already, is no index, or another process is making it.
    """
    require_free(target, force=force)
    folder = target.with_name(f".{target.name}.partial")
    folder.mkdir(exist_ok=True)
    with locked(folder):
        try:
            with closing(NewIndex(folder)) as index:
                yield index
            index.save(target, settings)
        finally:
            shutil.rmtree(folder)


def blocks_of(parts: Parts, contents: NDArray[np.int64], leaders: NDArray[np.int64], mode: Mode) -> Iterator[Block]:
    """Yield documents as an index has them; their words are deflated.

    Args:
        parts: all documents.
        contents: the numbers of the first of each content.
        leaders: of each of all the number of its leader, `NULL` where it leads itself.
        mode: in the paper's mode what was dropped is found by its keys no more.
    """
    places = np.full(len(parts), NULL)
    places[contents] = np.arange(len(contents))
    for start in range(0, len(contents), AT_ONCE):
        numbers = contents[start : start + AT_ONCE]
        rows = parts.rows[numbers]
        has_leader = leaders[numbers] != NULL
        rows["leader"] = np.where(has_leader, places[leaders[numbers]], NULL)
        if mode is Mode.PAPER:
            rows["indexed"] &= ~has_leader
        yield Block(
            rows,
            [parts.value(number, Column.KEY) for number in numbers.tolist()],
            [parts.value(number, Column.WORDS) for number in numbers.tolist()],
        )


def save(target: Path, settings: RuleSettings, blocks: Iterable[Block]) -> None:
    """Write an index, all of it or nothing; one that is there is removed once the new one has its name.

    Args:
        target: the folder that it will be.
        settings: how its documents were decided.
        blocks: the documents.
    """
    new, old = (target.with_name(f".{target.name}.{kind}") for kind in ("new", "old"))
    shutil.rmtree(new, ignore_errors=True)
    try:
        _write(new, settings, blocks)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _write(folder: Path, settings: RuleSettings, blocks: Iterable[Block]) -> None:
    arrow = load_pyarrow(str(folder))
    rows, about = folder / ROWS / f"{FROM}=0", folder / ABOUT
    schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    for path, written, tables in (
        (rows, schema, _tables(arrow, schema, blocks)),
        (about, arrow.schema([(ABOUT, arrow.string())]), [arrow.table({ABOUT: [write_about(settings)]})]),
    ):
        path.mkdir(parents=True)
        given = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
        part = path / "part-00000.parquet"
        with arrow.parquet.ParquetWriter(part, written, write_page_checksum=True, **given) as writer:
            for table in tables:
                writer.write_table(table)
        sync(part)
        (path / COMPLETE).touch()
        sync(path)
    for path in (folder / ROWS, folder):
        sync(path)


def _tables(arrow: Any, schema: Any, blocks: Iterable[Block]) -> Iterator[Any]:
    """Yield documents as the columns of their files."""
    start = 0
    for rows, keys, words in blocks:
        leaders = rows["leader"]
        columns = {
            "number": np.arange(start, start + len(rows)),
            "key": keys,
            **columns_of(rows),
            "leader": arrow.array(leaders, mask=leaders == NULL),
            "words": [each or None for each in words],
        }
        yield arrow.table(columns, schema)
        start += len(rows)
