"""What is compiled together: parts, each with samples that call all of it."""

# What is compiled is imported by the process that compiles it alone.
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """What is compiled together.

    Attributes:
        about: what it is needed for, for a message.
        seconds: about how long it takes on a core of today with nothing else to do.
        compile: calls all of it.
    """

    about: str
    seconds: int
    compile: Callable[[], None]


def _compile_signatures() -> None:
    from dedup.signature.signature import make_signature

    # With a word of Chinese the dictionary is read, too.
    make_signature("word 1 一")


def _compile_near() -> None:
    import numpy as np

    from dedup.corpus.saved.querying import find_near
    from dedup.index.memory.index import DESIGN, MemoryIndex
    from dedup.index.probes import ProbePlan
    from dedup.rules.settings import RuleSettings
    from dedup.rules.verification import plan_of

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        MemoryIndex(ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)).save(path)
        list(find_near(path, None, [0, 1], radius=3, limit=1))
        MemoryIndex.open(path, plan_of(RuleSettings())).query(0, np.zeros(64, np.int64))


def _compile_files() -> None:
    from dedup.corpus.job.job import Job
    from dedup.corpus.job.run import run_job
    from dedup.corpus.reading.documents import ReadOptions
    from dedup.corpus.reading.files import find_files
    from dedup.rules.settings import RuleSettings

    _decide_any_signatures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample, index = folder / "sample.jsonl", folder / "index"
        lines = [
            json.dumps({"id": f"{number}", "text": text}, ensure_ascii=number % 2 == 0)
            for number, text in enumerate(_sample())
        ]
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        job = Job(find_files([sample]).files, ReadOptions(), RuleSettings(), {}, folder / "state", processes=1)
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            for each in (job, replace(job, save_index=index), replace(job, against=index)):
                run_job(each, nobody)


def _compile_spark() -> None:
    import numpy as np

    from dedup.corpus.deciding.chunk import Chunk
    from dedup.corpus.deciding.known import ROW
    from dedup.rules.settings import RuleSettings

    ids = np.arange(2)
    rows = np.zeros(len(ids), ROW)
    rows["shingles"] = rows["tokens"] = 100
    Chunk(RuleSettings(), ids, rows).find(ids, rows, np.zeros((len(ids), 64), np.int64))


def _decide_any_signatures() -> None:
    """Call what decides by itself: what makes signatures is compiled by another process meanwhile."""
    import numpy as np

    from dedup.corpus.deciding.deciding import CorpusDeduplicator
    from dedup.corpus.reading.documents import CorpusDocument, Position
    from dedup.corpus.signing.batches import Entries, Signatures, SignedBatch
    from dedup.corpus.signing.signed import SIGNED
    from dedup.rules.settings import RuleSettings

    count = 100
    rows = np.frombuffer(np.random.default_rng(1).bytes(count * SIGNED.itemsize), SIGNED).copy()
    rows["shingles"], rows["tokens"], rows["margins"] = 98, 100, 5
    # Of every other text a copy.
    for name in ("fingerprint", "minima"):
        rows[name][1::2] = rows[name][::2]
    documents = [CorpusDocument(f"{number}", "", None, "", Position(0, number, 0), b"") for number in range(count)]
    batch = SignedBatch(Entries.of(documents), Signatures(rows, [], {}, {}), documents)
    with tempfile.TemporaryDirectory() as folder, closing(CorpusDeduplicator(RuleSettings(), Path(folder))) as known:
        known.decide(batch)


def _sample() -> Iterator[str]:
    """Yield texts of all lengths and of both kinds of scripts, some of them copies of others in part."""
    chance = random.Random(1)
    words, characters = [f"word{number}" for number in range(2000)], "天地玄黄宇宙洪荒日月盈昃中国人民大学生活动物"
    for length in (5, 30, 60, 200, 800):
        for _ in range(20):
            text = [chance.choice(words) for _ in range(length)]
            for changed in (0, 0, 1, length // 40, length // 10):
                for _ in range(changed):
                    text[chance.randrange(length)] = chance.choice(words)
                yield " ".join(text)
            yield "".join(chance.choice(characters) for _ in range(length))


PARTS = {
    "signatures": Part("signatures", 8, _compile_signatures),
    "files": Part("what `dedup files` needs", 13, _compile_files),
    "near": Part("look-ups of fingerprints", 7, _compile_near),
    "spark": Part("what `dedup spark` needs besides", 8, _compile_spark),
}
"""What can be compiled ahead, by name."""
