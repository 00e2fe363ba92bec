"""`dedup index info`: what an index consists of."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from dedup.corpus.saved.contents import Contents, read_contents
from dedup.display import plain, unit_for

_LABEL = 14
_CROWDED_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("index", type=Path, metavar="INDEX", help="a folder")
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Print what an index consists of."""
    contents = read_contents(options.index)
    if options.json:
        crowded = [each._asdict() for each in contents.most_crowded]
        print(json.dumps({**asdict(contents), "most_crowded": crowded}, indent=2))
        return 0
    for label, text in _rows(contents):
        print(f"{label:<{_LABEL}}{text}")
    return 0


def _rows(contents: Contents) -> Iterator[tuple[str, str]]:
    yield "index", plain(contents.path)
    yield "format", f"{contents.format}"
    yield "scheme", plain(contents.scheme)
    yield "settings", plain(contents.settings) or "the defaults"
    yield "tables", plain(contents.design)
    of_them = f"{contents.leaders:,} originals, {contents.duplicates:,} duplicates"
    yield "documents", f"{contents.documents:,} of different contents: {of_them}; words of {contents.with_words:,}"
    yield "keys", f"{contents.keys:,} different ones of {contents.indexed:,} documents"
    yield from _crowded_rows(contents)
    each = ", ".join(f"{name} {_bytes(size)}" for name, size in contents.files.items())
    yield "bytes", f"{_bytes(sum(contents.files.values()))}: {plain(each)}"


def _crowded_rows(contents: Contents) -> Iterator[tuple[str, str]]:
    bound = f"more than {contents.most_read} documents, the earliest of which are read"
    yield "crowded", f"{contents.crowded:,} keys of {bound}" if contents.crowded else f"none: no key of {bound}"
    for key in contents.most_crowded[:_CROWDED_NAMED]:
        yield "", f"{key.kind} {key.number} = {key.value:x}: {key.documents:,} documents"


def _bytes(size: int) -> str:
    unit, factor = unit_for(size)
    return f"{size / factor:,.0f} {unit}"
