"""`dedup spark` where three of ten documents have one frame, and one of ten is the same text."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.files import write_corpus
from benchmarks.spark_runs import PLAIN, figures_of_files, is_same, run_files, run_spark, table, write_skewed


def run(*, n: int = 200_000, heap: str = "2g") -> dict[str, Any]:
    """Deduplicate such documents, and such that are not alike, and print what it takes.

    Args:
        n: how many documents.
        heap: memory of Java, as `spark.driver.memory` has it.

    Returns:
        The figures; `failed` says what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if n < 1:
        raise ValueError("--n: expected at least 1")
    with TemporaryDirectory(prefix="benchmark-spark-") as name:
        folder = Path(name)
        write_corpus(folder / "even.jsonl", n)
        write_skewed(folder / "even.jsonl", folder / "skewed.jsonl")
        files = run_files([folder / "skewed.jsonl"], folder / "files")
        rows = {
            "dedup files, skewed": figures_of_files(files, n),
            "even": run_spark([folder / "even.jsonl"], folder / "even", heap).figures(n),
            "skewed": run_spark([folder / "skewed.jsonl"], folder / "skewed", heap).figures(n),
            "no AQE, no broadcast": run_spark([folder / "skewed.jsonl"], folder / "plain", heap, PLAIN).figures(n),
        }
        same = all(is_same(folder / "files", folder / name) for name in ("skewed", "plain"))
    ratio = rows["skewed"]["peak_bytes"] / rows["even"]["peak_bytes"]
    failed = [] if same else ["other verdicts than those of dedup files"]
    print(table(rows))
    print(f"\n{ratio:.2f} times the memory that even documents take")
    print("\n".join(failed) or "kept and dropped are those of dedup files")
    return {"runs": rows, "memory_ratio": ratio, "failed": failed}
