"""Files that are there in full or not at all, also after a loss of power; standard output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dedup.errors import DedupError


def replace_file(new: Path, path: Path) -> None:
    """Give a file its name once all of it is on the disk, in the place of a file that has that name.

    Args:
        new: the file, in the same file system.
        path: its name.
    """
    sync(new)
    new.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def open_output(path: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a file in an encoding, or standard output as it is if it has no name, to write a text to.

    A file appears or changes only when everything is written. When nobody reads standard output any more, as with `|
    head`, the block ends quietly.
    """
    if not path:
        with _standard_output() as stream:
            yield stream
        return
    try:
        with _file(Path(path), encoding) as stream:
            yield stream
    except OSError as error:
        raise DedupError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that does not know a letter is no reason to stop.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes what is left when it ends, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise DedupError(f"cannot write to standard output: {error.strerror or error}") from error


@contextmanager
def _file(path: Path, encoding: str) -> Iterator[TextIO]:
    if path.exists() and not path.is_file():
        # A device or a pipe must not be replaced by a file.
        with path.open("w", encoding=encoding, newline="") as stream:
            yield stream
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("w", encoding=encoding, newline="") as stream:
            yield stream
        replace_file(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
