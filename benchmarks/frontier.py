"""The frontier with many URLs queued, beside Scrapy's own scheduler with disk queues."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
_SCHEDULERS = {
    "frontier": "crawler.frontier.scheduler.FrontierScheduler",
    "Scrapy, disk queues": "scrapy.core.scheduler.Scheduler",
}


def run(*, n: int = 1_000_000) -> dict[str, Any]:
    """Queue so many URLs in each scheduler, take some of them, and print the figures.

    Args:
        n: how many URLs.

    Returns:
        The figures.

    Raises:
        ValueError: a scheduler failed.
    """
    figures = {label: _measure(name, n) for label, name in _SCHEDULERS.items()}
    print(f"{'':20} {'queued':>10} {'memory':>9} {'enqueue':>9} {'dequeue':>9} {'in the event loop':>18} {'99%':>9}")
    for label, found in figures.items():
        print(
            f"{label:20} {found['queued']:10,.0f} {found['memory_mb']:6,.0f} MB {found['enqueue_ms']:6.3f} ms "
            f"{found['dequeue_ms']:6.3f} ms {found['dequeue_in_event_loop_ms']:15.3f} ms "
            f"{found['dequeue_99_percent_ms']:6.3f} ms"
        )
    return figures


def _measure(name: str, n: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.frontier_process", name, str(n), folder]
        process = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        raise ValueError(f"{name} ended with status {process.returncode}")
    measured: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return measured
