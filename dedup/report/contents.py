"""The contents of a report, in any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, NamedTuple

from dedup.addresses.address import pattern_of
from dedup.console import counted, percent, plain, readable
from dedup.report.addresses import LearntRule
from dedup.report.words import WordDiff
from dedup.rules.documents import Verdict
from dedup.rules.table import Rule

FEWEST_PLACES = 3
"""Where document and original each say what the other does not in so many places, it may be another thing."""

MOST_COMPARED = 10_000
"""How many rows of a report are compared word by word."""

SURE_SIMILARITY = 0.75
"""From this similarity on a near-duplicate of the paper's mode is not flagged where its words were not compared."""

NAMED_BY_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
"""What a run is called that nobody has named."""

_UNCHECKED = Rule.PAPER.short
_FLAGGED, _UNKNOWN, _KEPT, _SURE, _EXACT = range(5)


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs and the host that a report is about, and its limits.

    Attributes:
        run: the name of a run; empty: the last one.
        all_runs: every run, whatever `run` says.
        host: only documents of this host, `news.example` or `news.example:8080`; empty: of all.
        most_named: how many hosts and how many clusters are named at most; None: all.
    """

    run: str = ""
    all_runs: bool = False
    host: str = ""
    most_named: int | None = 20


@dataclass(frozen=True, slots=True)
class Total:
    """All decisions with the same verdict.

    Attributes:
        documents: how many there are; a document that was decided twice counts twice.
        text_bytes: size of their texts in UTF-8, as they were when they were last seen.
        distances: the smallest and the largest distance from an original; None without any.
        similarities: the smallest and the largest similarity to an original; None without any.
        kept: how many of them were passed on though they are duplicates, in runs that only mark them.
        kept_bytes: size of the texts of these.
        lost_bytes: size of what those that were dropped say and nothing stored does.
    """

    documents: int = 0
    text_bytes: int = 0
    distances: tuple[int, int] | None = None
    similarities: tuple[float, float] | None = None
    kept: int = 0
    kept_bytes: int = 0
    lost_bytes: int = 0


@dataclass(frozen=True, slots=True)
class HostTotal:
    """The decisions on one host's documents.

    Attributes:
        host: host and port as they stand in the keys, in lower case; empty for keys that are no URLs.
        kept: how many documents were passed on: what was new, similar or updated, and duplicates that were marked.
        unchanged: how many were seen before with the same text; DEDUP_DROP_UNCHANGED drops them.
        exact: how many exact duplicates were dropped.
        near: how many near duplicates were dropped.
    """

    host: str
    kept: int
    unchanged: int
    exact: int
    near: int

    @property
    def documents(self) -> int:
        """How many documents were decided."""
        return self.kept + self.unchanged + self.dropped

    @property
    def dropped(self) -> int:
        """How many documents were dropped as duplicates."""
        return self.exact + self.near

    @property
    def share_dropped(self) -> float:
        """The share of documents that were dropped as duplicates, 0 to 1."""
        return self.dropped / self.documents


@dataclass(frozen=True, slots=True)
class Cluster:
    """A leader and the documents that were dropped because of it, or because of others that are counted with it.

    Attributes:
        leader: the key of the leader.
        duplicates: how many different documents were dropped; the leader is not counted.
        members: the keys of a few of them, the earliest.
    """

    leader: str
    duplicates: int
    members: Sequence[str]


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A cluster, by the key of its leader, or a host of which so many documents are duplicates that it may be a trap.

    Limits: `max_cluster`, `max_drop_share` and `fewest_of_host` of `dedup.rules.settings.DedupSettings`.
    """

    kind: str
    name: str
    documents: int
    duplicates: int


