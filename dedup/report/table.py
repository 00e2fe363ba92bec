"""The report as a table for people: aligned, and cut to the width of their terminal."""

from __future__ import annotations

import re
import shlex
import textwrap
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from dedup.console import (
    EXACT,
    HEADING,
    NEAR,
    QUIET,
    SIMILAR,
    WARNING,
    Styled,
    columns_of,
    cut,
    exact_and_near,
    in_unit,
    joined,
    link_to,
    lost_text,
    padded,
    plain,
    program,
    readable,
    saved_text,
    similarity,
    styled,
)
from dedup.report.contents import RelatedRow, Report, Total, is_doubtful, order_of_doubt
from dedup.rules.documents import Kept, Verdict

GAP = "  "
NARROWEST_COLUMN = 12
LABEL = 13
"""Columns of the labels at the left."""
LABELS = "bold"


KEPT = "*"
"""Marks a duplicate that was passed on all the same."""

STYLES = {Verdict.EXACT_DUPLICATE: EXACT, Verdict.NEAR_DUPLICATE: NEAR, Verdict.SIMILAR: SIMILAR}
"""How a terminal shows what was decided."""

_SCHEME = re.compile("[a-z]+://")
# The columns get the width that the first rows need: nobody waits for the last of a million.
_ROWS_MEASURED = 1000
_WIDEST_COLUMN = 120
# In a narrower terminal the addresses need the room more.
_ROOM_FOR_RULE = 120
_NO_RULE = "-"
# Words: a sentence.
_FEWEST_LOST = 20

_WHY_KEPT = {
    Kept.SAYS_MORE: "since they say more",
    Kept.MOVED: "since they have moved",
    Kept.MARKED: "as nothing is dropped (DEDUP_MARK_ONLY)",
}
_INDENT = 12
_DOUBTFUL = 5


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """Align a first column of names, which is cut if need be, and columns of numbers.

    Args:
        heading: what stands over the columns.
        rows: as many cells each.
        width: columns of the terminal; None where nothing has to be cut.

    Yields:
        The lines, without line ends.
    """
    sizes = [max(map(columns_of, column)) for column in zip(heading, *rows, strict=True)]
    if width is not None:
        sizes[0] = max(NARROWEST_COLUMN, min(sizes[0], width - sum(sizes[1:]) - len(GAP) * len(sizes[1:])))
    yield styled(_line(heading, sizes), HEADING)
    for row in rows:
        yield _line(row, sizes)


def more(count: int, what: str) -> Iterator[str]:
    """Say how many more there are than were named, if there are any."""
    if count > 0:
        yield f"and {count:,} more {what}{'s' if what and count > 1 else ''}".rstrip()


def fit(text: str, width: int | None, beside: str = "") -> str:
    """Cut a text to a width, but not to less than the narrowest column, see `dedup.console.cut`."""
    return text if width is None else cut(text, max(width, NARROWEST_COLUMN), beside)


def address(key: str, width: int | None, beside: str = "") -> Styled:
    """Return a key like `fit`, readable, as a link to where it leads; `beside` is another key."""
    return styled(fit(readable(key), width, readable(beside)), link=link_to(key))


def _line(cells: Sequence[str], sizes: Sequence[int]) -> Styled:
    name, *numbers = cells
    first = name if columns_of(name) <= sizes[0] else cut(name, sizes[0])
    others = (padded(number, size, right=True) for number, size in zip(numbers, sizes[1:], strict=True))
    return joined(GAP, [padded(first, sizes[0]), *others])


def labelled(label: str, text: str, width: int, style: str = "") -> Iterator[str]:
    """Yield a text in lines of so many columns, with a label at the first."""
    for number, line in enumerate(textwrap.wrap(plain(text), width - LABEL, break_on_hyphens=False)):
        yield Styled.of(label_of("" if number else label), styled(line, style))


def labelled_name(label: str, name: str, width: int) -> str:
    """Return a name in one line, cut in its middle where it is too long."""
    return Styled.of(label_of(label), styled(cut(plain(" ".join(name.split())), width - LABEL), link=link_to(name)))


def label_of(label: str) -> Styled:
    """Return a label, with the spaces between it and what stands beside it."""
    return styled(f"{label:<{LABEL}}", LABELS)


def _rule_of(row: RelatedRow) -> str:
    rule = row.rule or _NO_RULE
    return f"{rule} +{row.lost:,} words" if row.lost and row.lost >= _FEWEST_LOST else rule


class _Column(NamedTuple):
    """A column before the addresses: what a row has in it, and how a terminal shows that."""

    heading: str
    cell: Callable[[RelatedRow], str]
    style: Callable[[RelatedRow], str] = lambda _: ""
    is_number: bool = False


_VERDICT = _Column(
    "verdict", lambda row: row.verdict.split()[0] + KEPT * bool(row.kept), lambda row: STYLES[row.verdict]
)
_DISTANCE = _Column("distance", lambda row: str(row.distance), is_number=True)
_SIMILARITY = _Column("similarity", lambda row: similarity(row.similarity), is_number=True)
_RULE = _Column("rule", _rule_of, lambda _: QUIET)


def dropped_lines(duplicates: Iterator[RelatedRow], width: int | None) -> Iterator[str]:
    """Write the duplicates, of which there are some; a column that says the same of all of them is left out."""
    first = list(islice(duplicates, _ROWS_MEASURED))
    columns = [_VERDICT, _DISTANCE, _SIMILARITY, *([_RULE] if width is None or width >= _ROOM_FOR_RULE else [])]
    # Of more rows nobody knows yet what they say.
    if 1 < len(first) < _ROWS_MEASURED:
        columns = [each for each in columns if len(set(map(each.cell, first))) > 1]
    return _lines(first, duplicates, columns, ("dropped", "original"), width)


