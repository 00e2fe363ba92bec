"""What is compiled together: parts, each with samples that call all of it."""

# What is compiled is imported by the process that compiles it alone.
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """What is compiled together.

    Attributes:
        about: what it is needed for, for a message.
        functions: how many it has that no part before it has.
        compile: calls all of it.
    """

    about: str
    functions: int
    compile: Callable[[], None]


def _compile_signatures() -> None:
    from dedup.rules.shared_shingles import bounds, shared_tokens
    from dedup.signature.batch import bands_of_words
    from dedup.signature.signature import make_signature

    # With a word of Chinese the dictionary is read, too.
    words = make_signature("word 1 一").words
    bands_of_words(words)
    bounds(words, words)
    shared_tokens(words, words)


def _compile_files() -> None:
    from dedup.corpus.deciding import CorpusDeduplicator
    from dedup.corpus.document_table import DocumentTable
    from dedup.corpus.job import Job
    from dedup.corpus.reading.documents import ReadOptions
    from dedup.corpus.reading.files import find_files
    from dedup.corpus.run import run_job
    from dedup.rules.settings import RuleSettings
    from dedup.signature.sketch import Sketch

    _decide_any_signatures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(DocumentTable(folder)) as known:
            known.add("0", bytes(16), 0, Sketch(bytes(64), 0, 0, 0), words=b"", leader=None, indexed=True)
            known.find(bytes(16))
            lengths = known.checkpoint()
        # As with an index to begin with.
        CorpusDeduplicator(RuleSettings(), folder, lengths).close()
        sample = folder / "sample.jsonl"
        lines = [json.dumps({"id": f"{number}", "text": f"word {number}"}) for number in range(10)]
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        job = Job(find_files([sample]).files, ReadOptions(), RuleSettings(), {}, folder / "state", processes=1)
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            run_job(job, nobody)


def _decide_any_signatures() -> None:
    """Call what decides by itself: what makes signatures is compiled by another process meanwhile."""
    import numpy as np

    from dedup.corpus.batches import Batch, Signatures
    from dedup.corpus.deciding import CorpusDeduplicator
    from dedup.corpus.reading.documents import CorpusDocument, Position
    from dedup.rules.settings import Mode, RuleSettings
    from dedup.signature.batch import SIGNATURE
    from dedup.signature.deflating import deflate

    count = 100
    rows = np.frombuffer(np.random.default_rng(1).bytes(count * SIGNATURE.itemsize), SIGNATURE).copy()
    rows["shingles"], rows["tokens"] = 98, 100
    # Of every other text a copy.
    for name in ("fingerprint", "minima", "bands"):
        rows[name][1::2] = rows[name][::2]
    documents = [CorpusDocument(f"{number}", "", None, "", Position(0, number, 0), b"") for number in range(count)]
    # So few words are compared without the compiler.
    words = [deflate(b"word")] * count
    batch = Batch.of(documents, Signatures(rows, np.full(count, 600), words, {}, {}))
    for mode in Mode:
        with (
            tempfile.TemporaryDirectory() as name,
            closing(CorpusDeduplicator(RuleSettings(mode=mode), Path(name))) as known,
        ):
            known.decide(batch)


PARTS = {
    "signatures": Part("signatures", 13, _compile_signatures),
    "files": Part("what `dedup files` needs", 7, _compile_files),
}
"""What can be compiled ahead, by name."""
