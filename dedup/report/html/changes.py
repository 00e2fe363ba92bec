"""What changed between two runs, as the page holds it."""

from __future__ import annotations

from typing import Any

from dedup.report.changes.contents import ChangeRow, Changes
from dedup.report.html.model import MOST_ROWS
from dedup.report.html.packing import LONGEST_KEY, Texts, difference_of


def data_of_changes(changes: Changes) -> dict[str, Any]:
    """Read what changed, whose rows are used up; all of what is returned can be JSON."""
    texts = Texts()
    rows: list[dict[str, Any]] = []
    cut = 0
    for row in changes.rows:
        if len(rows) < MOST_ROWS:
            rows.append(_object(row, texts))
        else:
            cut += 1
    return {
        "runs": list(changes.runs),
        "counts": {change.value: count for change, count in changes.counts.items()},
        "rows": rows,
        "rows_cut": cut,
        "keys": list(texts.all),
        "shown": texts.shown(),
    }


def _object(row: ChangeRow, texts: Texts) -> dict[str, Any]:
    return {
        "change": row.change.value,
        "key": texts.number(row.key),
        "moved_from": None if row.moved_from is None else texts.number(row.moved_from),
        "before": row.before and row.before.value,
        "now": row.now and row.now.value,
        "original": None if row.original is None else texts.number(row.original),
        "why": row.why[:LONGEST_KEY],
        "decided": round(row.decided, 1),
        "difference": row.difference and difference_of(row.difference),
    }
