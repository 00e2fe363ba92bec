"""Sites that treat a crawler badly, a crawl each: pages stored and lost, requests, seconds, memory."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.hostile_site import KINDS, Site, serving
from benchmarks.processes import run_measured

_ROOT = Path(__file__).parent.parent
_MOST_MEMORY = 1 << 30
_MOST_REFUSED = 0.1


def run(project: Path = _ROOT, kinds: str = "") -> dict[str, Any]:
    """Crawl each kind of site with the settings of the project, for 180 seconds at most.

    Args:
        project: a checkout of this project, such as an earlier one.
        kinds: words of which the names of kinds have to have one, with commas; empty for all.

    Returns:
        The figures by kind; it has failed if a page of content is lost, an inner service was asked, a worker process
        took more than 1 GB, or a tenth of the requests was refused.
    """
    figures: dict[str, Any] = {}
    wanted = [word for word in kinds.split(",") if word]
    print("                                 pages  stored  lost  too many  requests  refused  inner  seconds   memory")
    for name, (kind, arguments) in KINDS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        figures[name] = found = _crawl(project, kind(), arguments)
        print(
            f"{name:32} {found['pages']:>5}  {found['stored']:>6}  {found['lost']:>4}  {found['too_many']:>8}"
            f"  {found['requests']:>8}  {found['refused']:>7}  {found['inner']:>5}  {found['seconds']:>7.0f}"
            f"  {found['megabytes']:>4} MB",
            flush=True,
        )
    figures["failed"] = any(
        found["lost"]
        or found["inner"]
        or found["megabytes"] << 20 > _MOST_MEMORY
        or found["refused_by_limit"] > _MOST_REFUSED * found["requests"]
        for found in figures.values()
    )
    return figures


def _crawl(project: Path, site: Site, arguments: list[str]) -> dict[str, Any]:
    with serving(site) as url, tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        database = Path(folder) / "crawl.db"
        command = [
            *(sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={url}"),
            *("-s", f"DEDUP_DATABASE_URL=sqlite:///{database}", "-s", "LOG_FILE=" + str(Path(folder) / "log")),
            *("-s", "CLOSESPIDER_TIMEOUT=180", *arguments),
        ]
        environment = {"PYTHONPATH": str(project), "COLUMNS": "80"}
        usage = run_measured(command, project, environment, memory_every=2, is_quiet=True)
        with closing(sqlite3.connect(database)) as connection:
            stored = connection.execute("SELECT url, text FROM pages").fetchall()
    content = sum(site.is_content("/" + address.removeprefix(url), text) for address, text in stored)
    return {
        "pages": site.pages,
        "stored": len(stored),
        "lost": max(0, site.pages - content),
        "too_many": len(stored) - content,
        "requests": sum(site.statuses.values()),
        "refused": sum(count for status, count in site.statuses.items() if status in (429, 503)),
        "refused_by_limit": site.statuses[429],
        "inner": site.asked["inner service"],
        "seconds": usage.wall_seconds,
        "megabytes": usage.peak_bytes >> 20,
    }
