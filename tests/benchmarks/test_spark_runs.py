"""What a job of Spark did is read from its log of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.spark_runs import read_log

SQL = "org.apache.spark.sql.execution.ui."


def node(name: str, *children: Any, **metrics: int) -> dict[str, Any]:
    named = {"rows": "number of output rows", "size": "data size"}
    listed = [{"name": named[key], "accumulatorId": id_} for key, id_ in metrics.items()]
    return {"nodeName": name, "children": list(children), "metrics": listed}


def task(result: int, shuffled: int, *updates: tuple[int, int]) -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Task Info": {"Accumulables": [{"ID": id_, "Update": str(value), "Metadata": "sql"} for id_, value in updates]},
        "Task Metrics": {"Result Size": result, "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled}},
    }


def test_shuffles_joins_and_broadcasts_are_added_up(tmp_path: Path) -> None:
    first = node("SortMergeJoin", node("Scan parquet ", rows=1), rows=2)
    last = node("BroadcastHashJoin", node("BroadcastExchange", node("Scan parquet ", rows=1), size=3), rows=4)
    events = [
        {"Event": f"{SQL}SparkListenerSQLExecutionStart", "executionId": 0, "sparkPlanInfo": first},
        {"Event": "SparkListenerJobStart", "Submission Time": 1000},
        {"Event": f"{SQL}SparkListenerSQLAdaptiveExecutionUpdate", "executionId": 0, "sparkPlanInfo": last},
        task(10, 100, (1, 50), (4, 7)),
        # It was killed.
        {"Event": "SparkListenerTaskEnd", "Task Info": {"Accumulables": []}},
        task(30, 200, (4, 8)),
        {"Event": f"{SQL}SparkListenerDriverAccumUpdates", "executionId": 0, "accumUpdates": [[3, 999]]},
        {"Event": "SparkListenerJobEnd", "Completion Time": 3500},
    ]
    (tmp_path / "local-1").write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    work = read_log(tmp_path)
    assert (work.seconds, work.shuffled_bytes, work.largest_result_bytes) == (2.5, 300, 30)
    assert (work.join_rows, work.broadcast_bytes) == (15, 999)
    assert set(work.nodes) == {"BroadcastHashJoin", "BroadcastExchange", "Scan parquet "}