class Row(NamedTuple):
    """One duplicate and its original, or one document that is kept and what it resembles.

    Attributes:
        verdict: exact or near duplicate; of a document that is none similar, or updated if its key was known.
        distance: bits in which the fingerprints of document and original differ.
        similarity: estimated Jaccard similarity of document and original.
        dropped: the key of the document.
        original: the key of the original, the leader of its cluster or of the one that it resembles.
        matched: the key of the member of the cluster that it was found by.
        run: the name of the run that decided it.
        decided: when, in seconds since 1970.
        is_kept: whether it was kept: it is no duplicate, or the run only marks them.
        rule: what decided, the short name of a `dedup.rules.table.Rule`; None of an earlier decision.
        lost: how many words the document says that nothing stored does, where it is a near-duplicate.
        places: in how many places each of the two says what the other does not, where it is one; see
            `dedup.rules.word_comparison.LostText`.
        title: what the document is called; empty where nobody knows.
        original_title: likewise, of the original.
        second: the key of a second original that the document is a copy of, too: their clusters are counted as one.
        has_changed: whether one of the two has another text since, which a later run found.
        difference: the words that differ; None where they were not compared.
    """

    verdict: Verdict
    distance: int
    similarity: float
    dropped: str
    original: str
    matched: str
    run: str
    decided: float
    is_kept: bool
    rule: str | None
    lost: int | None = None
    places: int | None = None
    title: str = ""
    original_title: str = ""
    second: str | None = None
    has_changed: bool = False
    difference: WordDiff | None = None

    @property
    def is_flagged(self) -> bool:
        """Whether a person should look at it: it was dropped, and may say another thing than its original."""
        if self.verdict is not Verdict.NEAR_DUPLICATE or self.is_kept:
            return False
        if self.difference is not None:
            return self.difference.weight > 0
        if self.rule == _UNCHECKED:
            return self.similarity < SURE_SIMILARITY
        return (self.places or 0) >= FEWEST_PLACES

    @property
    def review_order(self) -> tuple[int, float, float, int]:
        """What rows are sorted by: flagged drops, those that may be once they are compared, what was kept, the rest."""
        weight = 0.0 if self.difference is None else self.difference.weight
        if self.verdict is Verdict.EXACT_DUPLICATE:
            group = _EXACT
        elif self.verdict is not Verdict.NEAR_DUPLICATE:
            group = _KEPT
        elif self.is_flagged:
            group = _FLAGGED
        else:
            group = _SURE if self.is_kept or self.difference or (self.lost, self.places) == (0, 0) else _UNKNOWN
        return group, -weight, self.similarity, -self.distance

    @property
    def reason(self) -> str:
        """The sentence of the rule that decided, or the name of one that is not known; none came with a saved index."""
        if not self.rule:
            return "decided in an earlier run"
        return str(Rule.__members__.get(self.rule.upper(), self.rule))

    @property
    def alike(self) -> str:
        """How alike document and original are, for people."""
        return percent(self.similarity, is_same=self.verdict is Verdict.EXACT_DUPLICATE)

    @property
    def patterns(self) -> tuple[str, str]:
        """What the addresses of document and original have in common with others; without numbers themselves."""
        return pattern_of(self.dropped) or self.dropped, pattern_of(self.original) or self.original

    def as_object(self) -> dict[str, Any]:
        """Return it for a program, without the words that differ: the reason in words, the rule by its name."""
        shown = {name: value for name, value in self._asdict().items() if name != "difference"}
        return shown | {"reason": self.reason}


