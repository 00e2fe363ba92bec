"""`dedup files` with and without `--on spark`: verdicts, quality, time, memory, what is shuffled, growth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import long_texts, quality_of, short_texts, write_corpus, write_part
from benchmarks.processes import scratch_folder
from benchmarks.spark_runs import DROPPED, PLAIN, is_same, rows, run_files, run_spark, table
from dedup.rules.table import Rule

# Spark broadcasts what it takes for less than 10 MB: a task returns it, and tables of it are some times larger.
# Else tasks return metrics, and of some a row of counts.
_MOST = {"largest_result_bytes": 10 << 20, "broadcast_bytes": 64 << 20}
_MORE_MEMORY = 1.2
_TIMES, _MOST_TIMES = 10, 11
_TEXTS = {"long": long_texts, "short": short_texts}
_NEW = 100
_FEW = 100
_SAME = "kept and dropped are those of dedup files"


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
    with scratch_folder() as folder:
        many, few = folder / "many.jsonl", folder / "few.jsonl"
        write_corpus(few, small)
        families = write_corpus(many, n)
        figures = {
            "dedup files": run_files(many, folder / "files", n),
            "on Spark, small": run_spark([few], folder / "small", small, heap),
            "on Spark": run_spark([many], folder / "default", n, heap),
            "no AQE, no broadcast": run_spark([many], folder / "plain", n, heap, conf=PLAIN),
        }
        same = {name: is_same(folder / "files", folder / name) for name in ("default", "plain")}
        found = _quality(folder / "default", families)
    _, one, default, plain = figures.values()
    growth = default["job_seconds"] / one["job_seconds"]
    memory = plain["peak_bytes"] / default["peak_bytes"]
    failed = [f"{name}: other verdicts than those of dedup files" for name, is_equal in same.items() if not is_equal]
    for name, each in (("small", one), ("default", default), ("plain", plain)):
        failed += [f"{name}: {reason}" for reason in _wrong(each)]
    if memory > _MORE_MEMORY:
        failed.append(f"plain: takes {memory:.2f} times the memory")
    print(table(figures))
    print(
        f"\nprecision {found['precision']:.4f}, recall {found['recall']:.4f}; {n / small:.1f} times as many documents",
        end="",
    )
    print(f" take {growth:.1f} times as long;\nwithout AQE and broadcast joins {memory:.2f} times the memory")
    print("\n".join(failed) or f"{_SAME}; no task returns rows, no plan compares all")
    return {"runs": figures, **found, "growth": growth, "memory_ratio": memory, "failed": failed}


def _wrong(figures: dict[str, Any]) -> Iterator[str]:
    yield from (f"{name} in a plan" for name in figures["compares_all"])
    yield from (f"{name} is {figures[name]:,}" for name, most in _MOST.items() if figures[name] > most)


def _quality(output: Path, families: NDArray[np.int64]) -> dict[str, float]:
    return quality_of(rows(output / "dropped", ["key", "original"]), families)


def grow(*, small: int = 20_000, steps: int = 3, heap: str = "2g") -> dict[str, Any]:
    """`dedup files --on spark` on short documents, ten times as many, and ten times as many again: how its jobs grow.

    Args:
        small: how many they are in the first run, each of 30 to 60 words.
        steps: how many runs there are.
        heap: memory of Java, as `spark.driver.memory` has it.

    Returns:
        The figures; `failed` says what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if small < 1 or steps < 1:
        raise ValueError("--small and --steps: expected at least 1")
    figures: dict[str, dict[str, Any]] = {}
    failed, job_seconds = [], []
    for n in (small * _TIMES**step for step in range(steps)):
        with scratch_folder() as folder:
            source = folder / "in.jsonl"
            families = write_corpus(source, n, short_texts)
            found = run_spark([source], folder / "spark", n, heap)
            figures[f"on Spark, {n:.0e}"] = found | _quality(folder / "spark", families)
            job_seconds.append(found["job_seconds"])
            figures[f"dedup files, {n:.0e}"] = run_files(source, folder / "files", n)
            if not is_same(folder / "files", folder / "spark"):
                failed.append(f"{n:,}: other verdicts than those of dedup files")
            print(f"{n:,}: {job_seconds[-1]:.1f} s in jobs", flush=True)
    growth = [later / earlier for earlier, later in pairwise(job_seconds)]
    if growth and growth[-1] > _MOST_TIMES:
        failed.append(f"jobs take {growth[-1]:.1f} times as long, ten times as many documents")
    print(table(figures))
    print("\n".join(f"{name}: recall {row['recall']:.4f}" for name, row in figures.items() if "recall" in row))
    print(f"ten times as many take so many times as long: {', '.join(f'{each:.1f}' for each in growth)}")
    print("\n".join(failed) or _SAME)
    return {"runs": figures, "growth": growth, "failed": failed}


def increment(*, n: int = 200_000, heap: str = "2g", documents: str = "long") -> dict[str, Any]:
    """`--on spark --against`: a hundredth of new documents beside the rest that is known, and beside all anew.

    Args:
        n: how many documents.
        heap: memory of Java, as `spark.driver.memory` has it.
        documents: `long`, of some 800 words, or `short`, of 30 to 60.

    Returns:
        The figures; `failed` says what is not as it has to be.

    Raises:
        ValueError: there is nothing to measure, or a run failed.
    """
    if n < _NEW or documents not in _TEXTS:
        raise ValueError(f"--n and --documents: expected at least {_NEW}, and one of {', '.join(_TEXTS)}")
    with scratch_folder() as folder:
        write_corpus(folder / "all.jsonl", n, _TEXTS[documents])
        known, new, few = (folder / f"{part}.jsonl" for part in ("1-known", "2-new", "few"))
        write_part(folder / "all.jsonl", known, 0, n - n // _NEW)
        write_part(folder / "all.jsonl", new, n - n // _NEW, n)
        write_part(new, few, 0, _FEW)
        # Each leaves an index with which the next documents could be decided.
        index, of_all, of_few = (["--save-index", str(folder / f"index-{name}")] for name in ("known", "all", "few"))
        figures = {
            "start": run_spark([few], folder / "start", min(_FEW, n // _NEW), heap, *of_few),
            "all": run_spark([known, new], folder / "all", n, heap, *of_all),
            "known": run_spark([known], folder / "known", n - n // _NEW, heap, *index),
            "new": run_spark([new], folder / "new", n // _NEW, heap, "--against", index[1], *index),
        }
        once = rows(folder / "all" / "dropped", DROPPED)
        twice = [row for part in ("known", "new") for row in rows(folder / part / "dropped", DROPPED)]
        # What a template is about is seen once three documents of it are there, which may be later.
        similar = rows(folder / "all" / "similar", ("original", "rule"))
        templates = {original for original, rule in similar if rule == Rule.OWN_WORDS.short}
        once, twice = (sorted((row for row in found if row[1] not in templates), key=repr) for found in (once, twice))
        failed = [] if once == twice else ["other verdicts than all at once"]
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
