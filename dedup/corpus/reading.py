"""All documents of a corpus, one file behind the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from dedup.corpus.documents import CorpusDocument, Position, ReadOptions, Rejected
from dedup.corpus.files import CorpusFile, find_files
from dedup.corpus.readers.streams import why_damaged


def read_documents(
    inputs: Sequence[str | Path], options: ReadOptions | None = None, start_after: Position | None = None
) -> Iterator[CorpusDocument | Rejected]:
    """Read all documents that some arguments name, in an order that depends on nothing but names.

    Args:
        inputs: files and folders.
        options: how documents are found in what files hold.
        start_after: the position of the last document or rejected thing of an earlier reading of the
            same files; None: from the beginning.

    Returns:
        An iterator over documents and what could not be read as one.

    Raises:
        InputError: an input cannot be read. Raised at once, not when the iterator gets there.
    """
    return read_files(find_files(inputs).files, options, start_after)


def read_files(
    files: Sequence[CorpusFile], options: ReadOptions | None = None, start_after: Position | None = None
) -> Iterator[CorpusDocument | Rejected]:
    """Read all documents of files that were found and checked before; see `read_documents`."""
    options = options or ReadOptions()
    first = 0 if start_after is None else start_after.file
    for number, file in enumerate(files[first:], first):
        after = start_after if start_after is not None and number == start_after.file else None
        try:
            yield from import_module(f"dedup.corpus.readers.{file.format}").read(file, number, options, after)
        except OSError as error:
            # It was there when all were checked.
            yield Rejected(file.name, Position(number, 0, file.size), why_damaged(error))
