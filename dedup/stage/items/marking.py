"""Writing the verdict on an item into the item, or beside it."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.rules.decision import Decision
from dedup.stage.items.settings import ItemSettings

logger = logging.getLogger(__name__)

MARK = "dedup"
"""The key of a response's meta under which marks stand, by the items' keys."""


class Marker:
    """Writes verdicts into the fields that the settings name.

    - `DEDUP_VERDICT_FIELD` receives the verdict, `DEDUP_REPLACES_FIELD` the keys of replaced copies.
    - With DEDUP_MARK_ONLY `response.meta["dedup"]` has, by the items' keys, verdict, original, distance and
      similarity of the duplicates that are passed on, and of what is similar. `DEDUP_MARK_FIELD` receives them, too.
    """

    def __init__(self, crawler: Crawler, settings: ItemSettings, *, is_marking_only: bool) -> None:
        self._stats = crawler.stats
        self._settings = settings
        self._is_marking_only = is_marking_only

    def mark(self, item: Any, decision: Decision, response: Response | None) -> None:
        """Write the decision on an item."""
        settings = self._settings
        if settings.verdict_field:
            self._set(item, settings.verdict_field, "VERDICT", decision.verdict.value)
        if settings.replaces_field and decision.outcome.replaces:
            self._set(item, settings.replaces_field, "REPLACES", decision.outcome.replaces)
        if self._is_marking_only and decision.original is not None:
            self._mark_related(item, decision, response)

    def _mark_related(self, item: Any, decision: Decision, response: Response | None) -> None:
        mark = {
            "verdict": decision.verdict.value,
            "original": decision.original,
            "distance": decision.distance,
            "similarity": decision.similarity,
        }
        if response is not None and response.request is not None:
            marks = response.meta.setdefault(MARK, {})
            if isinstance(marks, dict):  # what a project has put there itself stays
                marks[decision.key] = mark
        if self._settings.mark_field:
            self._set(item, self._settings.mark_field, "MARK", mark)

    def _set(self, item: Any, field: str, setting: str, value: object) -> None:
        try:
            ItemAdapter(item)[field] = value
        except Exception as error:  # of frozen items, items without such a field, validators of a project
            self._warn(field, setting, error)

    def _warn(self, field: str, setting: str, error: Exception) -> None:
        if not self._stats.get_value("dedup/not_annotated"):
            logger.warning("DEDUP_%s_FIELD = %r cannot be set on the items: %s", setting, field, error)
        self._stats.inc_value("dedup/not_annotated")
