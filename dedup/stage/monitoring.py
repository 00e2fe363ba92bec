"""What the log says of the items of a crawl: where text and key are found, what is not examined, what is suspect."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from scrapy.crawler import Crawler

from dedup.console import counted, logged, readable
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document
from dedup.rules.other_fields import FOR_ITS_KEY
from dedup.rules.scope import host_of, owner_of
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.stage.item_settings import ItemSettings, ItemView, ShortTexts
from dedup.stage.pending import PendingItem, Reading
from dedup.store.notes import EXEMPT, Unexamined

logger = logging.getLogger(__name__)

WARN_AFTER = 20
"""So many items pass before the first warning: now and then one has no text."""

_FIELDS_NAMED = 20
_SOURCES_NAMED = 10
_MOST_COUNTED = 1_000
_FEWEST_PAGES = 5
_FEWEST_ITEMS = 5
_DROPPED_NAMED = 2
_MOST_CROWDS = 100_000
_NOT_THEIR_OWN = (Rule.SAME_SHORT_TEXT, Rule.THIN_TEXT)

NO_TEXT = "no text"
UNCLEAR = "it is not clear which field is the text"
NO_ITEM = "no item"
NOT_ANALYSED = "could not be analysed"
SHORT = "short text, as DEDUP_SHORT_TEXTS says"
NOT_READ = "reading their fields raised"
_STAND_BEFORE = "The stage has to stand before the pipeline that makes them of items: DEDUP_AFTER, or ITEM_PIPELINES"


class UnexaminedItems:
    """Counts the items that could not be examined, and warns of them: after some, and at the end."""

    def __init__(self) -> None:
        # By item class (empty: dicts) and reason.
        self._counts: Counter[tuple[str, str]] = Counter()
        self._fields: dict[tuple[str, str], dict[str, None]] = {}
        self._has_warned = False

    def note(self, view: ItemView, reason: str = NO_TEXT) -> None:
        """Count an item; the twentieth brings the first warning."""
        kind = view.class_name, reason
        self._counts[kind] += 1
        named = self._fields.setdefault(kind, {})
        named.update(dict.fromkeys(map(str, islice(view.fields, _FIELDS_NAMED - len(named)))))
        if not self._has_warned and self._counts.total() >= WARN_AFTER:
            self._has_warned = True
            self._warn()

    def rows(self) -> Iterator[Unexamined]:
        """Yield what was counted."""
        for (item_class, reason), count in self._counts.items():
            yield item_class, tuple(self._fields[item_class, reason]), reason, count

    def warn_at_the_end(self, examined: int) -> None:
        """Warn once more, if there is anything to warn of; so many items were examined."""
        if self._counts:
            total = examined + self._counts.total()
            self._warn(f" (of {counted(total, 'item')} in all)")

    def _warn(self, of_all: str = "") -> None:
        for item_class, fields, reason, count in self.rows():
            named = readable(", ".join(fields)) or "none"
            logger.warning(
                "%s%s%s %s not examined for duplicates: %s. %s",
                counted(count, "item"),
                f" of {item_class}" if item_class else "",
                of_all,
                "was" if count == 1 else "were",
                reason,
                _STAND_BEFORE if reason == NO_ITEM else f"Their fields: {named}. {_way_out(item_class, reason)}",
            )


def _way_out(item_class: str, reason: str) -> str:
    if reason.startswith(NOT_READ):
        return "A function that a DEDUP_*_FIELD names returns None where an item has no such value"
    is_none_known = reason == NO_TEXT or reason.startswith(UNCLEAR)
    advice = "Name the one with the text" if is_none_known else "If the text is in another one, name that"
    if not item_class:
        return f"{advice}: DEDUP_TEXT_FIELD = 'NAME'"
    rule = f"DEDUP_TEXT_FIELD = {{'{item_class}': 'NAME'}}"
    return f"{advice}: {rule}, or None in the place of 'NAME' if they have none"


class _Dropped:
    """The items of a class that were dropped as copies of one original: how many, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.named: list[str] = []

    def note(self, key: str) -> None:
        self.count += 1
        if len(self.named) < _DROPPED_NAMED:
            self.named.append(key)


