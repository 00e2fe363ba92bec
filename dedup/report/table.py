"""The report as text for people: the answer in a few lines, then the pairs to look at first; on demand all of them."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from dedup.console import (
    EXACT,
    HEADING,
    LABEL,
    NEAR,
    QUIET,
    SIMILAR,
    WARNING,
    Line,
    counted,
    joined,
    labelled,
    linked,
    linked_beside,
    lost_text,
    parted,
    plain,
    readable,
    saved_text,
    styled,
    table,
)
from dedup.report.contents import Report, Row
from dedup.report.examining import Shortlist, examined, why_not_flagged
from dedup.report.words import order_of_place, place_text
from dedup.rules.documents import Verdict
from dedup.store.notes import EXEMPT

STYLES = {Verdict.EXACT_DUPLICATE: EXACT, Verdict.NEAR_DUPLICATE: NEAR, Verdict.SIMILAR: SIMILAR}
"""How a terminal shows what was decided."""

_FIRST = 10
# Words: a sentence.
_FEWEST_LOST = 20
_PLACES = 2
# Characters of a passage.
_PASSAGE = 160


def table_lines(report: Report, *, is_whole: bool = False) -> Iterator[Line]:
    """Write a report line by line.

    Args:
        report: the report, while it is open.
        is_whole: whether all pairs, hosts, clusters and skipped pages are written, too.
    """
    yield report.title
    yield ""
    if not report.sums.seen:
        yield "no documents"
        return
    near = Shortlist(report.most_compared)
    for _ in near.passing(report.duplicates):
        pass
    rows = examined(near.rows(), report)
    flagged = sum(row.is_flagged for row in rows)
    yield labelled(_answer(report, flagged, why_not_flagged(report, rows)))
    yield from _over_limit(report)
    yield from _not_examined(report, is_whole=is_whole)
    if first := [row for row in rows if row.is_flagged] if is_whole else rows[:_FIRST]:
        yield ""
        yield styled("duplicates, those whose differences may matter first", HEADING)
        yield from pair_lines(first)
    if is_whole:
        yield from _everything(report)
    elif near.passed > _FIRST:
        yield f"and {counted(near.passed - _FIRST, 'more duplicate')}: --all, or -o report.html, shows them"
    explained = rows[0] if rows else next(iter(report.similar), None)
    # What was replaced in a key, so that it can be printed, makes it another one.
    if explained is not None and report.explaining and plain(explained.dropped) == explained.dropped:
        if not is_whole:
            yield ""
        # As one line, which can be copied.
        key = explained.dropped
        command = shlex.join([*report.explaining, *(["--"] if key.startswith("-") else []), key])
        yield joined(styled(f"{'next':<{LABEL}}", HEADING), f"  {command}")


def _answer(report: Report, flagged: int, why_not: str) -> Iterator[tuple[str, str]]:
    """Yield what became of all that was seen, with labels; nothing of which there is none."""
    noun = "page" if report.is_crawl else "document"
    sums, (saved, size) = report.sums, report.bytes_saved
    lost, marked = report.totals[Verdict.NEAR_DUPLICATE].lost_bytes, report.kept["marked"]
    counts = (
        ("fetched" if report.is_crawl else "read", sums.seen, counted(sums.seen, noun)),
        ("kept", sums.kept, parted(report.kept, noun)),
        ("", marked, f"{counted(marked, 'duplicate')} kept, as nothing is dropped (DEDUP_MARK_ONLY)"),
        ("dropped", sums.dropped, parted(report.dropped, noun)),
        ("flagged", flagged, f"{counted(flagged, noun)}   near-duplicates whose differences may matter"),
        ("not checked", why_not, why_not),
        ("skipped", sums.skipped, parted(report.skip_counts, noun)),
        ("not fetched", sum(report.not_fetched.values()), parted(report.not_fetched, "address")),
        ("saved", saved, saved_text(saved, size)),
        ("lost", lost, lost_text(lost, noun)),
    )
    yield from ((label, text) for label, count, text in counts if count or label in ("kept", "dropped"))


def pair_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Write pairs: each original, then a line for each document that is a duplicate of it, or resembles it.

    Below a row that was compared the most decisive differences are shown.
    """
    original = None
    for row in rows:
        if row.original != original:
            original = row.original
            yield linked(original)
        kind = row.verdict.split()[0] + (" kept" if row.verdict.is_duplicate and row.is_kept else "")
        lost = f" (+{row.lost:,} words)" if row.lost and row.lost >= _FEWEST_LOST else ""
        # Such addresses look the same here.
        escaped = " (escaped otherwise)" if readable(row.dropped) == readable(original) else ""
        shown = linked_beside(row.dropped, original)
        figures = styled(f"{kind:<10}", STYLES.get(row.verdict, "")), f" {row.alike:>4}  "
        yield joined("  ", *figures, shown, escaped, "  ", styled(f"{row.reason}{lost}", QUIET))
        if row.difference is not None:
            telling = [place for place in row.difference.places if place.kind.weight]
            for place in sorted(telling, key=order_of_place)[:_PLACES]:
                yield joined(" " * 16, styled(f"{place.kind:<9}", QUIET), place_text(place, _PASSAGE))


