"""`dedup index verify`: is an index whole?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dedup.cli.compiling import compile_first
from dedup.corpus.saved.verifying import verify
from dedup.display import plain
from dedup.errors import IndexFileError, InputError, exit_status
from dedup.warming import SIGNATURES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Read all of an index and check it: lengths, checksums, order, and what one file says of another. "
        "The exit status is 1 if one is damaged, 2 if one is no index."
    )
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX", help="folders")


def run(options: argparse.Namespace) -> int:
    """Check indexes, each in one line; the status is 1 if one is damaged, else 2 if one is no index."""
    compile_first("index verify", *SIGNATURES)
    found: set[int] = set()
    for path in options.indexes:
        try:
            documents = verify(path)
        except (IndexFileError, InputError) as error:
            print(f"error: {plain(str(error))}", file=sys.stderr)
            found.add(exit_status(error))
        else:
            print(f"{path}: whole, {documents:,} documents")
    return min(found, default=0)
