"""Projects of the shapes that lose items to a stage: what they store without it and with the one line, and its log.

Each item says which thing it is (`thing`, written as an address, by which the stage tells nothing), so that what is
stored can be counted by things; copies are the same thing.
`python -m benchmarks.shapes SHAPE on|off DAY` is one crawl of a project of some shape, in the working folder.
"""

from __future__ import annotations

import json
import logging
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import DropItem
from scrapy.http import Response

from benchmarks.processes import PROJECT, output_of, scratch_folder

Item = dict[str, Any]

MOST_LINES = 10
"""How many lines the stage may write in the log of a crawl, but for one a dropped item."""

_WALL = "a wall before each text"


def words(seed: object, count: int) -> str:
    """Return so many words, the same for the same seed."""
    chance = random.Random(str(seed))
    return " ".join(f"word{chance.randrange(5_000)}" for _ in range(count))


def filled_in(_: int) -> list[Item]:
    """Articles whose text a pipeline at 100 fills in; every fourth is a copy."""
    return [_article(n, n - (n % 4 == 3)) | {"text": "NULL", "filled": words(n - (n % 4 == 3), 200)} for n in range(36)]


def walled(_: int) -> list[Item]:
    """Articles with a wall of 80 words that a later pipeline takes away."""
    return [{"url": _url(n), "text": words("wall", 80), "thing": n} for n in range(60)]