Compare = Callable[[Sequence[Row]], Iterator[WordDiff | None]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are read anew from the database each time that they are gone through.

    Attributes:
        read: reads them.
    """

    read: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.read()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that are not in a report, all of them behind those that are, see `Row.review_order`.

    Attributes:
        rows: how many they are.
        flagged: how many of them are flagged all the same.
        similar: how many of them were kept.
    """

    rows: int = 0
    flagged: int = 0
    similar: int = 0


@dataclass(frozen=True, slots=True)
class NotExamined:
    """Items of a class that were not examined for the same reason.

    Attributes:
        item_class: the name of the class.
        count: how many they were.
        reason: why.
        fields: the names of the fields that they have, with commas.
        setting: the setting that would help.
    """

    item_class: str
    count: int
    reason: str
    fields: str
    setting: str = "DEDUP_TEXT_FIELD"


class SkippedPage(NamedTuple):
    """A page that a run skipped, see `dedup.store.notes.Skipped`."""

    key: str
    reason: str
    detail: str
    referrer: str
    is_fetched: bool
    run: str


class Sums(NamedTuple):
    """How many pages or items there were in all, and what became of them."""

    seen: int
    kept: int
    dropped: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts of one run or of all.

    Attributes:
        runs: the names of the runs, in the order in which they started.
        host: the host that the report is confined to; empty: none.
        totals: by verdict, all of them.
        hosts: those with the most duplicates, most first.
        host_count: how many hosts there are in all.
        clusters: the largest, largest first.
        cluster_count: how many clusters there are in all.
        over_limit: clusters and hosts that are over a limit.
        not_examined: what was not examined; nothing where the report is confined to a host.
        skip_counts: how many pages were skipped, by reasons, the most frequent first.
        not_fetched: how many were not even asked for, likewise.
        is_crawl: whether its documents are the pages of a crawl.
        duplicates: every duplicate, dropped or passed on, those with the same original one after the other. They
            are read from the database while they are asked for, and only while the report is open.
        similar: every document that was kept and resembles another one, ordered and read like the duplicates: what a
            person should look at.
        skipped: every skipped page, those of the same reason one after the other, read like the duplicates, once.
        moments: when each document was decided, in seconds since 1970, and its verdict, likewise.
        explaining: the command that explains a dropped page, whose key is its last word; empty: there is none.
        reviewing: the command that shows the report with all texts; likewise.
        address_rules: by which addresses lead to copies, as all runs have taught them; only a page has them.
        left_out: what is missing among the duplicates and the similar ones, where they are more than can be held.
        started: when the first and the last of the runs started, in seconds since 1970; 0: of no runs.
        is_finished: whether the last of them has come to its end.
        most_compared: how many rows are compared at most, the first in the order of review.
        compare: says of rows, in their order, which words differ; None where that is not known. Only while the report
            is open.
    """

    runs: Sequence[str]
    host: str
    totals: Mapping[Verdict, Total]
    hosts: Sequence[HostTotal] = ()
    host_count: int = 0
    clusters: Sequence[Cluster] = ()
    cluster_count: int = 0
    over_limit: Sequence[OverLimit] = ()
    not_examined: Sequence[NotExamined] = ()
    skip_counts: Mapping[str, int] = field(default_factory=dict)
    not_fetched: Mapping[str, int] = field(default_factory=dict)
    is_crawl: bool = False
    duplicates: Iterable[Row] = ()
    similar: Iterable[Row] = ()
    skipped: Iterator[SkippedPage] = field(default_factory=lambda: iter(()))
    moments: Iterator[tuple[float, Verdict]] = field(default_factory=lambda: iter(()))
    explaining: Sequence[str] = ()
    reviewing: Sequence[str] = ()
    address_rules: Sequence[LearntRule] = ()
    left_out: LeftOut = LeftOut()
    started: tuple[float, float] = (0.0, 0.0)
    is_finished: bool = True
    most_compared: int = MOST_COMPARED
    compare: Compare = field(default=lambda rows: repeat(None, len(rows)), repr=False)

    @property
    def kept(self) -> dict[str, int]:
        """How many were kept, by why; of duplicates those that a run only marks."""
        counts = {verdict.value: total.documents for verdict, total in self.totals.items() if not verdict.is_duplicate}
        counts["not examined"] = sum(each.count for each in self.not_examined)
        counts["marked"] = sum(total.kept for total in self.totals.values())
        return counts

    @property
    def dropped(self) -> dict[str, int]:
        """How many were dropped, exact and near duplicates."""
        duplicates = {verdict: total for verdict, total in self.totals.items() if verdict.is_duplicate}
        return {verdict.split()[0]: total.documents - total.kept for verdict, total in duplicates.items()}

    @property
    def sums(self) -> Sums:
        """What became of all that was seen; items that were not examined are kept."""
        kept, dropped, skipped = (sum(each.values()) for each in (self.kept, self.dropped, self.skip_counts))
        return Sums(kept + dropped + skipped, kept, dropped, skipped)

    @property
    def bytes_saved(self) -> tuple[int, int]:
        """The size of the texts that were dropped, and of all."""
        duplicates = [total for verdict, total in self.totals.items() if verdict.is_duplicate]
        saved = sum(total.text_bytes - total.kept_bytes for total in duplicates)
        return saved, sum(total.text_bytes for total in self.totals.values())

    @property
    def title(self) -> str:
        """What it is about, for people: the site, the day, and the run if a person has named it."""
        largest = max(self.hosts, key=lambda host: host.documents, default=None)
        site = self.host or (largest.host if largest else "")
        others = 0 if self.host or not site else self.host_count - 1
        sites = f"{readable(site)} and {counted(others, 'other host')}" if others else readable(site)
        first, last = (f"{datetime.fromtimestamp(moment, UTC):%-d %B %Y, %H:%M} UTC" for moment in self.started)
        if len(self.runs) > 1:
            named, when = f"{len(self.runs):,} runs", f"{first} to {last}"
        else:
            # Without a name a run is called by its time.
            named, when = "" if NAMED_BY_TIME.fullmatch(self.runs[0]) else f"run {plain(self.runs[0])}", first
        unfinished = "" if self.is_finished else "not finished"
        return ", ".join(filter(None, (sites, named, when if all(self.started) else "", unfinished)))
