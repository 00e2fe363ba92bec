"""The report as text for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from dedup.console import (
    EXACT,
    HEADING,
    NEAR,
    QUIET,
    SIMILAR,
    WARNING,
    Line,
    counted,
    exact_and_near,
    in_unit,
    joined,
    linked,
    linked_beside,
    lost_text,
    plain,
    readable,
    saved_text,
    similarity,
    styled,
    table,
)
from dedup.report.contents import Report, Row, Total
from dedup.report.examining import Shortlist, examined, why_not_flagged
from dedup.report.words import order_of_place, place_text
from dedup.rules.documents import Verdict

STYLES = {Verdict.EXACT_DUPLICATE: EXACT, Verdict.NEAR_DUPLICATE: NEAR, Verdict.SIMILAR: SIMILAR}
"""How a terminal shows what was decided."""

# Words: a sentence.
_FEWEST_LOST = 20

_FLAGGED = 10
_PLACES = 2
# Characters of a passage.
_PASSAGE = 160


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
        lost = f" +{row.lost:,} words" if row.lost and row.lost >= _FEWEST_LOST else ""
        rule = f"{row.rule or '-'}{lost}"
        figures = f"{similarity(row.similarity):>4} {counted(row.distance, 'bit'):>7}  {rule:<11}  "
        # Such addresses look the same here.
        escaped = " (escaped otherwise)" if readable(row.dropped) == readable(original) else ""
        shown = linked_beside(row.dropped, original)
        kind = f"{kind:<9}" if len(kind) < 10 else f"{kind} "
        yield joined("  ", styled(kind, STYLES.get(row.verdict, "")), figures, shown, escaped)
        if row.difference is not None:
            telling = [place for place in row.difference.places if place.kind.weight]
            for place in sorted(telling, key=order_of_place)[:_PLACES]:
                yield joined("    ", styled(f"{place.kind:<9}", QUIET), place_text(place, _PASSAGE))


def more(count: int, what: str) -> Iterator[str]:
    """Return how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if count > 1 else ''}"


def table_lines(report: Report) -> Iterator[Line]:
    """Write a report line by line; its rows are used up.

    What is read first when it has been written stands last: the flagged drops, the totals, what to do next.
    """
    yield report.title
    yield ""
    if not any(total.documents for total in report.totals.values()):
        yield "no documents"
        noted = list(_noted(report))
        yield from ["", *noted[:-1]] if noted else []
        return
    yield from _hosts(report)
    yield from _clusters(report)
    near = Shortlist(report.most_compared)
    duplicates = sum(total.documents for verdict, total in report.totals.items() if verdict.is_duplicate)
    if duplicates:
        yield styled("originals and their duplicates, with similarity, distance and rule", HEADING)
        yield from pair_lines(near.passing(report.duplicates))
        yield ""
    yield from similar_lines(report.similar)
    yield from _noted(report)
    rows = examined(near.rows(), report)
    flagged = [row for row in rows if row.is_flagged]
    if flagged:
        yield styled("flagged for review: near-duplicates that may say another thing", WARNING)
        yield from pair_lines(flagged[:_FLAGGED])
        yield from more(len(flagged) - _FLAGGED, "flagged page")
        yield ""
    yield from _over_limit(report)
    yield from _totals(report.totals)
    yield ""
    yield from _summary(report, len(flagged), why_not_flagged(report, rows))
    explained = rows[0] if rows else near.first
    if explained is not None and report.explaining:
        command = shlex.join([*report.explaining, plain(explained.dropped)])
        yield joined(styled("next", HEADING), f"  {command}")


def similar_lines(rows: Iterator[Row]) -> Iterator[Line]:
    """Write what was kept and resembles another document, an empty line last, if there is any."""
    first = next(rows, None)
    if first is not None:
        yield styled("similar pages, kept; please review", SIMILAR)
        yield from pair_lines(chain([first], rows))
        yield ""


def _totals(totals: Mapping[Verdict, Total]) -> Iterator[Line]:
    documents, size = _everything(totals)
    rows = [(verdict.value, total.documents, total.text_bytes) for verdict, total in totals.items() if total.documents]
    rows += [("total", documents, size)] if len(rows) > 1 else []
    shown = ((name, f"{count:,}", in_unit(text_bytes, size)) for name, count, text_bytes in rows)
    yield table(("verdict", ">documents", ">text"), shown)


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


def _over_limit(report: Report) -> Iterator[Line]:
    if report.over_limit:
        rows = (
            (styled(f"{each.kind} {readable(each.name)}", WARNING), f"{each.documents:,}", f"{each.duplicates:,}")
            for each in report.over_limit
        )
        yield table(("over a limit", ">documents", ">duplicates"), rows)
        yield ""


def _summary(report: Report, flagged: int, why_not: str) -> Iterator[Line]:
    totals = report.totals
    exact, near = totals[Verdict.EXACT_DUPLICATE], totals[Verdict.NEAR_DUPLICATE]
    documents, size = _everything(totals)
    kept = exact.kept + near.kept
    dropped = (exact.documents - exact.kept, near.documents - near.kept)
    counts = exact_and_near(*dropped, near.distances, near.similarities)
    sums = report.sums
    if sums.seen > documents:
        yield f"{sums.seen:,} seen: {sums.kept:,} kept, {sums.dropped:,} dropped, {sums.skipped:,} skipped"
    told = f"{sum(dropped):,} of {documents:,} documents dropped"
    yield joined(styled(told, HEADING), f": {counts}" if counts else "")
    if near.documents > near.kept:
        yield (
            styled(f"{flagged:,} flagged for review", WARNING) if flagged else styled("none flagged for review", QUIET)
        )
        if why_not:
            yield styled(why_not, QUIET)
    if kept:
        yield f"{counted(kept, 'duplicate')} kept, as nothing is dropped (DEDUP_MARK_ONLY)"
    saved = exact.text_bytes + near.text_bytes - exact.kept_bytes - near.kept_bytes
    lost = f"; lost {lost_text(near.lost_bytes)}" if near.lost_bytes else ""
    if saved:
        yield f"{saved_text(saved, size)} saved{lost}"


def _everything(totals: Mapping[Verdict, Total]) -> tuple[int, int]:
    """Return how many documents were decided, and the bytes of their texts."""
    return sum(total.documents for total in totals.values()), sum(total.text_bytes for total in totals.values())


def _noted(report: Report) -> Iterator[Line]:
    """Write what was not examined and what was skipped, if anything was, an empty line behind each."""
    if report.not_examined:
        rows = (
            (f"{each.count:,}", plain(each.item_class) or "dict", plain(each.reason), plain(each.fields), each.setting)
            for each in report.not_examined
        )
        yield table((">items", "not examined", "why", "fields", "set"), rows)
        yield ""
    for what, counts in (("skipped", report.skip_counts), ("not fetched", report.not_fetched)):
        if counts:
            yield f"{what}: {', '.join(f'{count:,} {plain(reason)}' for reason, count in counts.items())}"
    if number := sum(report.skip_counts.values()) + sum(report.not_fetched.values()):
        pages = (
            (
                f"{plain(page.reason)}{f' ({plain(page.detail)})' if page.detail else ''}",
                linked(page.key),
                linked_beside(page.referrer, page.key),
            )
            for page in islice(report.skipped, report.max_skipped)
        )
        yield table(("why", "page", "linked from"), pages)
        yield from more(number - report.max_skipped, "page")
        yield ""
