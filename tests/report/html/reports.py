"""Reports without a database, and the pages that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dedup.report.contents import Compare, HostTotal, Report, Row, Total
from dedup.report.html.page import write_page
from dedup.report.triage import Kind
from dedup.report.words import Place, WordDiff
from dedup.rules.documents import Verdict
from dedup.rules.scope import host_of

NEAR, EXACT, SIMILAR = Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE, Verdict.SIMILAR
DAY = 86_400
NOON = 20_000 * DAY + DAY / 2
FERRY = WordDiff(1, 1, 2, [Place(3, "at noon the", "ferry", "night bus", "leaves", 1, 2, Kind.NAME)], tokens=100)


def row(dropped: str, original: str = "https://news.example/ferry", **values: Any) -> Row:
    given = {"verdict": NEAR, "distance": 3, "similarity": 0.9, "matched": original, "run": "monday"}
    given |= {"decided": NOON, "is_kept": values.get("verdict") is SIMILAR, "rule": "jaccard", **values}
    return Row(dropped=dropped, original=original, **given)


def report_of(*rows: Row, new: int = 10, **values: Any) -> Report:
    duplicates = [each for each in rows if each.verdict.is_duplicate]
    totals = dict.fromkeys(Verdict, Total()) | {Verdict.NEW: Total(new, new * 100)}
    for verdict in (NEAR, EXACT):
        own = [each for each in duplicates if each.verdict is verdict]
        kept = sum(each.is_kept for each in own)
        totals[verdict] = Total(len(own), len(own) * 100, kept=kept, kept_bytes=kept * 100)
    hosts = sorted({host_of(each.dropped) for each in duplicates})
    given: dict[str, Any] = {
        "runs": ["monday"],
        "host": "",
        "totals": totals,
        "hosts": [
            HostTotal(host, 1, 0, 0, sum(host_of(each.dropped) == host for each in duplicates)) for host in hosts
        ],
        "host_count": len(hosts),
        "duplicates": iter(duplicates),
        "similar": iter([each for each in rows if not each.verdict.is_duplicate]),
        "reviewing": ["dedup", "review", "--database", "my.db"],
        "moments": iter([(each.decided, each.verdict) for each in rows]),
    }
    return Report(**{**given, **values})


def differing_by(difference: WordDiff | None) -> Compare:
    """Return what says that rows with places differ by this, and all others in the same words, which say nothing."""

    def difference_of(each: Row) -> WordDiff | None:
        if difference is None or each.places:
            return difference
        return replace(difference, places=[replace(place, kind=Kind.OTHER) for place in difference.places])

    return lambda rows: map(difference_of, rows)


def write(folder: Path, report: Report, difference: WordDiff | None = FERRY) -> Path:
    path = folder / "report.html"
    with path.open("w", encoding="utf-8") as stream:
        write_page(replace(report, compare=differing_by(difference)), stream)
    return path


def many(count: int) -> Sequence[Row]:
    return [row(f"https://news.example/copy-{number}", similarity=0.8 + number / count / 10) for number in range(count)]
