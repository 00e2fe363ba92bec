"""`dedup spark` beside `dedup files`: verdicts, quality, seconds, memory, what is shuffled, and how it grows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.files import write_corpus
from benchmarks.spark_runs import PLAIN, SparkRun, figures_of_files, is_same, quality, run_files, run_spark, table

# Spark broadcasts what it takes for less than 10 MB: a task returns it, and tables of it are some times larger.
# Else tasks return metrics, and of some a row of counts.
_MOST_RETURNED = 10 << 20
_MOST_BROADCAST = 64 << 20
_MORE_MEMORY = 1.2


def run(*, n: int = 200_000, small: int = 20_000, heap: str = "2g") -> dict[str, Any]:
    """Deduplicate made-up documents with planted copies, and print what it takes.

    Args:
        n: how many documents.
        small: how many they are in the run that says how the costs grow.
        heap: memory of Java, as `spark.driver.memory` has it.

    Returns:
        The figures; `failed` names what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if not 0 < small < n:
        raise ValueError("--n and --small: expected at least 1, and more in the first")
    with TemporaryDirectory(prefix="benchmark-spark-") as name:
        folder = Path(name)
        many, few = folder / "many.jsonl", folder / "few.jsonl"
        write_corpus(few, small)
        families = write_corpus(many, n)
        files = run_files([many], folder / "files")
        runs = {
            "small": run_spark([few], folder / "small", heap),
            "default": run_spark([many], folder / "default", heap),
            "plain": run_spark([many], folder / "plain", heap, PLAIN),
        }
        same = {name: is_same(folder / "files", runs[name].output) for name in ("default", "plain")}
        found = quality(folder / "default", families)
    rows = {
        "dedup files": figures_of_files(files, n),
        "dedup spark, small": runs["small"].figures(small),
        "dedup spark": runs["default"].figures(n),
        "no AQE, no broadcast": runs["plain"].figures(n),
    }
    growth = runs["default"].work.seconds / runs["small"].work.seconds
    memory = runs["plain"].usage.peak_bytes / runs["default"].usage.peak_bytes
    failed = [f"{name}: other verdicts than those of dedup files" for name, is_equal in same.items() if not is_equal]
    failed += [f"{name}: {reason}" for name, each in runs.items() for reason in _wrong(each)]
    if memory > _MORE_MEMORY:
        failed.append(f"plain: takes {memory:.2f} times the memory")
    print(table(rows))
    print(
        f"\nprecision {found['precision']:.4f}, recall {found['recall']:.4f}; {n / small:.1f} times as many documents",
        end="",
    )
    print(f" take {growth:.1f} times as long;\nwithout AQE and broadcast joins {memory:.2f} times the memory")
    print("\n".join(failed) or "kept and dropped are those of dedup files; no task returns rows, no plan compares all")
    return {"runs": rows, **found, "growth": growth, "memory_ratio": memory, "failed": failed}


def _wrong(run: SparkRun) -> list[str]:
    figures = run.figures(1)
    found = [f"{name} in a plan" for name in figures["compares_all"]]
    for name, most in (("largest_result_bytes", _MOST_RETURNED), ("broadcast_bytes", _MOST_BROADCAST)):
        if figures[name] > most:
            found.append(f"{name} is {figures[name]:,}")
    return found
