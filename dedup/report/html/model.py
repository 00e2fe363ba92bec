"""A report to what the page holds: columns of numbers, and each text once."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from dedup.console import readable
from dedup.report.contents import RelatedRow, Report, is_doubtful, order_of_doubt
from dedup.report.words import WordDiff
from dedup.rules.documents import Rule, Verdict, join_clusters
from dedup.rules.scope import host_of

LONGEST_KEY = 4_000
"""Characters of a key that a page holds."""

_LONGEST_PASSAGE = 300


MOST_ROWS = 200_000
"""How many pairs a page holds at most, the most doubtful; a browser scrolls through no longer list."""

MOST_COMPARED = 1_000
"""Of how many pairs, the most doubtful first, the page shows which words differ."""

Compare = Callable[[Sequence[RelatedRow]], Iterator[WordDiff | None]]
"""Says of rows, in their order, which words of original and document differ; None where that is not known."""

_MOST_SKIPPED = 1_000
_BARS = 40
_TICKS_A_SECOND = 10
_LETTERS_OF_IDENTITY = 16


def cut_key(key: str) -> str:
    """Return a key as a page holds it."""
    # What is beyond it would differ at its end alone, which nobody reads; its length keeps two apart.
    return f"{key[:LONGEST_KEY]}… ({len(key):,} characters)" if len(key) > LONGEST_KEY else key


class Numbers(dict[str, int]):
    """The numbers of some words, in the order in which they are asked for."""

    def __missing__(self, word: str) -> int:
        return self.setdefault(word, len(self))


@dataclass
class Texts:
    """Texts, each once, by its number.

    Attributes:
        cut: the numbers of those that were too long, and are not whole.
    """

    all: Numbers = field(default_factory=Numbers)
    cut: list[int] = field(default_factory=list)

    def number(self, text: str) -> int:
        """Return the number of a text."""
        kept = cut_key(text)
        if kept is not text and kept not in self.all:
            self.cut.append(len(self.all))
        return self.all[kept]

    def shown(self) -> dict[int, str]:
        """Return how those are shown whose letters are escaped in them."""
        return {number: told for text, number in self.all.items() if "%" in text and (told := readable(text)) != text}


def difference_of(found: WordDiff) -> dict[str, Any]:
    """Return what a page shows of a difference."""
    return {
        "places": found.place_count,
        "removed": found.tokens_removed,
        "added": found.tokens_added,
        "telling": found.telling,
        "shown": [
            [
                *map(_passage, (place.before, place.removed, place.added, place.after)),
                place.tokens_removed,
                place.tokens_added,
            ]
            for place in found.places
        ],
    }


def _passage(text: str) -> str:
    return text if len(text) <= _LONGEST_PASSAGE else f"{text[:_LONGEST_PASSAGE]}…"


def page_of(report: Report, compare: Compare) -> dict[str, Any]:
    """Return what a page shows of an open report, whose rows are used up; all of it can be JSON.

    `compare` says which words of rows' documents differ.
    """
    seen = Counter(asdict(report.left_out))
    # The most doubtful, and the most doubtful first.
    rows = heapq.nsmallest(MOST_ROWS, _counted(chain(report.duplicates, report.similar), seen), key=order_of_doubt)
    texts, titles = Texts(), Texts()
    columns = _columns(rows, texts, titles)
    return {
        "identity": _identity(report),
        "runs": list(report.runs),
        "host": report.host,
        "counts": _counts(report, seen, are_pages=any(columns["hosts"]) or bool(report.hosts)),
        "rules": {rule.short: [rule.plain, str(rule)] for rule in Rule},
        "rows": columns,
        "rows_cut": seen["rows"] - len(rows),
        "differences": dict(_differences(rows, compare)),
        "most_compared": MOST_COMPARED,
        "hosts": [[host.host, host.kept, host.exact, host.near] for host in report.hosts],
        "host_count": report.host_count,
        "over_limit": [asdict(each) for each in report.over_limit],
        "address_rules": [
            [*each.cells(), [list(map(readable, example)) for example in each.examples]]
            for each in report.address_rules
        ],
        "timeline": _timeline(report),
        "not_examined": [asdict(each) for each in report.not_examined],
        "skip_counts": dict(report.skip_counts),
        "skipped": list(_skipped(report)),
        # Last, as the columns number them.
        "keys": list(texts.all),
        "shown": texts.shown(),
        "titles": list(titles.all),
        "keys_cut": texts.cut,
    }


def _counted(rows: Iterable[RelatedRow], seen: Counter[str]) -> Iterator[RelatedRow]:
    """Pass rows on, and count those too that the page has no room for."""
    for row in rows:
        seen["rows"] += 1
        seen["doubtful"] += is_doubtful(row)
        seen["similar"] += not row.verdict.is_duplicate
        yield row


def _counts(report: Report, seen: Counter[str], *, are_pages: bool) -> dict[str, int]:
    """Return what the page begins with.

    Args:
        report: the report.
        seen: how many of its rows are doubtful, and how many similar.
        are_pages: whether the documents have addresses.
    """
    exact, near = report.totals[Verdict.EXACT_DUPLICATE], report.totals[Verdict.NEAR_DUPLICATE]
    dropped = exact.documents - exact.kept, near.documents - near.kept
    return {
        "documents": sum(total.documents for total in report.totals.values()),
        "dropped": sum(dropped),
        "exact": dropped[0],
        "near": dropped[1],
        "doubtful": seen["doubtful"],
        "similar": seen["similar"],
        "marked": exact.kept + near.kept,
        "text_bytes": sum(total.text_bytes for total in report.totals.values()),
        "saved_bytes": exact.text_bytes + near.text_bytes - exact.kept_bytes - near.kept_bytes,
        "are_pages": are_pages,
    }


def _columns(rows: list[RelatedRow], texts: Texts, titles: Texts) -> dict[str, Any]:
    """Return the columns of the rows; words of which there are few stand as their numbers in a list beside them."""
    verdicts, rules, kept, hosts, runs = (Numbers() for _ in range(5))
    joined = join_clusters((row.original, row.second) for row in rows if row.second is not None)
    return {
        "verdict": [verdicts[row.verdict.value] for row in rows],
        "distance": [row.distance for row in rows],
        "similarity": [round(row.similarity, 3) for row in rows],
        "dropped": [texts.number(row.dropped) for row in rows],
        "original": [texts.number(row.original) for row in rows],
        "cluster": [texts.number(joined.get(row.original, row.original)) for row in rows],
        "matched": [None if row.matched == row.original else texts.number(row.matched) for row in rows],
        "run": [runs[row.run] for row in rows],
        "decided": [round(row.decided, 1) for row in rows],
        "kept": [None if row.kept is None else kept[row.kept] for row in rows],
        "rule": [None if row.rule is None else rules[row.rule] for row in rows],
        "host": [hosts[host_of(row.dropped)] for row in rows],
        "doubtful": [int(is_doubtful(row)) for row in rows],
        "lost": [row.lost or 0 for row in rows],
        "places": [row.places or 0 for row in rows],
        "title": [titles.number(row.title) if row.title else None for row in rows],
        "original_title": [titles.number(row.original_title) if row.original_title else None for row in rows],
        "changed": [int(row.has_changed) for row in rows],
        # Last, as they are numbered above.
        "verdicts": list(verdicts),
        "rules": list(rules),
        "kept_as": list(kept),
        "hosts": list(hosts),
        "runs": list(runs),
    }


def _differences(rows: list[RelatedRow], compare: Compare) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what differs between the most doubtful pairs, by the numbers of their rows."""
    numbers = [number for number, row in enumerate(rows) if row.verdict is not Verdict.EXACT_DUPLICATE][:MOST_COMPARED]
    for number, found in zip(numbers, compare([rows[each] for each in numbers]), strict=True):
        if found is not None:
            yield number, difference_of(found)


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
