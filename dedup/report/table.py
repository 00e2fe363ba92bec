"""The report as a table for people: aligned, and cut to the width of their terminal."""

from __future__ import annotations

import shlex
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from dedup.display import columns_of, exact_and_near, lost_text, pad, plain, program, readable, unit_for
from dedup.report.columns import GAP, address, aligned, fit, more
from dedup.report.contents import RelatedRow, Report, Total
from dedup.report.doubt import is_doubtful, order_of_doubt
from dedup.report.rows import KEPT, dropped_lines, similar_lines
from dedup.rules.decision import Kept, Verdict
from dedup.terminal import HEADING, WARNING, Styled, styled

_WHY_KEPT = {
    Kept.KEEPER: "better copies",
    Kept.BRAKE: "by the brake",
    Kept.JOINED: "before their clusters were joined",
    Kept.SAYS_MORE: "since they say more",
    Kept.MARKED: "as nothing is dropped (DEDUP_MARK_ONLY)",
}
_INDENT = 12
_DOUBTFUL = 5


def table_lines(report: Report, width: int | None) -> Iterator[str]:
    """Write a report line by line, cut to a width if there is one; its rows are used up.

    What is read first when it has been written stands last: the most doubtful drops, the totals, what to do next.
    """
    yield _about(report)
    yield ""
    if not has_documents(report):
        yield "no documents"
        noted = list(_noted(report, width))
        yield from ["", *noted[:-1]] if noted else []
        return
    yield from _hosts(report, width)
    yield from _clusters(report, width)
    yield from _keepers(report, width)
    doubtful: list[RelatedRow] = []
    duplicates = sum(total.documents for verdict, total in report.totals.items() if verdict.is_duplicate)
    if duplicates:
        yield from dropped_lines(_ranked(report.duplicates, doubtful), width)
        yield ""
    yield from similar_lines(_ranked(report.similar, doubtful), width)
    yield from _noted(report, width)
    named = list(filter(is_doubtful, doubtful))
    # Of few all are before one's eyes.
    if named and duplicates > _DOUBTFUL:
        yield styled("the most doubtful of what was dropped", WARNING)
        yield from dropped_lines(iter(named), width)
        yield ""
    yield from _over_limit(report, width)
    yield from _totals(report.totals)
    yield ""
    yield from _summary(report)
    if doubtful and report.database:
        words = ["explain", "--dropped", plain(doubtful[0].dropped), "--database", report.database]
        yield Styled.of(styled("next", HEADING), f"{GAP}{program('dedup')} {shlex.join(words)}")


def _ranked(rows: Iterable[RelatedRow], doubtful: list[RelatedRow]) -> Iterator[RelatedRow]:
    """Pass on rows, and collect the most doubtful of them, the most doubtful first."""
    for row in rows:
        insort(doubtful, row, key=order_of_doubt)
        del doubtful[_DOUBTFUL:]
        yield row


def overview_lines(report: Report, width: int | None) -> Iterator[str]:
    """Write what a report is about, its totals, its hosts and what went over a limit."""
    yield _about(report)
    yield ""
    if not has_documents(report):
        yield "no documents"
        return
    yield from _totals(report.totals)
    yield ""
    yield from _hosts(report, width)
    yield from _over_limit(report, width)


def has_documents(report: Report) -> bool:
    """Say whether anything was decided."""
    return any(total.documents for total in report.totals.values())


def _about(report: Report) -> str:
    first, last = plain(report.runs[0]), plain(report.runs[-1])
    about = f"run {first}" if len(report.runs) == 1 else f"{len(report.runs):,} runs, {first} to {last}"
    return f"{about}, host {plain(report.host)}" if report.host else about


def _totals(totals: Mapping[Verdict, Total]) -> Iterator[str]:
    documents, size = _everything(totals)
    unit, factor = unit_for(size)
    rows = [(verdict.value, total.documents, total.text_bytes) for verdict, total in totals.items() if total.documents]
    return aligned(
        ("verdict", "documents", "text"),
        [
            (name, f"{count:,}", f"{text_bytes / factor:,.0f} {unit}")
            for name, count, text_bytes in [*rows, *([("total", documents, size)] if len(rows) > 1 else [])]
        ],
    )


def _hosts(report: Report, width: int | None) -> Iterator[str]:
    """Write what became of each host's documents, an empty line last, if there are several hosts."""
    if report.host_count <= 1:
        return
    rows = [
        (
            plain(host.host) or "(none)",
            f"{host.kept:,}",
            f"{host.exact:,}",
            f"{host.near:,}",
            f"{host.share_dropped:.0%}",
        )
        for host in report.hosts
    ]
    table = [("host", "kept", "exact", "near", "dropped"), *rows]
    # A column of zeros says nothing.
    heading, *rows = zip(*(column for column in zip(*table, strict=True) if {*column[1:]} != {"0"}), strict=True)
    yield from aligned(heading, rows, width)
    yield from more(report.host_count - len(rows), "host")
    yield ""


