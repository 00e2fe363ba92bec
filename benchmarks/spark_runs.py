"""`dedup spark` and `dedup files` on the same documents, measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import spark_log
from benchmarks.processes import Usage, run_measured
from benchmarks.spark_log import Work

PLAIN = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
"""Plans are carried out as they are written, and no table is sent to all executors."""

DROPPED = ("key", "original", "matched", "verdict", "distance", "similarity", "rule")

_MEMORY_EVERY = 5


@dataclass(frozen=True)
class SparkRun:
    """What a run of `dedup spark` took, with all of its processes, and what Spark says of it."""

    usage: Usage
    work: Work
    output: Path

    def figures(self, n: int) -> dict[str, Any]:
        """Return what is told of a run on n documents."""
        return {
            "documents": n,
            "seconds": self.usage.wall_seconds,
            "cpu_seconds": self.usage.cpu_seconds,
            "job_seconds": self.work.seconds,
            "peak_bytes": self.usage.peak_bytes,
            "shuffled_bytes": self.work.shuffled_bytes / n,
            "spilled_bytes": self.work.spilled_bytes / n,
            "join_rows": self.work.join_rows / n,
            "largest_result_bytes": self.work.largest_result_bytes,
            "result_bytes": self.work.result_bytes,
            "broadcast_bytes": self.work.broadcast_bytes,
            "compares_all": [name for name in spark_log.NEVER if self.work.nodes[name]],
        }


def run_spark(
    inputs: Sequence[Path], output: Path, heap: str, conf: Mapping[str, str] | None = None, *arguments: str
) -> SparkRun:
    """Run the command on this machine, with all of its cores.

    Args:
        inputs: files.
        output: the folder that is written.
        heap: memory of Java, as `spark.driver.memory` has it.
        conf: further properties.
        *arguments: further ones of the command.

    Raises:
        ValueError: the run failed.
    """
    log = output.with_name(f"{output.name}-log")
    given = {"spark.driver.memory": heap, "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    given |= {"spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "16"}
    given |= spark_log.properties(log) | dict(conf or {})
    options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    usage = _run_dedup("spark", *map(str, inputs), "-o", str(output), *options, *arguments)
    return SparkRun(usage, spark_log.read(log), output)


def run_files(inputs: Sequence[Path], output: Path) -> Usage:
    """Run `dedup files`, with all cores.

    Raises:
        ValueError: the run failed.
    """
    return _run_dedup("files", *map(str, inputs), "-o", str(output), "--format", "parquet")


def _run_dedup(*arguments: str) -> Usage:
    return run_measured([sys.executable, "-m", "dedup", *arguments, "--json"], Path.cwd(), memory_every=_MEMORY_EVERY)


def rows(path: Path, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return columns of a file or folder of Parquet, in the order of their values."""
    from pyarrow.parquet import read_table  # noqa: PLC0415 -- few of the benchmarks need it

    table = read_table(path, columns=list(columns))
    return sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True), key=repr)


def is_same(files: Path, spark: Path) -> bool:
    """Say whether both have kept the same documents, and dropped the others because of the same ones."""
    kept = rows(files / "kept.parquet", ["key"]) == rows(spark / "kept", ["key"])
    return kept and rows(files / "dropped.parquet", DROPPED) == rows(spark / "dropped", DROPPED)


def quality(output: Path, families: NDArray[np.int64]) -> dict[str, float]:
    """Return precision and recall; a document is dropped rightly because of any of its family."""
    dropped = rows(output / "dropped", ["key", "original"])
    right = sum(families[int(key)] == families[int(original)] for key, original in dropped)
    planted = int((families != np.arange(len(families))).sum())
    return {"precision": int(right) / max(1, len(dropped)), "recall": int(right) / max(1, planted)}


def write_skewed(source: Path, target: Path) -> None:
    """Write documents of which three of ten have one frame, a payload each, and one of ten is the same text.

    Args:
        source: JSONL of `benchmarks.files.write_corpus`.
        target: where.
    """
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as file:
        frame: list[str] = []
        for number, row in enumerate(map(json.loads, lines)):
            words = row["text"].split()
            frame = frame or words
            if number % 10 in (1, 4, 7):
                start = len(frame) // 3
                row["text"] = " ".join([*frame[:start], *words[: len(frame) // 4], *frame[start:]])
            elif number % 10 == 9:
                row["text"] = " ".join(frame)
            file.write(json.dumps(row) + "\n")


def table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each run."""
    names = ("documents", "seconds", "in jobs", "CPU s", "peak MB", "shuffled B", "join rows")
    lines = ["".join([" " * 22, *(f"{name:>12}" for name in names)])]
    for name, row in runs.items():
        line = f"{name:22}{row['documents']:>12,}{row['seconds']:>12.1f}"
        line += f"{row['job_seconds']:>12.1f}" if "job_seconds" in row else " " * 12
        line += f"{row['cpu_seconds']:>12.1f}{row['peak_bytes'] / 1e6:>12,.0f}"
        if "job_seconds" in row:
            line += f"{row['shuffled_bytes']:>12,.0f}{row['join_rows']:>12.2f}"
        lines.append(line)
    return "\n".join(lines)


def figures_of_files(usage: Usage, n: int) -> dict[str, Any]:
    """Return what is told of a run of `dedup files`."""
    return {
        "documents": n,
        "seconds": usage.wall_seconds,
        "cpu_seconds": usage.cpu_seconds,
        "peak_bytes": usage.peak_bytes,
    }
