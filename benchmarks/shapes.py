"""Projects of the shapes that lose items to a stage: what they store without it and with the one line, and its log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.shapes_crawl import SHAPES

MOST_LINES = 10
"""How many lines the stage may write in the log of a crawl, but for one a dropped item."""

_ROOT = Path(__file__).parent.parent
_WALL = "a wall before each text"


def run() -> dict[str, Any]:
    """Crawl each shape without the stage and with it, for two days each, in a folder without scrapy.cfg.

    Returns:
        The figures by shape; it has failed if a thing is lost, or the log is too long. A wall is noticed at its
        twentieth item: until then all are copies of each other.
    """
    figures: dict[str, Any] = {}
    print("                                     items stored      things lost   copies     lines of the log")
    print("                                     off   on   day 2  on   day 2    stored")
    for name in SHAPES:
        off, on = _crawl(name, "off"), _crawl(name, "on")
        lost = [len(set(before["stored"]) - set(after["stored"])) for before, after in zip(off, on, strict=True)]
        copies = sum(count - 1 for count in Counter(map(str, on[0]["stored"])).values())
        counts = [len(each["stored"]) for each in (off[0], *on)]
        lines = max(each["lines"] for each in on)
        print(
            f"{name:34}  {counts[0]:>4}  {counts[1]:>3}  {counts[2]:>5}  {lost[0]:>2}  {lost[1]:>6}"
            f"  {copies:>8}  {lines:>7}"
        )
        figures[name] = {"stored": counts, "lost": lost, "copies": copies, "lines": lines}
    figures["failed"] = any(
        each["lines"] > MOST_LINES or (any(each["lost"]) and name != _WALL) for name, each in figures.items()
    )
    return figures


def _crawl(name: str, switch: str) -> list[dict[str, Any]]:
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    with tempfile.TemporaryDirectory(prefix="shapes-") as folder:
        return [
            json.loads(
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.shapes_crawl", name, switch, str(day)],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for day in (0, 1)
        ]