def refused(_: int) -> list[Item]:
    """Stories of which the first of each two has no stock, which a pipeline asks for."""
    return [_article(n, n // 2) | {"stock": 5 if n % 2 else None} for n in range(48)]


def comments(_: int) -> list[Item]:
    """Comments and topics of one class: most are a few words; two long ones are posted twice."""
    short = ("+1", "Thank you!", "This.", "Me too")
    items = [{"id": n, "author": f"user{n % 30}", "text": short[n % 4], "thing": n} for n in range(120)]
    return items + [{"id": 200 + n, "author": "bot", "text": words(n % 2, 120), "thing": 200 + n % 2} for n in range(4)]


def described(_: int) -> list[Item]:
    """Products with one description of 30 words; every tenth is listed twice."""
    return [
        {"url": _url(n), "name": f"Mug {n % 36}", "price": 5 + n % 36, "description": words("mug", 30), "thing": n % 36}
        for n in range(40)
    ]


def moving(day: int) -> list[Item]:
    """Items without a URL, in lists of ten a page that move on by three each day."""
    return [{"quote": n, "text": words(n, 60), "thing": n} for n in range(3 * day, 161 + 3 * day)]


def updated(_: int) -> list[Item]:
    """Stories, each followed by an update with 150 words more, and by a copy."""
    items = []
    for n in range(20):
        story = words(n, 300)
        update = f"{story} {words(f'update {n}', 150)}"
        items += [
            {"url": f"{_url(n)}/{kind}", "text": text, "thing": f"{n} {thing}"}
            for kind, text, thing in (("1", story, "story"), ("2", update, "update"), ("3", story, "story"))
        ]
    return items


def jobs(_: int) -> list[Item]:
    """Jobs at three places each, some of them listed again with another place in the list."""
    places = ("Bern", "Basel", "Chur")
    listed = [(job, place) for job in range(12) for place in range(3)]
    return [
        {"url": f"{_url(job)}/{place}{again}", "title": "Nurse", "position": n, "text": words(f"job {job}", 150)}
        | {"jobLocation": {"address": {"addressLocality": places[place]}}, "thing": f"{job} {place}"}
        for again, some in (("", listed), ("?sort=date", listed[::4]))
        for n, (job, place) in enumerate(some)
    ]


def flats(_: int) -> list[Item]:
    """Flats of one house, each at two addresses."""
    return [
        {"url": f"{_url(n)}?from={page}", "text": words("house", 120), "floor": n // 4, "rooms": 2 + n % 4}
        | {"rent": {"amount": 900 + 10 * n, "currency": "EUR"}, "crawled": f"2026-11-25 10:{n:02}", "thing": n}
        for n in range(20)
        for page in ("list", "map")
    ]


def rows(_: int) -> list[Item]:
    """Variants of a product, a row each, all at its address."""
    return [
        {
            "url": _url(n // 8),
            "title": f"Shirt {n // 8}",
            "option": f"size {n % 8}",
            "body": words(f"shirt {n // 8}", 70),
        }
        | {"thing": n}
        for n in range(80)
    ]


def replies(_: int) -> list[Item]:
    """Posts, and replies that quote them in full and add a few words."""
    posts = [(n, f"user{n}", words(f"post {n}", 80)) for n in range(20)]
    replies = [(20 + n, f"user{n + 1}", f"{text} {words(f'reply {n}', 6)}") for n, _, text in posts]
    return [{"post_id": n, "author": by, "text": text, "thing": n} for n, by, text in [*posts, *replies]]


def syndicated(_: int) -> list[Item]:
    """Stories at four sites each, with other dates, authors and sections."""
    return [
        {"url": f"https://site{site}.example/{n}", "text": words(f"wire {n}", 200), "author": f"Editor {site}"}
        | {"date": f"2026-11-{site + 10}", "section": f"section {site}", "thing": n}
        for n in range(15)
        for site in range(4)
    ]


def _article(number: int, thing: int) -> Item:
    return {"url": _url(number), "text": words(thing, 200), "thing": thing}


def _url(number: object) -> str:
    return f"https://example.com/{number}"


class FillIn:
    """Fills in the text, as pipelines of projects do."""

    def process_item(self, item: Item) -> Item:
        """Take the text from another field."""
        return item | {"text": item.pop("filled", item["text"])}


class Validate:
    """That of Scrapy's documentation."""

    def process_item(self, item: Item) -> Item:
        """Refuse an item without stock."""
        if not item.get("stock"):
            raise DropItem("no stock", log_level="DEBUG")
        return item


SHAPES: dict[str, tuple[Callable[[int], list[Item]], dict[str, Any]]] = {
    "text made by a pipeline at 100": (filled_in, {"ITEM_PIPELINES": {FillIn: 100}}),
    "a wall before each text": (walled, {}),
    "validation at 800": (refused, {"ITEM_PIPELINES": {Validate: 800}}),
    "comments and topics": (comments, {}),
    "products with one description": (described, {}),
    "items without URL, two days": (moving, {}),
    "stories with updates": (updated, {}),
    "jobs by place": (jobs, {}),
    "flats of a house": (flats, {}),
    "variants, a row each": (rows, {}),
    "replies that quote": (replies, {}),
    "stories at four sites": (syndicated, {}),
}
"""The shapes, each with its items by the day and its settings."""


class ShapeSpider(scrapy.Spider):
    """Yields ten items a page."""

    name = "shape"
    items: list[Item]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Ask for all pages."""
        for first in range(0, len(self.items), 10):
            yield scrapy.Request(f"data:text/plain,{first}", cb_kwargs={"first": first})

    def parse(self, response: Response, first: int) -> Iterator[Item]:
        """Yield the items of a page."""
        yield from self.items[first : first + 10]


class _Lines(logging.Handler):
    """Counts what the stage writes in the log, but for one line a dropped item."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += not record.getMessage().startswith(("dropped", "kept"))


def main() -> None:
    """Crawl; print the things that were stored, and how many lines the stage has written, as JSON."""
    name, switch, day = sys.argv[1:]
    items, more = SHAPES[name]
    settings = {"LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False} | more
    if switch == "on":
        settings["ADDONS"] = {"dedup.DedupAddon": 500}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(ShapeSpider)
    stored: list[Any] = []
    lines = _Lines()
    logger = logging.getLogger("dedup")
    logger.setLevel(logging.INFO)
    logger.addHandler(lines)
    crawler.signals.connect(lambda item: stored.append(item["thing"]), scrapy.signals.item_scraped, weak=False)
    process.crawl(crawler, items=[item | {"thing": f"thing://{item['thing']}"} for item in items(int(day))])
    process.start()
    print(json.dumps({"stored": stored, "lines": lines.count}))


def run() -> dict[str, Any]:
    """Crawl each shape without the stage and with it, for two days each, in a folder without scrapy.cfg.

    Returns:
        The figures by shape; it has failed if a thing is lost, or the log is too long. A wall is noticed at its
        twentieth item: until then all are copies of each other.
    """
    figures: dict[str, Any] = {}
    print("                                     items stored      things lost   copies     lines of the log")
    print("                                     off   on   day 2  on   day 2    stored")
    for name in SHAPES:
        off, on = _crawl(name, "off"), _crawl(name, "on")
        lost = [len(set(before["stored"]) - set(after["stored"])) for before, after in zip(off, on, strict=True)]
        copies = sum(count - 1 for count in Counter(map(str, on[0]["stored"])).values())
        counts = [len(each["stored"]) for each in (off[0], *on)]
        lines = max(each["lines"] for each in on)
        print(
            f"{name:34}  {counts[0]:>4}  {counts[1]:>3}  {counts[2]:>5}  {lost[0]:>2}  {lost[1]:>6}"
            f"  {copies:>8}  {lines:>7}"
        )
        figures[name] = {"stored": counts, "lost": lost, "copies": copies, "lines": lines}
    figures["failed"] = any(
        each["lines"] > MOST_LINES or (any(each["lost"]) and name != _WALL) for name, each in figures.items()
    )
    return figures


def _crawl(name: str, switch: str) -> list[dict[str, Any]]:
    # There is no scrapy.cfg in the folder.
    with scratch_folder() as folder:
        commands = [[sys.executable, "-m", "benchmarks.shapes", name, switch, str(day)] for day in (0, 1)]
        return [json.loads(output_of(each, folder, {"PYTHONPATH": str(PROJECT)})) for each in commands]


if __name__ == "__main__":
    main()
