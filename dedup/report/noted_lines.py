"""What a run could not decide, as a part of the table for people."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dedup.display import plain, readable
from dedup.report.columns import GAP, aligned, fit, more
from dedup.report.contents import Report

_INDENT = 12


def noted_lines(report: Report, width: int | None) -> Iterator[str]:
    """Write what was not examined and what was skipped, if anything was.

    Args:
        report: an open report; its skipped pages are used up.
        width: columns of the terminal; None where nothing has to be cut.

    Yields:
        The lines, without line ends; an empty one first.
    """
    if report.not_examined:
        yield ""
        yield f"{'items':>{_INDENT}}{GAP}not examined"
        for each in report.not_examined:
            yield f"{each.count:>{_INDENT},}{GAP}{plain(each.item_class) or 'dict'}: {plain(each.reason)}"
            fields = f"has {plain(each.fields)}" if each.fields else "has no field"
            yield f"{'':{_INDENT}}{GAP}{fields}: set {each.setting}"
    if report.skip_counts:
        yield ""
        rows = [(plain(reason), f"{count:,}") for reason, count in report.skip_counts.items()]
        yield from aligned(("skipped", "pages"), rows, width)
        yield ""
        yield from _skipped(report, width)


def _skipped(report: Report, width: int | None) -> Iterator[str]:
    space = None if width is None else width - _INDENT - len(GAP)
    for page in islice(report.skipped, report.max_skipped):
        detail = f" ({plain(page.detail)})" if page.detail else ""
        yield fit(f"{plain(page.reason)}{detail}", width)
        yield f"{'':{_INDENT}}{GAP}{fit(readable(page.key), space)}"
        if page.referrer:
            yield f"{'linked from':>{_INDENT}}{GAP}{fit(readable(page.referrer), space, readable(page.key))}"
    yield from more(sum(report.skip_counts.values()) - report.max_skipped, "page")