def similar_lines(similar: Iterator[RelatedRow], width: int | None) -> Iterator[str]:
    """Write what was kept and resembles another document, an empty line last, if there is any."""
    first = list(islice(similar, _ROWS_MEASURED))
    if not first:
        return
    yield styled("similar, kept: look at these", SIMILAR)
    yield from _lines(first, similar, [_DISTANCE, _SIMILARITY, _RULE], ("document", "resembles"), width)
    yield ""


def _lines(
    first: Sequence[RelatedRow],
    others: Iterator[RelatedRow],
    columns: Sequence[_Column],
    names: tuple[str, str],
    width: int | None,
) -> Iterator[str]:
    """Write a heading, and a line a row: some columns, and two addresses, the other one where it is a new one."""
    sizes = [max(map(len, (each.heading, *map(each.cell, first)))) for each in columns]
    heading = GAP.join([*(padded(each.heading, size) for each, size in zip(columns, sizes, strict=True)), ""])
    urls = _UrlColumns(first, None if width is None else width - len(heading))
    yield styled(heading + GAP.join([padded(names[0], urls.dropped), names[1]]), HEADING)
    above = None
    for row in chain(first, others):
        cells = [
            padded(styled(each.cell(row), each.style(row)), size, right=each.is_number)
            for each, size in zip(columns, sizes, strict=True)
        ]
        yield joined(GAP, [*cells, *_keys(row, urls, above)])
        above = row.original


def _keys(row: RelatedRow, columns: _UrlColumns, above: str | None) -> tuple[str, str]:
    dropped, original = columns.show(row)
    is_above = row.original == above
    return (
        padded(styled(dropped, link=link_to(row.dropped)), columns.dropped),
        styled(".", QUIET) if is_above else styled(original, link=link_to(row.original)),
    )


class _UrlColumns:
    """The columns of a document and its original, as wide as the first rows need and the terminal allows."""

    def __init__(self, first: Sequence[RelatedRow], space: int | None) -> None:
        self._hidden_scheme = ""
        self.dropped, self.original = self._widest(first)
        self._is_cut = space is not None
        if space is None:
            self.dropped = min(self.dropped, _WIDEST_COLUMN)
            return
        space -= len(GAP)
        if self.dropped + self.original > space:
            schemes = Counter(match[0] for row in first if (match := _SCHEME.match(row.dropped)))
            self._hidden_scheme = "".join(scheme for scheme, _ in schemes.most_common(1))
            self.dropped, self.original = self._widest(first)
        self.dropped = min(self.dropped, max(NARROWEST_COLUMN, space // 2, space - self.original))
        self.original = space - self.dropped

    def show(self, row: RelatedRow) -> tuple[str, str]:
        dropped, original = self._keys(row)
        if not self._is_cut:
            return dropped, original
        return fit(dropped, self.dropped, original), fit(original, self.original, dropped)

    def _widest(self, rows: Sequence[RelatedRow]) -> list[int]:
        # Wide enough for its heading, too.
        return [max(NARROWEST_COLUMN, *map(columns_of, column)) for column in zip(*map(self._keys, rows), strict=True)]

    def _keys(self, row: RelatedRow) -> tuple[str, str]:
        keys = row.dropped, row.original
        dropped, original = (readable(key.removeprefix(self._hidden_scheme)) for key in keys)
        if dropped == original:
            # They differ in nothing but how letters are escaped.
            return plain(row.dropped), plain(row.original)
        return dropped, original


def table_lines(report: Report, width: int | None) -> Iterator[str]:
    """Write a report line by line, cut to a width if there is one; its rows are used up.

    What is read first when it has been written stands last: the most doubtful drops, the totals, what to do next.
    """
    yield _about(report)
    yield ""
    if not any(total.documents for total in report.totals.values()):
        yield "no documents"
        noted = list(_noted(report, width))
        yield from ["", *noted[:-1]] if noted else []
        return
    yield from _hosts(report, width)
    yield from _clusters(report, width)
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
        key = plain(doubtful[0].dropped)
        usual = [program("dedup"), "explain", "--dropped", key, "--database", report.database]
        words = [*report.explaining, key] if report.explaining else usual
        yield Styled.of(styled("next", HEADING), f"{GAP}{shlex.join(words)}")


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


def _totals(totals: Mapping[Verdict, Total]) -> Iterator[str]:
    documents, size = _everything(totals)
    rows = [(verdict.value, total.documents, total.text_bytes) for verdict, total in totals.items() if total.documents]
    return aligned(
        ("verdict", "documents", "text"),
        [
            (name, f"{count:,}", in_unit(text_bytes, size))
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


def _summary(report: Report) -> Iterator[str]:
    totals = report.totals
    exact, near = totals[Verdict.EXACT_DUPLICATE], totals[Verdict.NEAR_DUPLICATE]
    documents, size = _everything(totals)
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
        yield f"{saved_text(saved, size)} saved{lost}"


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
        why = f"{padded(fit(plain(page.reason) + detail, width and width // 3), reasons)}{GAP}"
        linked = f"{GAP}linked from " if page.referrer else ""
        space = None if width is None else (width - columns_of(why + linked)) // (2 if linked else 1)
        origin = [linked, address(page.referrer, space, page.key)] if linked else []
        yield Styled.of(why, address(page.key, space, page.referrer), *origin)
    yield from more(sum(report.skip_counts.values()) - report.max_skipped, "page")