def more(count: int, what: str) -> Iterator[str]:
    """Return how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if count > 1 else ''}"


def _everything(report: Report) -> Iterator[Line]:
    """Write all pairs, those with the same original together, then hosts, clusters and skipped pages."""
    yield ""
    if report.sums.dropped or report.kept["marked"]:
        yield styled("all duplicates, by original", HEADING)
        yield from pair_lines(report.duplicates)
        yield ""
    yield from _similar(report.similar)
    yield from _hosts(report)
    yield from _clusters(report)
    yield from _skipped(report)


def _similar(rows: Iterable[Row]) -> Iterator[Line]:
    """Write what was kept and resembles another document: alone, or as one of many addresses of a pattern."""
    firsts: dict[tuple[str, ...], Row] = {}
    reasons: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        firsts.setdefault(row.patterns, row)
        reasons[row.patterns][row.reason] += 1
    if not firsts:
        return
    yield styled("similar pages, kept; please review", SIMILAR)
    yield from pair_lines(row for patterns, row in firsts.items() if reasons[patterns].total() == 1)
    many = [(patterns, found) for patterns, found in reasons.items() if found.total() > 1]
    if many:
        told = ((f"{found.total():,}", *map(readable, patterns), ", ".join(found)) for patterns, found in many)
        yield table((">pages", "of the pattern", "similar to", "why"), told)
    yield ""


def _hosts(report: Report) -> Iterator[Line]:
    """Write what became of each host's documents, an empty line last, if there are several hosts."""
    if report.host_count <= 1:
        return
    rows = (
        (
            plain(each.host) or "(none)",
            f"{each.kept:,}",
            f"{each.unchanged:,}",
            f"{each.exact:,}",
            f"{each.near:,}",
            f"{each.share_dropped:.0%}",
        )
        for each in report.hosts
    )
    yield table(("host", ">kept", ">unchanged", ">exact", ">near", ">dropped"), rows)
    yield from more(report.host_count - len(report.hosts), "host")
    yield ""


def _clusters(report: Report) -> Iterator[Line]:
    clusters = [cluster for cluster in report.clusters if cluster.duplicates > 1]
    if clusters:
        rows = ((f"{cluster.duplicates:,}", linked(cluster.leader)) for cluster in clusters)
        yield table((">duplicates", "largest clusters"), rows)
        yield from more(report.cluster_count - len(clusters), "cluster")
        yield ""


def _skipped(report: Report) -> Iterator[Line]:
    pages = [
        (
            f"{plain(page.reason)}{f' ({plain(page.detail)})' if page.detail else ''}",
            linked(page.key),
            linked_beside(page.referrer, page.key),
        )
        for page in report.skipped
    ]
    if pages:
        yield table(("skipped", "page", "linked from"), pages)
        yield ""


def _over_limit(report: Report) -> Iterator[Line]:
    if report.over_limit:
        rows = (
            (styled(f"{each.kind} {readable(each.name)}", WARNING), f"{each.documents:,}", f"{each.duplicates:,}")
            for each in report.over_limit
        )
        yield ""
        yield table(("over a limit", ">documents", ">duplicates"), rows)


def _not_examined(report: Report, *, is_whole: bool) -> Iterator[Line]:
    """Write which items were not examined; by default those alone that a setting would let be."""
    rows = [
        (f"{each.count:,}", plain(each.item_class) or "dict", plain(each.reason), plain(each.fields), each.setting)
        for each in report.not_examined
        if is_whole or (each.setting and each.reason != EXEMPT)
    ]
    if rows:
        yield ""
        yield table((">items", "not examined", "why", "fields", "set"), rows)
