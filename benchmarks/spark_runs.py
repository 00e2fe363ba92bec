"""`dedup files` with and without `--on spark` on the same documents: cost, Spark's log, what comes out."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.processes import Usage, run_measured

PLAIN = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
"""Plans are carried out as they are written, and no table is sent to all executors."""

DROPPED = ("key", "original", "matched", "verdict", "distance", "similarity", "rule")

# Nodes of plans that compare all with all.
_NEVER = ("CartesianProduct", "BroadcastNestedLoopJoin")
_SQL = "org.apache.spark.sql.execution.ui."
_OUTPUT = "number of output rows"
_BROADCAST = "BroadcastExchange"
_MEMORY_EVERY = 5


def run_spark(
    inputs: Sequence[Path], output: Path, n: int, heap: str, *arguments: str, conf: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run `dedup files --on spark` on this machine, with all of its cores.

    Args:
        inputs: files.
        output: the folder that is written.
        n: how many documents they hold.
        heap: memory of Java, as `spark.driver.memory` has it.
        *arguments: further ones of the command.
        conf: further properties.

    Returns:
        What it took, with all of its processes, and what Spark says of it.

    Raises:
        ValueError: the run failed.
    """
    log = output.with_name(f"{output.name}-log")
    log.mkdir(parents=True, exist_ok=True)
    given = {
        "spark.driver.memory": heap,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "16",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.absolute().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **(conf or {}),
    }
    options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    usage = _run_dedup("files", "--on", "spark", *map(str, inputs), "-o", str(output), *options, *arguments)
    work = read_log(log)
    return {
        **usage.of(n),
        "job_seconds": work.seconds,
        "shuffled_bytes": work.shuffled_bytes / n,
        "join_rows": work.join_rows / n,
        "largest_result_bytes": work.largest_result_bytes,
        "broadcast_bytes": work.broadcast_bytes,
        "compares_all": [name for name in _NEVER if work.nodes[name]],
    }


def run_files(source: Path, output: Path, n: int) -> dict[str, Any]:
    """Run `dedup files` on a file of n documents, with all cores; return what it took.

    Raises:
        ValueError: the run failed.
    """
    return _run_dedup("files", str(source), "-o", str(output), "--format", "parquet").of(n)


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


@dataclass
class Work:
    """What was done.

    Attributes:
        seconds: from the start of the first job to the end of the last one.
        shuffled_bytes: written for other tasks.
        largest_result_bytes: the most that a task returned to the driver.
        join_rows: what joins returned.
        broadcast_bytes: the largest table that was sent to all executors.
        nodes: how often each kind of node stands in plans.
    """

    seconds: float = 0.0
    shuffled_bytes: int = 0
    largest_result_bytes: int = 0
    join_rows: int = 0
    broadcast_bytes: int = 0
    nodes: Counter[str] = field(default_factory=Counter)


def read_log(folder: Path) -> Work:
    """Return what the one job did whose log lies in a folder."""
    [path] = [each for each in folder.iterdir() if not each.name.startswith(".")]
    work = Work()
    starts, ends = [], []
    values: defaultdict[int, int] = defaultdict(int)
    plans: dict[int, dict[str, Any]] = {}
    with path.open(encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            match event["Event"].removeprefix(_SQL):
                case "SparkListenerJobStart":
                    starts.append(event["Submission Time"])
                case "SparkListenerJobEnd":
                    ends.append(event["Completion Time"])
                case "SparkListenerTaskEnd":
                    _add_task(work, values, event)
                case "SparkListenerDriverAccumUpdates":
                    for id_, value in event["accumUpdates"]:
                        values[id_] += value
                case "SparkListenerSQLExecutionStart" | "SparkListenerSQLAdaptiveExecutionUpdate":
                    # The last plan of a query is what was done.
                    plans[event["executionId"]] = event["sparkPlanInfo"]
    work.seconds = (max(ends, default=0) - min(starts, default=0)) / 1000
    counted: set[int] = set()
    for node in (node for plan in plans.values() for node in _nodes(plan)):
        _add_node(work, node, {k: v for k, v in values.items() if k not in counted})
        counted |= {metric["accumulatorId"] for metric in node["metrics"]}
    return work


def _add_task(work: Work, values: dict[int, int], event: dict[str, Any]) -> None:
    # A task that was killed has none.
    metrics = event.get("Task Metrics") or {}
    work.shuffled_bytes += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    work.largest_result_bytes = max(work.largest_result_bytes, metrics.get("Result Size", 0))
    for each in event["Task Info"]["Accumulables"]:
        if each.get("Metadata") == "sql":
            values[each["ID"]] += int(each.get("Update", 0))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan["children"]:
        yield from _nodes(child)


def _add_node(work: Work, node: dict[str, Any], values: dict[int, int]) -> None:
    name = node["nodeName"]
    work.nodes[name] += 1
    found = {metric["name"]: values.get(metric["accumulatorId"], 0) for metric in node["metrics"]}
    if "Join" in name or name == "CartesianProduct":
        work.join_rows += found.get(_OUTPUT, 0)
    if name == _BROADCAST:
        work.broadcast_bytes = max(work.broadcast_bytes, found.get("data size", 0))
