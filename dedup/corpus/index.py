"""A saved index: what its columns are, and how it is read; `dedup.corpus.index_writing` writes it.

It is a folder of Parquet, which `--on spark` writes and adds to as well. Below `rows` are its documents, of different
contents, by rising numbers that may have gaps; below `about` a row that says how they were decided.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.parts import DOCUMENT, NULL, stored_document
from dedup.corpus.tally import about_settings
from dedup.errors import IndexFileError, InputError, SettingsError
from dedup.readers.streams import first_line, load_pyarrow, parquet_damage
from dedup.rules.documents import StoredDocument
from dedup.rules.settings import RuleSettings
from dedup.signature.dictionaries import NO_OTHER_DICTIONARY
from dedup.signature.schemes import scheme_named
from dedup.signature.signature import BANDS, digest

FORMAT = 4

COLUMNS = {
    "number": "int64",
    "key": "string",
    "low": "int64",
    "high": "int64",
    "fingerprint": "int64",
    "minima": "binary",
    "tokens": "int64",
    "shingles": "int64",
    "leader": "int64",
    "indexed": "bool",
    "bands": "binary",
    "words": "binary",
}
"""The columns of the documents, and their types as Arrow names them.

`low` and `high` are the halves of the content's digest; what is unsigned elsewhere has the same bits here. `leader` is
the number of a document before, null where it leads itself; `indexed` says whether it can be found by its keys; `words`
are deflated, as a signature has them, null where they are not kept.
"""

ROWS = "rows"
"""The folder of the documents."""

FROM = "from"
"""Those that were written together are in a folder of it, `from=N`, by the number of the first of them."""

COMPLETE = "_SUCCESS"
"""The file that is written into such a folder last."""

ABOUT = "about"
"""The folder of the row about all, and its only column."""

ROW_GROUP_BYTES = 1 << 23
"""About so many are read where a single document is looked at."""

AT_ONCE = 4096
"""So many documents are in memory where all are gone through, and in a row group."""

Keyed = tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]
"""Places, fingerprints and bands of documents."""

_MAY_BE_NULL = ("leader", "words")
_WIDTHS = {"minima": 64, "bands": 8 * BANDS}
_COUNTS = ("tokens", "shingles")
_MOST_COUNTED = 1 << 32


def write_about(settings: RuleSettings) -> str:
    """Return what is said of all documents of an index."""
    return json.dumps({"format": FORMAT, "settings": about_settings(settings)})


def read_about(source: str, text: str) -> tuple[dict[str, str], RuleSettings]:
    """Return the settings that an index was made with, as `about_settings` writes them, and as they are.

    Args:
        source: the index, for messages.
        text: what `write_about` returned.

    Raises:
        InputError: it is of another version, or of a scheme that this one does not know.
        IndexFileError: it is something else.
    """
    try:
        about = json.loads(text)
        version, named = about["format"], about["settings"]
        if version != FORMAT:
            raise InputError(f"{source}: an index of format {version!r}, and this version reads {FORMAT}; rebuild it")
        return named, _settings_of(named)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(source, f"its settings cannot be read ({type(error).__name__}: {error})") from None
    except SettingsError as error:
        raise InputError(f"{source}: its settings cannot be used: {error}") from None


def no_index(source: Path | str) -> InputError:
    """Return what is said of anything else than an index."""
    made = "pass a folder that `dedup index build` or --save-index made, and rebuild those of earlier versions"
    return InputError(f"{source}: not an index; {made}")


def not_complete(folder: Path | str) -> InputError:
    """Return what is said of a folder of documents that was not written to the end."""
    return InputError(f"{folder}: incomplete; rerun the command that wrote it, or remove the folder")


def damaged(source: Path | str, reason: str) -> IndexFileError:
    """Return what is said of a damaged index."""
    return IndexFileError(f"{source}: damaged index, {reason}: rebuild it or restore a copy")


class Block(NamedTuple):
    """Documents that follow each other, as an index has them.

    Attributes:
        rows: of the type `dedup.corpus.parts.DOCUMENT`; what says where a document stands means nothing.
        keys: what each is called, in UTF-8.
        words: the words of each, deflated; nothing where they were not kept.
    """

    rows: NDArray[Any]
    keys: list[bytes]
    words: list[bytes]


class _Part(NamedTuple):
    """A file of documents: where it is, what its footer says, and how many documents come before it."""

    path: Path
    metadata: Any
    start: int


class SavedIndex:
    """The documents of a saved index by their places, from 0; nothing is read that is not asked for.

    What is read is checked: pages by their checksums, and that one document fits to those before it.

    Args:
        folder: where it is.

    Attributes:
        folder: where it is.
        named_settings: the settings that it was made with, as `about_settings` of
            `dedup.corpus.tally` writes them.
        settings: the same.
        files: the files of its documents.

    Raises:
        InputError: there is no index, or one of another version, or it was not written to the end.
        IndexFileError: something of it is missing or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        if not is_index(folder):
            raise no_index(folder)
        self.folder = folder
        self._arrow = load_pyarrow(str(folder))
        texts: list[str] = []
        for path in sorted((folder / ABOUT).glob("*.parquet")):
            texts += self._read(path, lambda file: file.read([ABOUT]).column(0).to_pylist())
        if len(texts) != 1:
            raise no_index(folder)
        self.named_settings, self.settings = read_about(str(folder), texts[0])
        found = sorted(self._parts_of(sorted((folder / ROWS).glob(f"{FROM}=*"))))
        self.files = [path for _, path, _ in found]
        self._parts: list[_Part] = []
        self._count = 0
        for _, path, metadata in found:
            self._parts.append(_Part(path, metadata, self._count))
            self._count += metadata.num_rows

    def __len__(self) -> int:
        """How many documents there are."""
        return self._count

    @property
    def identity(self) -> bytes:
        """The digest of names, sizes and times of its files: another index has another."""
        states = [(str(path.relative_to(self.folder)), path.stat()) for path in self.files]
        return digest(json.dumps([(name, state.st_size, state.st_mtime_ns) for name, state in states]).encode())

    def blocks(self) -> Iterator[Block]:
        """Yield all documents, some at a time; a leader is the place of one before, which leads itself.

        Raises:
            IndexFileError: something is not what it should be.
        """
        leads = np.empty(len(self), np.bool_)
        for start, batch in self.batches(COLUMNS):
            rows = self._rows(start, batch)
            has_leader = rows["leader"] != NULL
            leads[start : start + len(batch)] = ~has_leader
            if not leads[rows["leader"][has_leader]].all():
                raise self._damaged("a leader is led by another document")
            keys = batch.column("key").cast(self._arrow.binary()).to_pylist()
            words = [each or b"" for each in batch.column("words").to_pylist()]
            rows["bands"] = bits_of(batch.column("bands"))
            yield Block(rows, keys, words)

    def documents(self) -> Iterator[tuple[StoredDocument, bytes]]:
        """Yield all documents, each with its deflated words, nothing where they were not kept."""
        place = 0
        for block in self.blocks():
            for row, key, words in zip(block.rows, block.keys, block.words, strict=True):
                yield stored_document(place, row, key.decode(), row["leader"]), words
                place += 1

    def keyed(self) -> Iterator[Keyed]:
        """Yield places, fingerprints and bands of the documents that can be found by their keys, some at a time."""
        for start, batch in self.batches(("fingerprint", "indexed", "bands")):
            found = np.flatnonzero(_longs(batch, "indexed"))
            fingerprints = _longs(batch, "fingerprint").view(np.uint64)
            yield start + found, fingerprints[found], bits_of(batch.column("bands"))[found]

    def stored(self, place: int) -> StoredDocument:
        """Return a document as the rules for verdicts want it.

        Raises:
            IndexFileError: it is damaged.
        """
        batch = self._row(place, [name for name in COLUMNS if name not in {"bands", "words"}])
        [row] = self._rows(place, batch)
        return stored_document(place, row, batch.column("key")[0].as_py(), row["leader"])

    def key(self, place: int) -> str:
        """Return what a document is called."""
        key: str = self._row(place, ["key"]).column("key")[0].as_py()
        return key

    def words(self, place: int) -> bytes:
        """Return the words of a document; nothing where they were not kept.

        Raises:
            IndexFileError: they are damaged.
        """
        deflated = self._row(place, ["words"]).column("words")[0].as_py()
        try:
            words = zlib.decompress(deflated) if deflated else b""
            # Whoever compares words takes them as they are.
            words.decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise self._damaged(f"the words of document {place:,} cannot be read ({error})") from None
        return words

    def batches(self, columns: Collection[str]) -> Iterator[tuple[int, Any]]:
        """Yield some columns of all documents as a `pyarrow.RecordBatch`, each with the place of its first one."""
        for part in self._parts:
            start = part.start
            with self._explained(part.path), self._opened(part.path, part.metadata) as file:
                for batch in file.iter_batches(AT_ONCE, columns=list(columns)):
                    yield start, self._checked(batch)
                    start += len(batch)
            if start != part.start + part.metadata.num_rows:
                raise self._damaged(f"{part.path.name} has other documents than it says")

    def _row(self, place: int, columns: list[str]) -> Any:
        """Return columns of one document, of the row group that it is in."""
        part = self._parts[bisect_right(self._parts, place, key=lambda each: each.start) - 1]
        group, left = 0, place - part.start
        while left >= (count := part.metadata.row_group(group).num_rows):
            group, left = group + 1, left - count
        read = self._read(part.path, lambda file: file.read_row_group(group, columns), part.metadata)
        return self._checked(read.slice(left, 1).combine_chunks().to_batches()[0])

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """The numbers of all documents, by their places."""
        numbers = np.empty(len(self), np.int64)
        for start, batch in self.batches(["number"]):
            numbers[start : start + len(batch)] = _longs(batch, "number")
        if (numbers[1:] <= numbers[:-1]).any():
            raise self._damaged("its documents are not in the order of their numbers")
        return numbers

    def _rows(self, start: int, batch: Any) -> NDArray[Any]:
        """Return documents as rows of the type `DOCUMENT`, the first of them by its place."""
        rows = rows_of(batch)
        rows["leader"] = self._leaders(batch.column("leader"))
        if (rows["leader"] >= np.arange(start, start + len(batch))).any():
            raise self._damaged("a document is led by one that is not before it")
        return rows

    def _leaders(self, column: Any) -> NDArray[np.int64]:
        """Return the places of leaders, by their numbers; `NULL` where there are none."""
        has_leader = column.is_valid().to_numpy(zero_copy_only=False)
        wanted = column.fill_null(0).to_numpy()[has_leader]
        places = np.searchsorted(self._numbers, wanted)
        if (self._numbers[np.minimum(places, len(self) - 1)] != wanted).any():
            raise self._damaged("a document is led by one that is not there")
        leaders = np.full(len(column), NULL)
        leaders[has_leader] = places
        return leaders

    def _checked(self, batch: Any) -> Any:
        """Refuse what no document has."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count and name not in _MAY_BE_NULL:
                raise self._damaged(f"a document has no {name}")
            if name == "key":
                # The library takes any bytes for text.
                with self._explained(self.folder / ROWS):
                    column.validate(full=True)
            if name in _WIDTHS and any(len(each) != _WIDTHS[name] for each in column.to_pylist()):
                raise self._damaged(f"{name} have not {_WIDTHS[name]} bytes")
            if name in _COUNTS and ((counts := _longs(batch, name)) != np.clip(counts, 0, _MOST_COUNTED - 1)).any():
                raise self._damaged(f"{name} are no number of them")
        return batch

    def _parts_of(self, folders: Iterable[Path]) -> Iterator[tuple[int, Path, Any]]:
        """Yield the files with documents, each behind the number of its first one, and with its footer."""
        for folder in folders:
            if not (folder / COMPLETE).exists():
                raise not_complete(folder)
            paths = sorted(folder.glob("*.parquet"))
            if not paths:
                raise self._damaged(f"{folder.name} has no file")
            for path in paths:
                schema, metadata, first = self._read(path, _beginning_of)
                if any(schema.get(name) != kind for name, kind in COLUMNS.items()):
                    raise self._damaged(f"{path.name} has other columns")
                groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
                if sum(groups) != metadata.num_rows or min(groups, default=0) < 0:
                    raise self._damaged(f"{path.name} says of itself what cannot be")
                if metadata.num_rows:
                    yield first, path, metadata

    def _read(self, path: Path, read: Any, metadata: Any = None) -> Any:
        """Return what a function returns of a file."""
        with self._explained(path), self._opened(path, metadata) as file:
            return read(file)

    def _opened(self, path: Path, metadata: Any = None) -> Any:
        # Without pre-buffering: otherwise all of a row group is in memory at once.
        return self._arrow.parquet.ParquetFile(
            path, metadata=metadata, pre_buffer=False, page_checksum_verification=True
        )

    @contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        """Turn what reading a file raises into one line that says what is wrong with it."""
        try:
            yield
        except parquet_damage(self._arrow) as error:
            raise self._damaged(f"{path.name} cannot be read ({first_line(error)})") from None

    def _damaged(self, reason: str) -> IndexFileError:
        return damaged(self.folder, reason)


def _longs(batch: Any, name: str) -> NDArray[np.int64]:
    longs: NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
    return longs


def _beginning_of(file: Any) -> tuple[dict[str, str], Any, int]:
    """Return the columns of a file with their types, its footer, and the number of its first document."""
    schema = {field.name: str(field.type) for field in file.schema_arrow}
    batch = next(file.iter_batches(1, columns=["number"]), None) if "number" in schema else None
    first = batch.column(0)[0].as_py() if batch else None
    # Whoever reads all numbers says what is wrong with them.
    return schema, file.metadata, first if isinstance(first, int) else -1


def is_index(folder: Path) -> bool:
    """Return whether a folder looks like an index."""
    return (folder / ABOUT).is_dir() and (folder / ROWS).is_dir()


def _settings_of(named: Mapping[str, str]) -> RuleSettings:
    """Return settings; the opposite of `dedup.corpus.tally.about_settings`."""
    values: dict[str, Any] = {name: named[name] for name in RuleSettings.names() if name in named}
    values |= {"scheme": scheme_named(named["scheme"]).spec, "dictionary": NO_OTHER_DICTIONARY}
    return RuleSettings(**values)


def columns_of(rows: NDArray[Any]) -> dict[str, Any]:
    """Return rows of the type `DOCUMENT` as columns of an index, without leaders, which are numbers there."""
    return {
        "low": rows["digest"][:, 0].view(np.int64),
        "high": rows["digest"][:, 1].view(np.int64),
        "fingerprint": rows["fingerprint"].view(np.int64),
        "minima": byte_strings(rows["minima"]),
        "tokens": rows["tokens"].astype(np.int64),
        "shingles": rows["shingles"].astype(np.int64),
        "indexed": rows["indexed"].astype(np.bool_),
        "bands": byte_strings(rows["bands"]),
    }


def rows_of(batch: Any) -> NDArray[Any]:
    """Return columns of an index, at least one row, as rows of the type `DOCUMENT`; each leads itself there."""
    rows = np.zeros(len(batch), DOCUMENT)
    rows["leader"] = NULL
    rows["digest"] = np.stack([_longs(batch, name) for name in ("low", "high")], axis=1).view(np.uint64)
    rows["fingerprint"] = _longs(batch, "fingerprint").view(np.uint64)
    rows["minima"] = bits_of(batch.column("minima"))
    for name in ("indexed", *_COUNTS):
        rows[name] = _longs(batch, name)
    return rows


def byte_strings(numbers: NDArray[np.uint64]) -> list[bytes]:
    """Return each row of an array of shape (n, m) as bytes."""
    joined = np.ascontiguousarray(numbers, "<u8")
    strings: list[bytes] = joined.view(f"V{joined.itemsize * joined.shape[1]}").ravel().tolist()
    return strings


def bits_of(column: Any) -> NDArray[np.uint64]:
    """Return what `byte_strings` does, as a column of at least one row, as rows of numbers of 64 bits again."""
    return np.frombuffer(b"".join(column.to_pylist()), "<u8").reshape(len(column), -1)
