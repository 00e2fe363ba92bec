"""`dedup index import`: an index of what was exported."""

from __future__ import annotations

import argparse
from pathlib import Path

from dedup.cli.compiling import compile_first
from dedup.corpus.saved.export_reader import Exported
from dedup.corpus.saved.exporting import add_rows
from dedup.corpus.saved.folder import new_index, require_free


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="what `dedup index export` wrote, .jsonl or .parquet, or the folder of an index that Spark wrote",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="INDEX", help="the folder to make")
    parser.add_argument("--force", action="store_true", help="overwrite an index")


def run(options: argparse.Namespace) -> int:
    """Import an index."""
    require_free(options.output, force=options.force)
    exported = Exported(options.file)
    compile_first("index import", "files")
    with new_index(options.output, exported.about.settings, force=options.force) as known:
        count = add_rows(exported, known)
    print(f"{options.output}: {count:,} documents")
    return 0