class ItemMonitor:
    """Counts the items of a crawl, and warns once of each thing that looks wrong.

    - Stats: `dedup/not_examined`, `dedup/analysis_failed`, `dedup/clusters_over_limit`, `dedup/hosts_over_limit`.
    - A cluster that grows large, and a host of which nearly all is a copy, may be a crawler trap, and may be a mistake:
      a page that says no more than "please log in" under a thousand addresses. Each process counts for itself; the
      report counts all.

    Args:
        crawler: the crawl.
        settings: the limits of clusters and hosts, and what is short.
        items: what becomes of short texts.
        behind: the names of the pipelines behind the stage.

    Attributes:
        examined: how many items got a decision.
        unexamined: those that could get none.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings, items: ItemSettings, behind: Sequence[str]) -> None:
        self.examined = 0
        self.unexamined = UnexaminedItems()
        self._stats = crawler.stats
        self._settings = settings
        self._keeps_short = items.short_texts is ShortTexts.SIMILAR
        self._behind = behind
        # By the classes of items or their sites, and by the originals whose text they have with other fields.
        self._items: Counter[str] = Counter()
        self._equal: Counter[tuple[str, str]] = Counter()
        self._clusters: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        self._duplicates: Counter[str] = Counter()
        self._of_earlier_runs = 0
        # By classes of items, and by their originals.
        self._examined: Counter[str] = Counter()
        self._dropped: dict[str, dict[str, _Dropped]] = {}
        self._sources: set[tuple[str, str, str]] = set()
        # What was warned of, each with its kind.
        self._warned: set[tuple[str, str]] = set()

    def note_unexamined(self, pending: PendingItem, reason: str) -> Unexamined:
        """Count an item that is not examined, and return what is noted of it."""
        self._stats.inc_value("dedup/not_examined")
        if reason in (NOT_ANALYSED, EXEMPT, SHORT) or hasattr(pending.item, "not_compared"):
            return pending.class_name, (), reason, 1
        self.unexamined.note(pending, reason)
        return pending.class_name, tuple(map(str, islice(pending.fields, _FIELDS_NAMED))), reason, 1

    def note_unread(self, error: Exception) -> str:
        """Return why an item is not examined whose fields could not be read; an error of each class is logged once."""
        reason = f"{NOT_READ} {type(error).__name__}"
        if self._is_first("error", reason):
            logger.warning("an item could not be read, and passes: %s: %s", type(error).__name__, error)
        return reason

    def note_not_analysed(self, pending: PendingItem, error: Exception) -> None:
        """Count an item whose text could not be analysed."""
        key = logged(pending.reading.key)
        logger.warning("%s could not be analysed, and passes: %s: %s", key, type(error).__name__, error)
        self._stats.inc_value("dedup/analysis_failed")

    def note(self, pending: PendingItem) -> None:
        """Count an item with its decision."""
        decision, document = pending.decision, pending.document
        assert decision is not None
        assert document is not None
        self.examined += 1
        if decision.rule is not Rule.ERASED:
            self._note_crowd(decision)
        self._note_earlier(decision)
        self._note_dropped(pending.reading, decision)
        self._note_text(pending.reading, decision, is_short=is_short(document, self._settings.short_tokens))
        self._log_source(pending.reading)

    def _is_first(self, kind: str, name: str = "") -> bool:
        """Whether nothing of this kind and name was warned of so far; now it is."""
        count = len(self._warned)
        self._warned.add((kind, name))
        return len(self._warned) > count

    def _note_crowd(self, decision: Decision) -> None:
        settings, host = self._settings, host_of(decision.key)
        for counter in (self._clusters, self._documents, self._duplicates):
            if len(counter) > _MOST_CROWDS:
                counter.clear()
        self._documents[host] += 1
        if not decision.verdict.is_duplicate:
            return
        self._duplicates[host] += 1
        self._clusters[str(decision.original)] += 1
        if self._clusters[str(decision.original)] == settings.max_cluster:
            found = f"the cluster of {logged(str(decision.original))} has more than {settings.max_cluster:,} members"
            self._warn_of_crowd("clusters", found)
        documents, duplicates = self._documents[host], self._duplicates[host]
        if host and settings.are_mostly_duplicates(documents, duplicates) and self._is_first("host", host):
            found = f"{duplicates:,} of {documents:,} documents of {logged(host)} are duplicates"
            self._warn_of_crowd("hosts", found)

    def _warn_of_crowd(self, kind: str, found: str) -> None:
        self._stats.inc_value(f"dedup/{kind}_over_limit")
        logger.warning("%s: look at them; if it is a trap, DEDUP_FOLLOW_DUPLICATES = False ends it", found)

    def _note_earlier(self, decision: Decision) -> None:
        """Warn of a run of which most items are dropped as copies of what earlier ones have seen."""
        self._of_earlier_runs += self._settings.drops(decision.verdict) and decision.details.is_of_earlier_run
        is_most = self._of_earlier_runs >= WARN_AFTER and 2 * self._of_earlier_runs > self.examined
        if is_most and self._is_first("earlier runs"):
            logger.warning(
                "most items are dropped as copies of items of earlier runs, such as %s of %s; "
                "DEDUP_MEMORY = 'run' compares the items of one run alone",
                *(logged(decision.key), logged(str(decision.original))),
            )

    def _note_dropped(self, reading: Reading, decision: Decision) -> None:
        """Count what an original has taken of its class; warn once some are counted, see `warn_at_the_end`."""
        # Dicts are of one class, whatever they are.
        kind = f" of {reading.item_class}" if reading.item_class else f" (text: {reading.source})"
        self._examined[kind] += 1
        if not self._settings.drops(decision.verdict):
            return
        by_original = self._dropped.setdefault(kind, {})
        dropped = by_original.setdefault(str(decision.original), _Dropped())
        dropped.note(decision.key)
        if len(by_original) > _MOST_COUNTED:
            most = sorted(by_original, key=lambda original: by_original[original].count)[_MOST_COUNTED // 2 :]
            self._dropped[kind] = {original: by_original[original] for original in most}
        if self._examined[kind] >= WARN_AFTER:
            self._warn_of_taken(kind, str(decision.original), dropped)

    def _warn_of_taken(self, kind: str, original: str, dropped: _Dropped) -> None:
        """Warn where one original has taken more than half of a class: no run is emptied without a word."""
        total = self._examined[kind]
        if total < _FEWEST_ITEMS or 2 * dropped.count <= total or not self._is_first("taken", kind):
            return
        logger.warning(
            "%d of %s%s were dropped as copies of %s, such as %s; if they are other things, name a field that tells "
            "them apart: DEDUP_DISTINCT_FIELDS = ['*', 'NAME'], or the one with their own text: DEDUP_TEXT_FIELD%s",
            dropped.count,
            counted(total, "item"),
            kind,
            logged(original),
            " and ".join(map(logged, dropped.named)),
            self._stands_before("; if a pipeline makes that"),
        )

    def _stands_before(self, condition: str) -> str:
        """Name the setting by which the stage runs behind a pipeline, where there is one."""
        if not self._behind:
            return ""
        named = ", ".join(self._behind)
        return f"{condition}, let the stage run behind it ({named}): DEDUP_AFTER = [{self._behind[0]!r}]"

    def warn_at_the_end(self) -> None:
        """Warn of what could not be examined, and of what has taken most of a class with few items."""
        self.unexamined.warn_at_the_end(self.examined)
        for kind, dropped in list(self._dropped.items()):
            original = max(dropped, key=lambda each: dropped[each].count)
            self._warn_of_taken(kind, original, dropped[original])

    def _note_text(self, reading: Reading, decision: Decision, *, is_short: bool) -> None:
        """Warn of a text that most items of a class have, or several pages of a site, and that is not their own."""
        owner = reading.item_class if self._keeps_short else owner_of(reading.key)
        self._items[owner] += 1
        is_equal = decision.rule is Rule.OTHER_FIELDS and decision.similarity == 1
        if ("text", owner) in self._warned or not (is_equal or decision.rule in _NOT_THEIR_OWN):
            return
        if len(self._equal) == _MOST_COUNTED:
            self._equal.clear()
        equal = owner, str(decision.original)
        self._equal[equal] += 1
        if self._keeps_short:
            is_of_most = self._equal[equal] >= WARN_AFTER and 2 * self._equal[equal] > self._items[owner]
            is_suspect = not is_short and (is_of_most or not is_equal)
        else:
            is_suspect = self._equal[equal] == _FEWEST_PAGES
        if is_suspect and self._is_first("text", owner):
            self._warn_of_text(owner, decision)

    def _warn_of_text(self, owner: str, decision: Decision) -> None:
        if not self._keeps_short:
            logger.warning(
                "%s: some pages have the text of %s under other titles, and are kept; look at it: "
                "their own text was not found, and if scripts write it, the pages have to be rendered",
                *(logged(owner), logged(str(decision.original))),
            )
            return
        of = f" of {owner}" if owner else ""
        behind = self._stands_before("; if a pipeline makes their own")
        message = "most items%s have the text of %s, and are kept since other fields of theirs differ%s"
        logger.warning(message, of, logged(str(decision.original)), behind)

    def _log_source(self, reading: Reading) -> None:
        source = (reading.item_class, reading.source, reading.key_field)
        if source in self._sources or len(self._sources) == _SOURCES_NAMED:
            return
        self._sources.add(source)
        values = reading.fields.values.items()
        names = [name for name, each in values if not all(value.startswith(FOR_ITS_KEY) for value in each)]
        logger.info(
            "text: %s; key: %s%s%s",
            readable(reading.source) or "the item's signature",
            readable(reading.key_field) or "the response's URL and the text",
            f"; told apart by: {readable(', '.join(names))}" if names else "",
            f"; items of {reading.item_class}" if reading.item_class else "",
        )


def is_short(document: Document, tokens: int) -> bool:
    """Whether the text of a document has fewer than so many tokens; one without any is not short."""
    return document.signature is not None and 0 < document.signature.sketch.tokens < tokens
