"""Where a report goes: a file that is there in full or not at all, or standard output."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from dedup.errors import DedupError
from dedup.signature.normalise import clean

# What Excel, LibreOffice and Google Sheets take for the beginning of a formula, wide letters too.
_LONE_RETURN = re.compile("\r(?!\n)")
_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a file, or standard output if it has no name, to write a report to.

    A file appears or changes only when everything is written. When nobody reads standard output any more, as with `|
    head`, the block ends quietly.
    """
    if not path:
        with _standard_output() as stream:
            yield stream
        return
    try:
        with _file(Path(path)) as stream:
            yield stream
    except OSError as error:
        raise DedupError(f"cannot write {path}: {error.strerror or error}") from error


def csv_cell(value: object) -> object:
    """Return a value as it may stand in a cell of a CSV file.

    CSV knows no escapes: what would upset a terminal is left out, and a text that a spreadsheet would take for a
    formula has an apostrophe before it.
    """
    if not isinstance(value, str):
        return value
    # Python quotes no carriage return that stands alone, and readers take it for the end of the row.
    text = _LONE_RETURN.sub("\n", clean(value))
    return f"'{text}" if _FORMULA.match(text) else text


def write_json(head: Mapping[str, Any], lists: Mapping[str, Iterable[Mapping[str, Any]]], stream: TextIO) -> None:
    """Write one object: some members, then lists of objects, written while they are read."""
    stream.write(json.dumps(head, indent=1).removesuffix("\n}"))
    for name, objects in lists.items():
        stream.write(f',\n "{name}": [')
        separator = "\n  "
        for each in objects:
            stream.write(separator + json.dumps(each))
            separator = ",\n  "
        stream.write("\n ]")
    stream.write("\n}\n")


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
def _file(path: Path) -> Iterator[TextIO]:
    if path.exists() and not path.is_file():
        # A device or a pipe must not be replaced by a file.
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