def _clusters(report: Report, width: int | None) -> Iterator[str]:
    clusters = [cluster for cluster in report.clusters if cluster.duplicates > 1]
    if not clusters:
        return
    yield styled("duplicates  largest clusters", HEADING)
    space = None if width is None else width - _INDENT - len(GAP)
    for cluster in clusters:
        yield Styled.of(f"{cluster.duplicates:>10,}{GAP}", address(cluster.leader, space))
        for member in cluster.members:
            yield Styled.of(f"{'':{_INDENT}}{GAP}", address(member, space, cluster.leader))
        for line in more(cluster.duplicates - len(cluster.members), ""):
            yield f"{'':{_INDENT}}{GAP}{line}"
    yield from more(report.cluster_count - len(clusters), "cluster")
    yield ""


def _over_limit(report: Report, width: int | None) -> Iterator[str]:
    if not report.over_limit:
        return
    rows = [
        (styled(f"{each.kind} {readable(each.name)}", WARNING), f"{each.documents:,}", f"{each.duplicates:,}")
        for each in report.over_limit
    ]
    yield from aligned(("over a limit", "documents", "duplicates"), rows, width)
    yield ""


def _keepers(report: Report, width: int | None) -> Iterator[str]:
    """Name the clusters whose best copy is not the one that came first."""
    if not report.keepers:
        return
    yield styled(f"{'keeper':>10}{GAP}of clusters whose leader is another copy", HEADING)
    space = None if width is None else width - _INDENT - len(GAP)
    for keeper, leader in report.keepers:
        yield Styled.of(f"{'':>10}{GAP}", address(keeper, space, leader))
        yield Styled.of(f"{'leader':>10}{GAP}", address(leader, space, keeper))
    yield from more(report.keeper_count - len(report.keepers), "cluster")
    yield ""


def _summary(report: Report) -> Iterator[str]:
    totals = report.totals
    exact, near = totals[Verdict.EXACT_DUPLICATE], totals[Verdict.NEAR_DUPLICATE]
    documents, size = _everything(totals)
    unit, factor = unit_for(size)
    kept = exact.kept + near.kept
    dropped = (exact.documents - exact.kept, near.documents - near.kept)
    counts = exact_and_near(*dropped, near.distances, near.similarities)
    told = f"{sum(dropped):,} of {documents:,} documents dropped"
    yield Styled.of(styled(told, HEADING), f": {counts}" if counts else "")
    if kept:
        duplicates = "1 duplicate was" if kept == 1 else f"{kept:,} duplicates were"
        yield f"{KEPT} {duplicates} kept: {', '.join(why for kept, why in _WHY_KEPT.items() if report.kept[kept])}"
    saved = exact.text_bytes + near.text_bytes - exact.kept_bytes - near.kept_bytes
    lost = f"; lost {lost_text(near.lost_bytes)}" if near.lost_bytes else ""
    if saved:
        yield f"{saved / factor:,.0f} of {size / factor:,.0f} {unit} of text saved{lost}"


def _everything(totals: Mapping[Verdict, Total]) -> tuple[int, int]:
    """Return how many documents were decided, and the bytes of their texts."""
    return sum(total.documents for total in totals.values()), sum(total.text_bytes for total in totals.values())


def _noted(report: Report, width: int | None) -> Iterator[str]:
    """Write what was not examined and what was skipped, if anything was, an empty line behind each."""
    if report.not_examined:
        yield styled(f"{'items':>{_INDENT}}{GAP}not examined", WARNING)
        for each in report.not_examined:
            yield f"{each.count:>{_INDENT},}{GAP}{plain(each.item_class) or 'dict'}: {plain(each.reason)}"
            fields = f"has {plain(each.fields)}" if each.fields else "has no field"
            yield f"{'':{_INDENT}}{GAP}{fields}: set {each.setting}"
        yield ""
    if report.skip_counts:
        counts = ", ".join(f"{count:,} {plain(reason)}" for reason, count in report.skip_counts.items())
        yield fit(f"skipped: {counts}", width)
        yield from _skipped_pages(report, width)
        yield ""


def _skipped_pages(report: Report, width: int | None) -> Iterator[str]:
    """Write a line a page."""
    reasons = max(columns_of(plain(reason)) for reason in report.skip_counts)
    for page in islice(report.skipped, report.max_skipped):
        detail = f" ({plain(page.detail)})" if page.detail else ""
        why = f"{pad(fit(plain(page.reason) + detail, width and width // 3), reasons)}{GAP}"
        linked = f"{GAP}linked from " if page.referrer else ""
        space = None if width is None else (width - columns_of(why + linked)) // (2 if linked else 1)
        origin = [linked, address(page.referrer, space, page.key)] if linked else []
        yield Styled.of(why, address(page.key, space, page.referrer), *origin)
    yield from more(sum(report.skip_counts.values()) - report.max_skipped, "page")
