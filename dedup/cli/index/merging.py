"""`dedup index merge`: one index of several."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path

from dedup.cli.compiling import compile_first
from dedup.corpus.saved.folder import new_index, require_free, require_sums
from dedup.corpus.saved.merging import merge, require_mergeable
from dedup.corpus.saved.reader import SavedIndex


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Make one index of several, without deciding anything anew. Of equal contents that of the first index stands, "
        "under its key; of one key with different contents all stand, since in files a key is a name."
    )
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX", help="folders, made with the same settings")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="INDEX", help="the folder to make")
    parser.add_argument("--force", action="store_true", help="overwrite an index, which may be one of those merged")
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Merge and print how many documents came from where."""
    require_free(options.output, force=options.force)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(SavedIndex(path))) for path in options.indexes]
        require_mergeable(sources)
        for path in options.indexes:
            require_sums(path)
        compile_first("index merge", "files")
        known = stack.enter_context(new_index(options.output, sources[0].settings, force=options.force))
        merged = merge(sources, known)
    if options.json:
        print(json.dumps({"index": str(options.output), "merged": list(map(str, options.indexes)), **asdict(merged)}))
        return 0
    for path, documents, added in zip(options.indexes, merged.documents, merged.added, strict=True):
        print(f"{path}: {added:,} of {documents:,} documents added; the contents of the others were there")
    print(f"{options.output}: {sum(merged.added):,} documents")
    if merged.same_keys:
        print(f"{merged.same_keys:,} of them have the key of another document with another content; all stand")
    return 0
