"""All documents of a corpus, one file behind the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

from dedup.readers.documents import CorpusDocument, CorpusFile, Item, Position, ReadOptions, Rejected
from dedup.readers.files import find_files
from dedup.readers.jsonl import LineRange, find_line_ranges
from dedup.readers.streams import is_url, why_damaged

_MOST_BYTES = 1 << 20
_MOST_PAGES = 64
MOST_ITEMS = 1 << 13

Reader = Callable[[CorpusFile, int, ReadOptions], Iterator[Item]]
"""Reads one file; see `dedup.readers.files`."""


def read_documents(inputs: Sequence[str | Path], options: ReadOptions | None = None) -> Iterator[Item]:
    """Read all documents that some arguments name, in an order that depends on nothing but names.

    Args:
        inputs: files and folders.
        options: how documents are found in what files hold.

    Returns:
        An iterator over documents and what could not be read as one.

    Raises:
        InputError: an input cannot be read. Raised at once, not when the iterator gets there.
    """
    return read_files(find_files(inputs).files, options)


def read_files(files: Iterable[CorpusFile], options: ReadOptions | None = None) -> Iterator[Item]:
    """Read all documents of files that were found and checked before; see `read_documents`."""
    return _read_all(enumerate(files), options or ReadOptions())


def read_portions(files: Sequence[CorpusFile], options: ReadOptions) -> Iterator[list[Item] | LineRange]:
    """Read as `read_files` does, in portions to be signed; of lines that any process can read say only where they are.

    Args:
        files: the files.
        options: how documents are found in them.
    """
    for are_lines, some in groupby(enumerate(files), lambda each: has_ranges(each[1])):
        if not are_lines:
            yield from gather(_read_all(some, options))
            continue
        for number, file in some:
            try:
                yield from find_line_ranges(file, number, options)
            except OSError as error:
                yield [_unreadable(file, number, error)]


def gather(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Gather what was read, as much as is signed at once."""
    portion: list[Item] = []
    size = pages = 0
    for item in items:
        portion.append(item)
        if isinstance(item, CorpusDocument):
            size += len(item.html or item.text or "")
            pages += item.html is not None
        if size >= _MOST_BYTES or pages >= _MOST_PAGES or len(portion) >= MOST_ITEMS:
            yield portion
            portion, size, pages = [], 0, 0
    if portion:
        yield portion


def first_documents(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield what was read, up to a number of documents."""
    for item in items:
        if isinstance(item, CorpusDocument):
            count -= 1
        if count < 0:
            return
        yield item


def _read_all(files: Iterable[tuple[int, CorpusFile]], options: ReadOptions) -> Iterator[Item]:
    for number, file in files:
        yield from read_file(file, number, options)


def read_file(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read the documents of a file; see `read_documents`.

    Args:
        file: the file.
        number: its number in the corpus.
        options: how documents are found in it.
    """
    try:
        yield from _reader(file)(file, number, options)
    except OSError as error:
        yield _unreadable(file, number, error)


def has_ranges(file: CorpusFile) -> bool:
    """Return whether any process can read any lines of a file, see `LineRange`."""
    return file.format == "jsonl" and not file.compression and not is_url(file.path)


def _reader(file: CorpusFile) -> Reader:
    read: Reader = import_module(f"dedup.readers.{file.format}").read
    return read


def _unreadable(file: CorpusFile, number: int, error: OSError) -> Rejected:
    # It was there when all were checked.
    return Rejected(file.name, Position(number, 0, file.size), why_damaged(error))
