"""The report as text for people."""

from __future__ import annotations

import shlex
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from dedup.console import (
    EXACT,
    HEADING,
    NEAR,
    SIMILAR,
    WARNING,
    Line,
    counted,
    exact_and_near,
    in_unit,
    joined,
    linked,
    lost_text,
    plain,
    program,
    readable,
    saved_text,
    similarity,
    styled,
    table,
)
from dedup.report.contents import RelatedRow, Report, Total, is_doubtful, order_of_doubt
from dedup.rules.documents import Kept, Verdict

KEPT = "*"
"""Marks a duplicate that was passed on all the same."""

STYLES = {Verdict.EXACT_DUPLICATE: EXACT, Verdict.NEAR_DUPLICATE: NEAR, Verdict.SIMILAR: SIMILAR}
"""How a terminal shows what was decided."""

# Words: a sentence.
_FEWEST_LOST = 20

_WHY_KEPT = {
    Kept.SAYS_MORE: "since they say more",
    Kept.MOVED: "since they have moved",
    Kept.MARKED: "as nothing is dropped (DEDUP_MARK_ONLY)",
}
_DOUBTFUL = 5


def pair_lines(rows: Iterable[RelatedRow]) -> Iterator[Line]:
    """Write pairs: each original, then a line for each document that is a duplicate of it, or resembles it."""
    original = None
    for row in rows:
        if row.original != original:
            original = row.original
            yield linked(original)
        kind = row.verdict.split()[0] + KEPT * (row.verdict.is_duplicate and row.kept is not None)
        lost = f" +{row.lost:,} words" if row.lost and row.lost >= _FEWEST_LOST else ""
        rule = f"{row.rule or '-'}{lost}"
        figures = f"{similarity(row.similarity):>4} {counted(row.distance, 'bit'):>7}  {rule:<11}  "
        # Such addresses look the same here.
        escaped = " (escaped otherwise)" if readable(row.dropped) == readable(original) else ""
        yield joined("  ", styled(f"{kind:<8}", STYLES.get(row.verdict, "")), figures, linked(row.dropped), escaped)


def more(count: int, what: str) -> Iterator[str]:
    """Return how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if count > 1 else ''}"


def table_lines(report: Report) -> Iterator[Line]:
    """Write a report line by line; its rows are used up.

    What is read first when it has been written stands last: the most doubtful drops, the totals, what to do next.
    """
    yield _about(report)
    yield ""
    if not any(total.documents for total in report.totals.values()):
        yield "no documents"
        noted = list(_noted(report))
        yield from ["", *noted[:-1]] if noted else []
        return
    yield from _hosts(report)
    yield from _clusters(report)
    doubtful: list[RelatedRow] = []
    duplicates = sum(total.documents for verdict, total in report.totals.items() if verdict.is_duplicate)
    if duplicates:
        yield styled("originals and their duplicates, with similarity, distance and rule", HEADING)
        yield from pair_lines(_ranked(report.duplicates, doubtful))
        yield ""
    yield from similar_lines(_ranked(report.similar, doubtful))
    yield from _noted(report)
    named = list(filter(is_doubtful, doubtful))
    # Of few all are before one's eyes.
    if named and duplicates > _DOUBTFUL:
        yield styled("the most doubtful of what was dropped", WARNING)
        yield from pair_lines(named)
        yield ""
    yield from _over_limit(report)
    yield from _totals(report.totals)
    yield ""
    yield from _summary(report)
    if doubtful and report.database:
        key = plain(doubtful[0].dropped)
        usual = [program("dedup"), "explain", "--dropped", key, "--database", report.database]
        words = [*report.explaining, key] if report.explaining else usual
        yield joined(styled("next", HEADING), f"  {shlex.join(words)}")


def similar_lines(rows: Iterator[RelatedRow]) -> Iterator[Line]:
    """Write what was kept and resembles another document, an empty line last, if there is any."""
    first = next(rows, None)
    if first is not None:
        yield styled("similar pages, kept; please review", SIMILAR)
        yield from pair_lines(chain([first], rows))
        yield ""


def _ranked(rows: Iterable[RelatedRow], doubtful: list[RelatedRow]) -> Iterator[RelatedRow]:
    """Pass on rows, and collect the most doubtful of them, the most doubtful first."""
    for row in rows:
        insort(doubtful, row, key=order_of_doubt)
        del doubtful[_DOUBTFUL:]
        yield row


def _about(report: Report) -> str:
    first, last = plain(report.runs[0]), plain(report.runs[-1])
    about = f"run {first}" if len(report.runs) == 1 else f"{len(report.runs):,} runs, {first} to {last}"
    return f"{about}, host {plain(report.host)}" if report.host else about


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
            f"{each.exact:,}",
            f"{each.near:,}",
            f"{each.share_dropped:.0%}",
        )
        for each in report.hosts
    )
    yield table(("host", ">kept", ">exact", ">near", ">dropped"), rows)
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


def _summary(report: Report) -> Iterator[Line]:
    totals = report.totals
    exact, near = totals[Verdict.EXACT_DUPLICATE], totals[Verdict.NEAR_DUPLICATE]
    documents, size = _everything(totals)
    kept = exact.kept + near.kept
    dropped = (exact.documents - exact.kept, near.documents - near.kept)
    counts = exact_and_near(*dropped, near.distances, near.similarities)
    told = f"{sum(dropped):,} of {documents:,} documents dropped"
    yield joined(styled(told, HEADING), f": {counts}" if counts else "")
    if kept:
        duplicates = "1 duplicate was" if kept == 1 else f"{kept:,} duplicates were"
        yield f"{KEPT} {duplicates} kept: {', '.join(why for kept, why in _WHY_KEPT.items() if report.kept[kept])}"
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
    if report.skip_counts:
        yield f"skipped: {', '.join(f'{count:,} {plain(reason)}' for reason, count in report.skip_counts.items())}"
        pages = (
            (
                f"{plain(page.reason)}{f' ({plain(page.detail)})' if page.detail else ''}",
                linked(page.key),
                linked(page.referrer),
            )
            for page in islice(report.skipped, report.max_skipped)
        )
        yield table(("why", "page", "linked from"), pages)
        yield from more(sum(report.skip_counts.values()) - report.max_skipped, "page")
        yield ""
