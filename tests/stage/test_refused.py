"""What a later pipeline refuses is forgotten: nothing is dropped because of it any more."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem

from dedup.errors import DatabaseError
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.rules.documents import Verdict
from dedup.stage import crawl_run
from dedup.stage.pending import document_dropped
from dedup.store.database import open_existing_database
from dedup.store.deduplicator import Deduplicator
from tests.crawling import Outcome, crawl_here, run
from tests.passing import ADDONS, NEAR_A, A, B, url, urls
from tests.texts import document

PassOn = Callable[..., Outcome]


def stocked(number: int, text: str = A, stock: int | None = 3) -> dict[str, Any]:
    return {"url": url(number), "text": text, "stock": stock}


class PricePipeline:
    """That of Scrapy's documentation."""

    def process_item(self, item: Any) -> Any:
        if not ItemAdapter(item).get("stock"):
            raise DropItem("no stock", log_level="DEBUG")
        return item


class FailingStore:
    """Fails on what has no stock."""

    def process_item(self, item: Any) -> Any:
        if not item["stock"]:
            raise OSError("the store is full")
        return item


class CopyingPipeline:
    """Puts another object in the place of each item."""

    def process_item(self, item: Any) -> Any:
        if item.get("is_early"):
            raise DropItem("dropped before the stage", log_level="DEBUG")
        return dict(item)


class LatePipeline:
    """Has an item without stock wait until a copy was dropped, or the crawl has seen that none is, and drops it."""

    def __init__(self) -> None:
        self.is_dropped = asyncio.Event()

    @classmethod
    def from_crawler(cls, crawler: Any) -> LatePipeline:
        pipeline = cls()
        crawler.signals.connect(pipeline.document_dropped, document_dropped)
        return pipeline

    def document_dropped(self) -> None:
        self.is_dropped.set()

    async def process_item(self, item: Any) -> Any:
        if not item["stock"]:
            await self.is_dropped.wait()
            raise DropItem("no stock", log_level="DEBUG")
        return item


IN_STOCK = {"ITEM_PIPELINES": {PricePipeline: 100}}
AT_ONCE = {"CONCURRENT_ITEMS": 100}


def report_of(folder: Path, run: str = "") -> tuple[list[tuple[str, str, str]], dict[Verdict, int]]:
    """What a run has skipped, and how many verdicts of each kind it has."""
    with (
        closing(open_existing_database(f"sqlite:///{folder / 'dedup.db'}")) as database,
        open_report(database, Selection(run=run)) as report,
    ):
        skipped = [(each.key, each.reason, each.detail) for each in report.skipped]
        return skipped, {each: total.documents for each, total in report.totals.items() if total.documents}


@pytest.mark.parametrize("pipeline", [PricePipeline, FailingStore])
@pytest.mark.parametrize("settings", [AT_ONCE, {"CONCURRENT_ITEMS": 1}])
def test_copies_of_what_is_refused_take_its_place(
    pipeline: type, settings: dict[str, Any], pass_on: PassOn, tmp_path: Path
) -> None:
    items = [
        stocked(1, stock=None),
        stocked(2),
        stocked(3, NEAR_A),
        stocked(4, B, stock=None),
        stocked(5, B, stock=None),
    ]
    items += [stocked(6, B), stocked(7, B)]
    outcome = pass_on(items, {"ITEM_PIPELINES": {pipeline: 100}, **settings})
    assert urls(outcome) == [url(2), url(6)]
    assert (outcome.count("dedup/refused"), outcome.count("dedup/dropped_with_refused")) == (3, 0)
    # Each item has one verdict that stands.
    assert report_of(tmp_path) == ([], {Verdict.NEW: 5, Verdict.NEAR_DUPLICATE: 1, Verdict.EXACT_DUPLICATE: 1})
    again = pass_on(items, {"ITEM_PIPELINES": {pipeline: 100}, **settings})
    assert urls(again) == [url(2), url(6)]


@pytest.mark.parametrize("settings", [AT_ONCE, {"CONCURRENT_ITEMS": 1}])
def test_objects_that_pipelines_put_in_the_place_of_items_are_known(settings: dict[str, Any], pass_on: PassOn) -> None:
    class Again(CopyingPipeline):
        pass

    pipelines = {CopyingPipeline: 100, Again: 150, PricePipeline: 200}
    early = {**stocked(9, B), "is_early": True}
    items = [stocked(1, stock=None), early, stocked(2), early, stocked(3, B), early, stocked(4, B)]
    outcome = pass_on(items, {"ITEM_PIPELINES": pipelines, "DEDUP_AFTER": "CopyingPipeline", **settings})
    assert urls(outcome) == [url(2), url(3)]
    assert outcome.count("dedup/refused") == 1


