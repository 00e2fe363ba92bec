"""What a job of Spark did, by its log of events."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NEVER = ("CartesianProduct", "BroadcastNestedLoopJoin")
"""Nodes of plans that compare all with all."""

_SQL = "org.apache.spark.sql.execution.ui."
_OUTPUT = "number of output rows"
_BROADCAST = "BroadcastExchange"


@dataclass
class Work:
    """What was done.

    Attributes:
        seconds: from the start of the first job to the end of the last one.
        shuffled_bytes: written for other tasks.
        spilled_bytes: written because memory did not hold them.
        largest_result_bytes: the most that a task returned to the driver.
        result_bytes: what all tasks returned to the driver, counts and metrics included.
        join_rows: what joins returned.
        broadcast_bytes: the largest table that was sent to all executors.
        nodes: how often each kind of node stands in plans.
    """

    seconds: float = 0.0
    shuffled_bytes: int = 0
    spilled_bytes: int = 0
    largest_result_bytes: int = 0
    result_bytes: int = 0
    join_rows: int = 0
    broadcast_bytes: int = 0
    nodes: Counter[str] = field(default_factory=Counter)


def properties(folder: Path) -> dict[str, str]:
    """Return the properties with which Spark writes a log into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.absolute().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def read(folder: Path) -> Work:
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
    work.spilled_bytes += metrics.get("Disk Bytes Spilled", 0)
    work.result_bytes += metrics.get("Result Size", 0)
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
