"""Sending items through the stage: a spider that yields what it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy

from tests.crawling import Outcome
from tests.texts import document, edited, form

ADDONS = {"dedup.DedupAddon": 500}
A, B = document(200, "a"), document(200, "b")
NEAR_A = edited(A, 6)
FORM = form(200, 14, "form")


class ItemsSpider(scrapy.Spider):
    """Yields the given items from one callback."""

    name = "items"

    def __init__(self, items: list[Any], name: str = "items") -> None:
        super().__init__(name)
        self.items = items

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request("data:text/plain,x", self.parse)

    def parse(self, response: Any) -> Iterator[Any]:
        yield from self.items


def url(number: object) -> str:
    return f"https://example.com/{number}"


def four() -> list[dict[str, Any]]:
    """Two different texts, and an exact and a near copy of the first one."""
    return [{"url": url(number), "text": text} for number, text in enumerate((A, B, A, NEAR_A))]


def urls(outcome: Outcome, field: str = "url") -> list[str]:
    return sorted(str(item[field] if isinstance(item, dict) else getattr(item, field)) for item in outcome.items)
