"""Compiling ahead what would else be compiled when it is first called: what compiled functions there are is called."""

# What is compiled is imported where it is wanted alone.
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dedup.errors import InputError


def require_compiler(report: Callable[[str], None]) -> None:
    """Refuse to do without the compiler, and say so before anything is compiled.

    Args:
        report: takes a line for the user; it is called once, and only where something is not compiled yet.

    Raises:
        InputError: numba is not installed.
    """
    if find_spec("numba") is None:
        raise InputError("this needs numba, which is not installed: pip install 'scrapy-neardup[corpus]'")
    from dedup.compiled import when_first_compiled

    when_first_compiled(lambda: report("compiling for this machine, once, which takes some 20 seconds"))


def compile_all() -> None:
    """Call all that is compiled."""
    from dedup.files.deciding import CorpusDeduplicator, table_rows
    from dedup.files.document_table import Block, DocumentTable
    from dedup.files.job import Job
    from dedup.files.key_map import Sketches, estimate
    from dedup.files.readers.documents import ReadOptions
    from dedup.files.readers.files import find_files
    from dedup.files.run import run_job
    from dedup.rules.settings import Mode, RuleSettings
    from dedup.rules.shared_shingles import bounds, shared_tokens
    from dedup.signature.analysis import bands_of, find_words
    from dedup.signature.schemes import default_scheme
    from dedup.signature.signature import BANDS, SIGNATURE

    # With a word of Chinese the dictionary is read, too.
    words = find_words("word 1 一", default_scheme())
    bands_of(words)
    bounds(words, words)
    shared_tokens(words, words)
    # As Arrow has them: not to be written to.
    minima, counts = np.frombuffer(bytes(64), np.uint64)[np.newaxis], np.zeros(1, np.uint32)
    sketches = Sketches(minima, counts, counts)
    estimate(sketches, sketches, RuleSettings().limits)
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("w", encoding="utf-8") as nobody:
        folder = Path(name)
        known = DocumentTable(folder)
        known.extend(
            Block(table_rows(np.zeros(1, SIGNATURE), indexed=True), [b"0"], [b""], np.zeros((1, BANDS), np.uint64))
        )
        known.find(bytes(16))
        (folder / "files").mkdir()
        # As with an index to begin with.
        CorpusDeduplicator(RuleSettings(), folder / "files", known=known.blocks(10)).close()
        known.close()
        sample = folder / "sample.jsonl"
        # Copies are found, and their words compared.
        texts = [" ".join(f"word{each}" for each in range(number, number + 60)) for number in (1, 2, 1, 900)]
        sample.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        for mode in Mode:
            run_job(Job(find_files([sample]).files, ReadOptions(), RuleSettings(mode=mode), {}, processes=1), nobody)
