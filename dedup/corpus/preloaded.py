"""Modules that worker processes for lines share; see `dedup.workers.preloaded`."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

from dedup.workers.loading import keep_freed_memory, keep_single_threaded, without_collections

keep_single_threaded()
keep_freed_memory()
with without_collections():
    import dedup.corpus.chains  # noqa: F401 -- what the same workers do behind it
    from dedup.corpus.portion import Wanted, read_lines
    from dedup.readers.documents import ReadOptions
    from dedup.readers.files import find_files
    from dedup.readers.jsonl import find_line_ranges
    from dedup.rules.settings import RuleSettings

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "line.jsonl"
        path.write_text('{"text": "word 1"}\n', encoding="utf-8")
        [file] = find_files([path]).files
        for lines in find_line_ranges(file, 0, ReadOptions()):
            # What a first text takes, such as tables of characters, is made once.
            read_lines(lines, Path(name), 0, Wanted.of_words(RuleSettings(), records=True))
    gc.freeze()
