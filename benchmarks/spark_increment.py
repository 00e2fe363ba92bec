"""`dedup spark --against`: a hundredth of new documents beside the rest that is known, and beside all anew."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.files import write_corpus
from benchmarks.spark_growth import write_short
from benchmarks.spark_runs import DROPPED, rows, run_spark, table

_WRITE = {"long": write_corpus, "short": write_short}
_NEW = 100
_FEW = 100


def run(*, n: int = 200_000, heap: str = "2g", documents: str = "long") -> dict[str, Any]:
    """Deduplicate the first 99% of documents and save an index, then the others against it, and all at once.

    Args:
        n: how many documents.
        heap: memory of Java, as `spark.driver.memory` has it.
        documents: `long`, of some 800 words, or `short`, of 30 to 60.

    Returns:
        The figures; `failed` says what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if n < _NEW or documents not in _WRITE:
        raise ValueError(f"--n and --documents: expected at least {_NEW}, and one of {', '.join(_WRITE)}")
    with TemporaryDirectory(prefix="benchmark-spark-") as name:
        folder = Path(name)
        _WRITE[documents](folder / "all.jsonl", n)
        known, new, few = (folder / f"{part}.jsonl" for part in ("1-known", "2-new", "few"))
        with (folder / "all.jsonl").open(encoding="utf-8") as lines:
            for path, count in ((known, n - n // _NEW), (new, n // _NEW)):
                with path.open("w", encoding="utf-8") as file:
                    file.writelines(islice(lines, count))
        with new.open(encoding="utf-8") as lines, few.open("w", encoding="utf-8") as file:
            file.writelines(islice(lines, _FEW))
        # Each leaves an index with which the next documents could be decided.
        index, of_all, of_few = (["--save-index", str(folder / f"index-{name}")] for name in ("known", "all", "few"))
        runs = {
            "start": run_spark([few], folder / "start", heap, None, *of_few),
            "all": run_spark([known, new], folder / "all", heap, None, *of_all),
            "known": run_spark([known], folder / "known", heap, None, *index),
            "new": run_spark([new], folder / "new", heap, None, "--against", index[1], *index),
        }
        once = rows(folder / "all" / "dropped", DROPPED)
        twice = [row for part in ("known", "new") for row in rows(folder / part / "dropped", DROPPED)]
        failed = [] if once == sorted(twice, key=repr) else ["other verdicts than all at once"]
    counts = {"start": min(_FEW, n // _NEW), "all": n, "known": n - n // _NEW, "new": n // _NEW}
    figures = {name: each.figures(counts[name]) for name, each in runs.items()}
    shares = {name: _share(figures, name) for name in ("cpu_seconds", "seconds", "job_seconds")}
    print(table(figures))
    for name, (plain, without_start) in shares.items():
        print(f"{name} of the increment: {plain:.1%} of all; {without_start:.1%} without what a job of {_FEW} takes")
    print("\n".join(failed) or "dropped are the same as all at once")
    return {"runs": figures, "shares": shares, "failed": failed}


def _share(figures: dict[str, dict[str, Any]], name: str) -> tuple[float, float]:
    """Return the share of the increment in all, and that without what any job takes."""
    new, everything, start = (figures[each][name] for each in ("new", "all", "start"))
    return new / everything, (new - start) / (everything - start)
