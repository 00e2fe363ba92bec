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
_CROWDS_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("index", type=Path, metavar="INDEX", help="a folder, or a file of a MemoryIndex")
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Print what an index consists of."""
    contents = read_contents(options.index)
    if options.json:
        crowds = [crowd._asdict() for crowd in contents.crowds]
        print(json.dumps({**asdict(contents), "crowds": crowds}, indent=2))
        return 0
    for label, text in _rows(contents):
        print(f"{label:<{_LABEL}}{text}")
    return 0


def _rows(contents: Contents) -> Iterator[tuple[str, str]]:
    yield "index", plain(contents.path)
    folder = "" if contents.format is None else f"{contents.format}, of the fingerprints "
    yield "format", f"{folder}{contents.file_format}"
    yield "scheme", plain(contents.scheme)
    documents = contents.documents
    if documents is not None:
        yield "settings", plain(documents.settings) or "the defaults"
        of_them = f"{documents.leaders:,} originals, {documents.duplicates:,} duplicates"
        yield "documents", f"{documents.count:,} of different contents: {of_them}; words of {documents.with_words:,}"
    yield "fingerprints", f"{contents.fingerprints:,} different ones of {contents.indexed:,} documents"
    shared = f"{contents.shared:,} by several documents, up to {contents.most_shared:,}" if contents.shared else "none"
    yield "shared", shared
    yield "tables", plain(contents.design)
    yield from _crowd_rows(contents)
    total = sum(contents.files.values())
    each = ", ".join(f"{Path(name).name} {_bytes(size)}" for name, size in contents.files.items())
    yield "bytes", f"{_bytes(total)}: {plain(each)}"


def _crowd_rows(contents: Contents) -> Iterator[tuple[str, str]]:
    if not contents.crowds:
        yield "skew", "none: no value of a block swallows a 64th of the fingerprints, and 4,096 of them"
    for number, crowd in enumerate(contents.crowds[:_CROWDS_NAMED]):
        text = f"block {crowd.table} = {crowd.value:04x} swallows {crowd.fingerprints:,}, {crowd.share:.1%} of all"
        yield "skew" if number == 0 else "", text
    if len(contents.crowds) > _CROWDS_NAMED:
        yield "", f"and {len(contents.crowds) - _CROWDS_NAMED:,} more values"


def _bytes(size: int) -> str:
    unit, factor = unit_for(size)
    return f"{size / factor:,.0f} {unit}"