def test_of_several_items_under_one_key_that_which_is_refused_is_forgotten(pass_on: PassOn) -> None:
    items = [{**stocked(1, text, stock), "n": n} for n, (text, stock) in enumerate(((A, None), (B, 3)))]
    first = pass_on(items, IN_STOCK)
    assert [item["n"] for item in first.items] == [1]
    second = pass_on([items[1], stocked(2), stocked(3, B)], IN_STOCK)
    assert (urls(second), second.kinds_of_drops) == ([url(1), url(2)], {"ExactDuplicate": 1})


@pytest.mark.parametrize("settings", [AT_ONCE, {"CONCURRENT_ITEMS": 1}])
def test_the_same_item_once_more_takes_the_place_of_one_that_is_refused(
    settings: dict[str, Any], pass_on: PassOn, tmp_path: Path
) -> None:
    outcome = pass_on([stocked(1, stock=None), stocked(1), stocked(1)], {**IN_STOCK, **settings})
    assert (urls(outcome), outcome.kinds_of_drops) == ([url(1)], {"DropItem": 1, "ExactDuplicate": 1})
    assert report_of(tmp_path) == ([], {Verdict.NEW: 2, Verdict.EXACT_DUPLICATE: 1})


class StartSpider(scrapy.Spider):
    """Yields items without any response."""

    name = "start"

    async def start(self) -> AsyncIterator[Any]:
        yield stocked(1, stock=None)
        await self.crawler.signals.wait_for(signals.item_dropped)
        yield stocked(2)
        yield stocked(3)


