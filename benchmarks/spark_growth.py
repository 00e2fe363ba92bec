"""`dedup spark` on short documents, ten times as many, and ten times as many again: how its jobs grow."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.spark_runs import figures_of_files, is_same, quality, run_files, run_spark, table

_FEWEST_WORDS, _MOST_WORDS = 30, 60
_VOCABULARY = 200_000
_COPIES = 0.2
_PART = 10_000
_TIMES = 10
_MOST_TIMES = 11


def run(*, small: int = 20_000, steps: int = 3, heap: str = "2g") -> dict[str, Any]:
    """Deduplicate made-up documents of 30 to 60 words, each time ten times as many, and print what it takes.

    Args:
        small: how many they are in the first run.
        steps: how many runs there are.
        heap: memory of Java, as `spark.driver.memory` has it.

    Returns:
        The figures; `failed` says what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if small < 1 or steps < 1:
        raise ValueError("--small and --steps: expected at least 1")
    rows: dict[str, dict[str, Any]] = {}
    failed, job_seconds = [], []
    for n in (small * _TIMES**step for step in range(steps)):
        with TemporaryDirectory(prefix="benchmark-spark-") as name:
            folder = Path(name)
            families = write_short(folder / "in.jsonl", n)
            found = run_spark([folder / "in.jsonl"], folder / "spark", heap)
            rows[f"dedup spark, {n:.0e}"] = found.figures(n) | quality(folder / "spark", families)
            job_seconds.append(found.work.seconds)
            rows[f"dedup files, {n:.0e}"] = figures_of_files(run_files([folder / "in.jsonl"], folder / "files"), n)
            if not is_same(folder / "files", folder / "spark"):
                failed.append(f"{n:,}: other verdicts than those of dedup files")
            print(f"{n:,}: {found.work.seconds:.1f} s in jobs", flush=True)
    growth = [later / earlier for earlier, later in pairwise(job_seconds)]
    if growth and growth[-1] > _MOST_TIMES:
        failed.append(f"jobs take {growth[-1]:.1f} times as long, ten times as many documents")
    print(table(rows))
    print("\n".join(f"{name}: recall {row['recall']:.4f}" for name, row in rows.items() if "recall" in row))
    print(f"ten times as many take so many times as long: {', '.join(f'{each:.1f}' for each in growth)}")
    print("\n".join(failed) or "kept and dropped are those of dedup files")
    return {"runs": rows, "growth": growth, "failed": failed}


def write_short(path: Path, n: int) -> NDArray[np.int64]:
    """Write documents of words by Zipf's law; of five one is a copy of any earlier one without the last word.

    Args:
        path: the file, JSONL.
        n: how many documents.

    Returns:
        For each document the number of the one that it goes back to; its own where it is no copy.
    """
    chance = np.random.default_rng(1)
    sums = np.cumsum(1 / (np.arange(_VOCABULARY) + 2.7))
    families = np.arange(n)
    # As numbers, so that all fit in memory.
    sizes = chance.integers(_FEWEST_WORDS, _MOST_WORDS + 1, n).astype(np.uint8)
    words = np.empty((n, _MOST_WORDS), np.uint32)
    for start in range(0, n, _PART):
        part = words[start : start + _PART]
        part[:] = np.searchsorted(sums, chance.random(part.shape) * sums[-1])
    for number in (1 + np.flatnonzero(chance.random(n - 1) < _COPIES)).tolist():
        original = chance.integers(number)
        families[number], sizes[number] = families[original], sizes[original] - 1
        words[number] = words[original]
    vocabulary = np.array([_word(number) for number in range(_VOCABULARY)], object)
    with path.open("w", encoding="utf-8") as file:
        for number, (row, size) in enumerate(zip(words, sizes.tolist(), strict=True)):
            file.write(json.dumps({"id": str(number), "text": " ".join(vocabulary[row[:size]])}) + "\n")
    return families


def _word(number: int) -> str:
    """Return a word of its own for each number, of letters: digits would make it a number."""
    syllables = "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"
    return "".join(syllables[int(digit)] for digit in str(number))
