"""Projects of shapes that lose items to a stage: no thing is lost on any day, and copies are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.http import Response

from tests.crawling import Outcome, crawl_here
from tests.passing import ADDONS
from tests.projects.item_shapes import SHAPES, Item, Shape

MOST_LINES = 10
"""How many lines the stage may write in the log of a crawl, but for one a dropped item."""


class ShapeSpider(scrapy.Spider):
    """Yields a dozen items a page: what belongs together stands on one."""

    name = "shape"
    items: list[Item]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for first in range(0, len(self.items), 12):
            yield scrapy.Request(f"data:text/plain,{first}", cb_kwargs={"first": first})

    def parse(self, response: Response, first: int) -> Iterator[Item]:
        yield from self.items[first : first + 12]


def crawl(shape: Shape, day: int, **settings: Any) -> Outcome:
    items = [item | {"thing": f"thing://{item['thing']}"} for item in shape.items(day)]
    return crawl_here(ShapeSpider, {**shape.settings, "CONCURRENT_ITEMS": 1, **settings}, items=items)


def things(outcome: Outcome) -> Counter[str]:
    return Counter(item["thing"] for item in outcome.items)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_no_thing_is_lost_on_two_days_and_copies_are_dropped(shape: Shape, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    for day in range(2):
        off, on = crawl(shape, day), crawl(shape, day, ADDONS=ADDONS, DEDUP_DATABASE_URL=url)
        assert things(off).keys() == things(on).keys(), "a thing is lost"
        assert sum(things(on).values()) - len(things(on)) == shape.missed, things(on)
        told = [each.getMessage() for each in on.log if each.name.startswith("dedup")]
        assert len([each for each in told if not each.startswith(("dropped", "kept"))]) <= MOST_LINES
