"""Reports: what the verdicts in a database say, for people and for programs."""

from __future__ import annotations

from dedup.report.contents import (
    Cluster,
    Duplicate,
    HostTotal,
    NotExamined,
    OverLimit,
    Report,
    Selection,
    SkippedPage,
    Total,
)
from dedup.report.queries import open_report, read_kept, read_largest_clusters, read_totals

__all__ = [
    "Cluster",
    "Duplicate",
    "HostTotal",
    "NotExamined",
    "OverLimit",
    "Report",
    "Selection",
    "SkippedPage",
    "Total",
    "open_report",
    "read_kept",
    "read_largest_clusters",
    "read_totals",
]
