"""`dedup index export`: an index as JSONL or Parquet."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from dedup.corpus.saved.exporting import export
from dedup.corpus.saved.folder import require_sums
from dedup.corpus.saved.reader import SavedIndex
from dedup.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Write an index as rows: key, digest, fingerprint, sketch, leader, words. `dedup index import` makes the same "
        "index of them."
    )
    parser.add_argument("index", type=Path, metavar="INDEX", help="a folder")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".jsonl or .parquet")
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def run(options: argparse.Namespace) -> int:
    """Export an index."""
    if options.output.exists() and not options.force:
        raise InputError(f"{options.output}: is there already; write elsewhere, or give --force to overwrite it")
    with closing(SavedIndex(options.index)) as saved:
        require_sums(options.index)
        count = export(saved, options.output)
    print(f"{options.output}: {count:,} documents")
    return 0