def test_items_without_response_are_known(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'dedup.db'}"
    outcome = crawl_here(StartSpider, {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": database, **IN_STOCK})
    assert (len(outcome.items), outcome.count("dedup/refused")) == (1, 1)


# What comes too late


def test_copy_whose_original_is_refused_late_is_named_and_decided_by_the_next_crawl(
    pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_run, "PATIENCE", 0.0)
    late = {"ITEM_PIPELINES": {LatePipeline: 100}, "DEDUP_RUN": "late", **AT_ONCE}
    outcome = pass_on([stocked(1, stock=None), stocked(2), stocked(3, B)], late)
    assert urls(outcome) == [url(3)]
    assert outcome.count("dedup/dropped_with_refused") == 1
    [line] = [line for line in outcome.messages if "decided anew by the next crawl" in line]
    assert line.endswith(f"1 item: {url(2)}")
    assert report_of(tmp_path, "late")[0] == [(url(2), "original refused", url(1))]
    # Neither unchanged nor a duplicate, whatever comes first.
    following = pass_on([stocked(2), stocked(1, stock=None)], IN_STOCK)
    assert (urls(following), following.count("dedup/new")) == ([url(2)], 1)


def test_copy_waits_until_its_original_is_through(pass_on: PassOn) -> None:
    class SlowPipeline:
        """Drops an item without stock once another item has come to it."""

        others: ClassVar[asyncio.Event]

        def open_spider(self) -> None:
            SlowPipeline.others = asyncio.Event()

        async def process_item(self, item: Any) -> Any:
            if item["stock"]:
                self.others.set()
                return item
            await self.others.wait()
            raise DropItem("no stock", log_level="DEBUG")

    items = [stocked(1, stock=None), stocked(2), stocked(3, B)]
    outcome = pass_on(items, {"ITEM_PIPELINES": {SlowPipeline: 100}, **AT_ONCE})
    assert urls(outcome) == [url(2), url(3)]


@dataclass
class Offer:
    """An item of another class."""

    url: str
    text: str
    stock: int | None = 3


def test_copy_waits_for_its_original_and_not_for_another_class_of_its_key(pass_on: PassOn) -> None:
    class SlowPipeline:
        """Drops an item without stock once one of another text is through."""

        others: ClassVar[asyncio.Event]

        @classmethod
        def from_crawler(cls, crawler: Any) -> SlowPipeline:
            SlowPipeline.others = asyncio.Event()
            crawler.signals.connect(cls.item_scraped, signals.item_scraped)
            return cls()

        @classmethod
        def item_scraped(cls, item: Any) -> None:
            if item["text"] != A:
                cls.others.set()

        async def process_item(self, item: Any) -> Any:
            if not ItemAdapter(item).get("stock"):
                await self.others.wait()
                raise DropItem("no stock", log_level="DEBUG")
            return item

    # The second is of the key of the first, and through before.
    items = [Offer(url(1), A, None), stocked(1, B), stocked(2, document(60, "other")), stocked(3)]
    outcome = pass_on(items, {"ITEM_PIPELINES": {SlowPipeline: 100}, **AT_ONCE})
    assert urls(outcome) == [url(1), url(2), url(3)]


# What is stored from an earlier run


def test_what_an_earlier_run_has_stored_stays_known(pass_on: PassOn) -> None:
    mode: dict[str, Any] = {"DEDUP_DISTINCT_FIELDS": []}
    assert len(pass_on([stocked(1)], mode).items) == 1
    # As a pipeline does that drops what it has stored.
    second = pass_on([stocked(1, stock=None), stocked(2)], {**IN_STOCK, **mode})
    assert (second.items, second.kinds_of_drops) == ([], {"DropItem": 1, "ExactDuplicate": 1})
    assert second.count("dedup/refused") == 0


def test_what_has_changed_and_is_refused_is_forgotten(pass_on: PassOn) -> None:
    assert len(pass_on([stocked(1)]).items) == 1
    second = pass_on([stocked(1, B, stock=None), stocked(2, B)], IN_STOCK)
    assert (urls(second), second.count("dedup/updated")) == ([url(2)], 1)


# What it costs, and what goes wrong


def test_what_is_refused_is_forgotten_in_batches(pass_on: PassOn, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = []
    refuse = Deduplicator.refuse

    def counted(self: Deduplicator, ids: list[int]) -> Any:
        batches.append(len(ids))
        return refuse(self, ids)

    monkeypatch.setattr(Deduplicator, "refuse", counted)
    items = [stocked(n, document(60, f"text {n}"), stock=None) for n in range(100)]
    outcome = pass_on(items, {**IN_STOCK, **AT_ONCE})
    assert (outcome.count("dedup/refused"), sum(batches)) == (100, 100)
    assert len(batches) <= 20


@pytest.mark.parametrize("on_error", ["stop", "pass"])
def test_database_that_fails_while_forgetting_is_told_of(
    on_error: str, pass_on: PassOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(Deduplicator, "refuse", fail)
    items = [stocked(1, stock=None), stocked(2, B, stock=None)]
    outcome = pass_on(items, {"DEDUP_ON_ERROR": on_error, **IN_STOCK})
    [error] = [record.getMessage() for record in outcome.log if record.levelname == "ERROR"]
    assert error.startswith("the disk is full; ")
    is_stopped = on_error == "stop"
    assert ("the crawl stops" in error, outcome.tracebacks) == (is_stopped, [])
    assert outcome.stats["finish_reason"] == ("database_error" if is_stopped else "finished")


REFUSED_IN_VAIN = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DropItem
from dedup.errors import DatabaseError
from dedup.store.deduplicator import Deduplicator


def fail(*_):
    raise DatabaseError("the disk is full")


class Dropping:
    def process_item(self, item):
        raise DropItem("no stock")


class Items(scrapy.Spider):
    name = "items"

    async def start(self):
        yield {"url": "https://example.com/1", "text": sys.argv[2]}


Deduplicator.refuse = fail
process = CrawlerProcess({
    "ADDONS": {"dedup.DedupAddon": 500}, "DEDUP_DATABASE_URL": sys.argv[1], "ITEM_PIPELINES": {Dropping: 900}
})
process.crawl(Items)
process.start()
"""


def test_what_could_not_be_forgotten_is_given_up_by_the_next_crawl(pass_on: PassOn, tmp_path: Path) -> None:
    command = [sys.executable, "-c", REFUSED_IN_VAIN, f"sqlite:///{tmp_path / 'dedup.db'}", A]
    assert "the disk is full" in run(command, folder=tmp_path, accidents=True).stderr
    copy = {"url": "https://elsewhere.example/", "text": A}
    assert urls(pass_on([copy])) == [copy["url"]]


class PagesSpider(scrapy.Spider):
    """Yields items of several pages, and keeps nothing."""

    name = "pages"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number in range(3):
            yield scrapy.Request(f"data:text/plain,{number}", self.parse, cb_kwargs={"number": number})

    def parse(self, response: Any, number: int) -> Iterator[Any]:
        yield stocked(10 * number, document(60, f"page {number}"), stock=None)
        yield stocked(10 * number + 1, document(60, f"page {number}"))


def test_items_of_many_pages_are_told_apart(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'dedup.db'}"
    outcome = crawl_here(PagesSpider, {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": database, **IN_STOCK})
    assert urls(outcome) == [url(1), url(11), url(21)]
