"""A report to what the page holds: columns of numbers, and each text once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from dedup.console import readable
from dedup.report.contents import Report, Row
from dedup.report.examining import Shortlist, examined, why_not_flagged
from dedup.report.words import WordDiff, order_of_place
from dedup.rules.documents import Verdict, join_clusters
from dedup.rules.scope import host_of
from dedup.rules.table import Rule

LONGEST_KEY = 4_000
"""Characters of a key that a page holds."""

_LONGEST_PASSAGE = 300

MOST_ROWS = 200_000
"""How many pairs a page holds at most, the first in the order of review; a browser scrolls through no longer list."""

_MOST_SKIPPED = 1_000
_BARS = 40
_TICKS_A_SECOND = 10
_LETTERS_OF_IDENTITY = 16


def cut_key(key: str) -> str:
    """Return a key as a page holds it."""
    # What is beyond it would differ at its end alone, which nobody reads; its length keeps two apart.
    return f"{key[:LONGEST_KEY]}… ({len(key):,} characters)" if len(key) > LONGEST_KEY else key


class Texts(dict[str, int]):
    """The numbers of texts, each of which stands once in a page, in the order in which they are asked for."""

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))

    def shown(self) -> dict[int, str]:
        """Return how those are shown whose letters are escaped in them."""
        return {number: shown for text, number in self.items() if "%" in text and (shown := readable(text)) != text}


def difference_of(found: WordDiff) -> dict[str, Any]:
    """Return what a page shows of a difference."""
    return {
        "places": found.place_count,
        "removed": found.tokens_removed,
        "added": found.tokens_added,
        "shown": [
            [
                *map(_passage, (place.before, place.removed, place.added, place.after)),
                place.tokens_removed,
                place.tokens_added,
                place.kind,
            ]
            for place in sorted(found.places, key=order_of_place)
        ],
    }


def _passage(text: str) -> str:
    return text if len(text) <= _LONGEST_PASSAGE else f"{text[:_LONGEST_PASSAGE]}…"


def page_of(report: Report) -> dict[str, Any]:
    """Return what a page shows of an open report, whose rows are used up; all of it can be JSON."""
    passed = Shortlist(MOST_ROWS)
    for _ in passed.passing(chain(report.duplicates, report.similar)):
        pass
    rows = examined(passed.rows(), report)
    texts = Texts()
    columns = _columns(rows, texts)
    return {
        "identity": _identity(report),
        "runs": list(report.runs),
        "host": report.host,
        "counts": _counts(report, rows, passed.similar),
        "is_crawl": report.is_crawl,
        "why_not_flagged": why_not_flagged(report, rows),
        "rules": {rule.short: rule.says for rule in Rule},
        "rows": columns,
        "rows_cut": passed.passed + report.left_out.rows - len(rows),
        "differences": {
            number: difference_of(row.difference) for number, row in enumerate(rows) if row.difference is not None
        },
        "most_compared": report.most_compared,
        "longest_key": LONGEST_KEY,
        "hosts": [[host.host, host.kept, host.unchanged, host.exact, host.near] for host in report.hosts],
        "host_count": report.host_count,
        "over_limit": [asdict(each) for each in report.over_limit],
        "address_rules": [
            [*each.cells(), [list(map(readable, example)) for example in each.examples]]
            for each in report.address_rules
        ],
        "timeline": _timeline(report),
        "not_examined": [asdict(each) for each in report.not_examined],
        "skip_counts": dict(report.skip_counts),
        "not_fetched": dict(report.not_fetched),
        "skipped": list(_skipped(report)),
        # Last, as the columns number them.
        "texts": list(texts),
        "shown": texts.shown(),
    }


def _counts(report: Report, rows: Sequence[Row], similar: int) -> dict[str, int]:
    """Return what the page begins with.

    Args:
        report: the report.
        rows: those that the page holds.
        similar: how many of all its rows are no duplicates.
    """
    saved, size = report.bytes_saved
    return {
        **report.sums._asdict(),
        **report.dropped,
        "flagged": sum(row.is_flagged for row in rows) + report.left_out.flagged,
        "similar": similar + report.left_out.similar,
        "marked": report.kept["marked"],
        "text_bytes": size,
        "saved_bytes": saved,
    }


def _columns(rows: Sequence[Row], texts: Texts) -> dict[str, Any]:
    """Return the rows by columns of the same names as its fields, and four more; a text stands as its number."""
    joined = join_clusters((row.original, row.second) for row in rows if row.second is not None)
    shown = [
        {
            **row.as_object(),
            "similarity": round(row.similarity, 3),
            "decided": round(row.decided, 1),
            "is_flagged": row.is_flagged,
            "host": host_of(row.dropped),
            "cluster": joined.get(row.original, row.original),
            "pattern": None if row.verdict.is_duplicate else _pattern_of(row),
        }
        for row in rows
    ]
    names = [*Row._fields[:-1], "is_flagged", "host", "cluster", "pattern"]
    return {name: [_cell(row[name], texts) for row in shown] for name in names}


def _pattern_of(row: Row) -> str | None:
    """Return what a row has in common with others of its pattern of addresses; None where there is no pattern."""
    return " ".join(row.patterns) if row.patterns != (row.dropped, row.original) else None


def _cell(value: object, texts: Texts) -> object:
    return texts[cut_key(value)] if isinstance(value, str) else value


def _timeline(report: Report) -> dict[str, Any]:
    """Return how many documents got each verdict in each part of the time of the run."""
    ticks: Counter[tuple[int, Verdict]] = Counter()
    for decided, verdict in report.moments:
        ticks[int(decided * _TICKS_A_SECOND), verdict] += 1
    if not ticks:
        return {"start": 0, "seconds": 0, "bars": {}}
    first, last = min(tick for tick, _ in ticks), max(tick for tick, _ in ticks)
    width = max(1, -(-(last - first + 1) // _BARS))
    bars: dict[str, list[int]] = {}
    for (tick, verdict), count in ticks.items():
        row = bars.setdefault(verdict.value, [0] * ((last - first) // width + 1))
        row[(tick - first) // width] += count
    return {"start": first / _TICKS_A_SECOND, "seconds": width / _TICKS_A_SECOND, "bars": bars}


def _skipped(report: Report) -> Iterator[list[str]]:
    for page in islice(report.skipped, _MOST_SKIPPED):
        yield [each[:LONGEST_KEY] for each in (page.key, page.reason, page.detail, page.referrer)]


def _identity(report: Report) -> str:
    """Return what the marks of a report are kept under: another report has its own."""
    told = "\n".join([report.host, *report.runs])
    return blake2b(told.encode("utf-8", "surrogatepass")).hexdigest()[:_LETTERS_OF_IDENTITY]
