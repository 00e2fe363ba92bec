"""The dedup stage in other people's projects: one line switches it on, for items of every kind."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any, Self

import attrs
import pydantic
import pytest
import scrapy
import sqlalchemy
from itemadapter import ItemAdapter
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerRunner, Crawler
from scrapy.settings import Settings

from dedup import make_signature
from dedup.rules.settings import DedupSettings
from dedup.stage.project import ITEMS_AT_ONCE
from dedup.store.database import open_existing_database
from dedup.store.deduplicator import Deduplicator
from dedup.store.urls import url_of
from dedup.workers.pool import WorkerPool
from tests.crawling import NO_NETWORK, ExitedError, Outcome, crawl_here, run, runs_in
from tests.crawls import report_on
from tests.localsite import Asked, LocalSite, article
from tests.passing import ADDONS, NEAR_A, A, B, ItemsSpider, four, url, urls
from tests.texts import document, edited
from tests.waiting import HANG

pytestmark = pytest.mark.slow

PassOn = Callable[..., Outcome]

PIPELINE = "dedup.NearDuplicatePipeline"


def keeps_the_first_two(outcome: Outcome) -> None:
    assert len(outcome.items) == 2
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1, "NearDuplicate": 1}
    assert (outcome.failed, outcome.tracebacks) == (0, [])


def end_no_run(database_url: str) -> None:
    """Leave all runs as a kill leaves them."""
    deduplicator = Deduplicator(DedupSettings(database_url=database_url))
    with closing(deduplicator.database):
        for run in runs_in(database_url):
            deduplicator.open_run(run.name)


@dataclass
class DataclassItem:
    url: str
    text: str


@attrs.define
class AttrsItem:
    url: str
    text: str


class PydanticItem(pydantic.BaseModel):
    url: str
    text: str


class StrictPydanticItem(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    url: pydantic.HttpUrl
    text: str


@dataclass(frozen=True, slots=True)
class FrozenItem:
    url: str
    text: str


class ScrapyItem(scrapy.Item):
    url = scrapy.Field()
    text = scrapy.Field()


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (dict, "new"),
        # These cannot hold the mark, and are not lost.
        (DataclassItem, None),
        (AttrsItem, None),
        (PydanticItem, None),
        (StrictPydanticItem, None),
        (FrozenItem, None),
        (ScrapyItem, None),
    ],
)
def test_near_duplicates_are_dropped_whatever_kind_the_items_are_of(
    kind: Callable[..., Any], verdict: str | None, pass_on: PassOn
) -> None:
    items = [kind(**fields) for fields in four()]
    outcome = pass_on(items, {"DEDUP_MARK_FIELD": "mark"})
    keeps_the_first_two(outcome)
    assert all(any(kept is item for item in items) for kept in outcome.items)
    assert {(ItemAdapter(item).get("mark") or {}).get("verdict") for item in outcome.items} == {verdict}


def test_items_of_different_kinds_are_compared_with_each_other(pass_on: PassOn) -> None:
    outcome = pass_on([DataclassItem(url(1), A), {"url": url(2), "text": A}, PydanticItem(url=url(3), text=NEAR_A)])
    assert len(outcome.items) == 1


@pytest.mark.parametrize(("field", "settings"), [("html", {}), ("source", {"DEDUP_HTML_FIELD": "source"})])
def test_text_is_taken_from_html_where_there_is_none(field: str, settings: dict[str, Any], pass_on: PassOn) -> None:
    pages = [article("x", links, text=text) for links, text in (([], A), ([], B), (["/y", "/z"], A), ([], NEAR_A))]
    items = [{"url": url(n), field: page.encode() if n % 2 else page} for n, page in enumerate(pages)]
    outcome = pass_on(items, settings)
    keeps_the_first_two(outcome)
    assert all(set(item) == {"url", field} for item in outcome.items)


def test_fields_may_have_other_names(pass_on: PassOn) -> None:
    items = [{"link": item["url"], "body": item["text"], "text": "no", "url": "no"} for item in four()]
    outcome = pass_on(items, {"DEDUP_KEY_FIELD": "link", "DEDUP_TEXT_FIELD": "body"})
    keeps_the_first_two(outcome)


def test_signature_that_the_item_brings_along_is_used(pass_on: PassOn) -> None:
    items = [{**item, "signature": make_signature(item["text"]), "text": "x"} for item in four()]
    keeps_the_first_two(pass_on(items))


def test_items_without_text_or_with_an_odd_one_pass(pass_on: PassOn) -> None:
    empty: list[dict[str, Any]] = [
        {},
        {"name": "x"},
        {"url": url(1)},
        {"url": url(1), "text": None},
        {"url": url(1), "text": "", "html": ""},
        {"url": url(1), "html": b""},
    ]
    texts = [
        {"url": url(f"{field}/{n}"), field: text}
        for field in ("text", "html")
        for n, text in enumerate((["a", "list", "of", field], field.encode(), 17, {"a": 1}, (f"one {field}",), True))
    ]
    items = [*empty, *texts, {"url": url(2), "text": A}]
    outcome = pass_on(items)
    assert outcome.items == items
    assert outcome.count("dedup/not_examined") >= len(empty)
    assert (outcome.failed, outcome.tracebacks) == (0, [])


def test_odd_texts_and_addresses_do_no_harm(pass_on: PassOn) -> None:
    odd = ["\0", "\ud800", "\x1b[31m", " ", "\u202e", "x" * 100_000, "港口", "\0\ud800" * 50]
    outcome = pass_on([{"url": f"https://example.com/{text}", "text": text} for text in odd])
    assert outcome.failed == 0
    assert not [message for message in outcome.messages if set(message) & set("\0\x1b\ud800\u202e")]


def test_what_is_said_of_a_crawl(pass_on: PassOn, tmp_path: Path) -> None:
    """In stats, by class and by verdict; in the log, a line for each drop; in exceptions; in the database."""
    outcome = pass_on(four(), {"DEDUP_RUN": "Monday"})
    assert outcome.count("item_dropped_reasons_count/ExactDuplicate") == 1
    assert outcome.count("item_dropped_reasons_count/NearDuplicate") == 1
    told = {name: outcome.stats[f"dedup/{name}"] for name in ("new", "exact_duplicate", "near_duplicate", "run")}
    assert told == {"new": 2, "exact_duplicate": 1, "near_duplicate": 1, "run": "Monday"}
    sizes = [len(text) for text in (A, B, A, NEAR_A)]
    assert outcome.count("dedup/text_bytes") == sum(sizes)
    assert outcome.count("dedup/text_bytes_dropped") == sum(sizes[2:])
    exact, near = [record for record in outcome.log if record.getMessage().startswith("dropped ")]
    assert exact.getMessage() == f"dropped {url(2)}: exact duplicate of {url(0)}: the same text"
    as_told = rf"dropped {url(3)}: near duplicate of {url(0)}, \d\d% alike: most of the text is the same"
    assert re.fullmatch(as_told, near.getMessage())
    assert exact.levelno == near.levelno == logging.INFO
    drops = [(each.key, each.decision.original) for each in outcome.dropped]  # type: ignore[attr-defined]
    assert drops == [(url(2), url(0)), (url(3), url(0))]
    database = f"sqlite:///{tmp_path / 'dedup.db'}"
    with closing(open_existing_database(database)) as opened, report_on(opened) as report:
        counts = {verdict.value: total.documents for verdict, total in report.totals.items() if total.documents}
    assert (report.runs, counts) == (["Monday"], {"new": 2, "exact duplicate": 1, "near duplicate": 1})


def test_run_is_closed_with_the_reason_for_which_the_crawl_ended(tmp_path: Path) -> None:
    class Stopping(ItemsSpider):
        def parse(self, response: Any) -> Iterator[Any]:
            yield from self.items
            raise scrapy.exceptions.CloseSpider("enough")

    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"}
    assert crawl_here(Stopping, settings, items=four()).stats["finish_reason"] == "enough"
    assert [run.outcome for run in runs_in(settings["DEDUP_DATABASE_URL"])] == ["enough"]


def test_second_crawl_passes_what_is_unchanged_and_drops_the_same_duplicates(pass_on: PassOn, tmp_path: Path) -> None:
    pass_on(four())
    outcome = pass_on(four())
    keeps_the_first_two(outcome)
    assert outcome.count("dedup/unchanged") == 2
    # They were stored, even if the crawl was killed behind that.
    end_no_run(f"sqlite:///{tmp_path / 'dedup.db'}")
    assert urls(pass_on(four(), {"DEDUP_DROP_UNCHANGED": True})) == []


def test_unchanged_items_are_dropped_on_request_and_updated_ones_are_not(pass_on: PassOn) -> None:
    pass_on(four())
    items = [
        {"url": url(0), "text": A},
        {"url": url(1), "text": document(200, "other")},
        {"url": url(9), "text": "new"},
    ]
    outcome = pass_on(items, {"DEDUP_DROP_UNCHANGED": True})
    assert urls(outcome) == [url(1), url(9)]
    assert outcome.kinds_of_drops == {"Unchanged": 1}
    assert (outcome.count("dedup/unchanged"), outcome.count("dedup/updated"), outcome.count("dedup/new")) == (1, 1, 1)


@pytest.mark.parametrize(
    "off", [{"DEDUP_ENABLED": False}, {"DEDUP_ENABLED": "no"}, {"ITEM_PIPELINES": {PIPELINE: None}}], ids=str
)
def test_stage_can_be_switched_off(off: dict[str, Any], pass_on: PassOn, tmp_path: Path) -> None:
    outcome = pass_on(four(), off)
    assert len(outcome.items) == 4
    assert not [name for name in outcome.stats if name.startswith("dedup/")]
    assert list(tmp_path.iterdir()) == []


class ItemsAtOnce:
    """An item pipeline that notes how many items may be under way at once."""

    def __init__(self, crawler: Crawler) -> None:
        crawler.stats.set_value("at once", crawler.settings.getint("CONCURRENT_ITEMS"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        return item


@pytest.mark.parametrize(
    ("settings", "at_once"),
    [({}, ITEMS_AT_ONCE), ({"CONCURRENT_ITEMS": 50}, 50), ({"DEDUP_ENABLED": False}, 100)],
    ids=["by itself", "as the project says", "switched off"],
)
def test_fewer_items_are_under_way_unless_the_project_says(
    settings: dict[str, Any], at_once: int, tmp_path: Path
) -> None:
    database = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"}
    outcome = crawl_here(ItemsSpider, {**database, "ITEM_PIPELINES": {ItemsAtOnce: 400}, **settings}, items=four())
    assert outcome.stats["at once"] == at_once


def test_wrong_setting_refuses_to_start(pass_on: PassOn) -> None:
    with pytest.raises(ExitedError) as ended:
        pass_on(four(), {"DEDUP_MIN_TOKENS": "wide", **NO_NETWORK})
    assert ended.value.status == 2
    assert "DEDUP_MIN_TOKENS = 'wide': expected a whole number from 0 up" in ended.value.outcome.messages


class Recording:
    """An item pipeline that remembers what reaches it."""

    seen: list[Any] = []  # noqa: RUF012 -- emptied by each test

    def process_item(self, item: Any) -> Any:
        self.seen.append(item)
        return item


def test_pipeline_works_without_the_addon(tmp_path: Path) -> None:
    settings = {"ITEM_PIPELINES": {PIPELINE: 300}, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"}
    keeps_the_first_two(crawl_here(ItemsSpider, settings, items=four()))


def test_addon_and_pipeline_together_examine_each_item_once(pass_on: PassOn) -> None:
    outcome = pass_on(four(), {"ITEM_PIPELINES": {PIPELINE: 150}})
    keeps_the_first_two(outcome)
    assert outcome.count("dedup/new") == 2


@pytest.mark.parametrize(("settings", "seen"), [({}, 2), ({"DEDUP_AFTER": "Recording"}, 4)], ids=["usual", "named"])
def test_pipelines_of_the_project_see_the_kept_items_only_unless_they_are_named(
    settings: dict[str, Any], seen: int, pass_on: PassOn
) -> None:
    Recording.seen.clear()
    pass_on(four(), {"ITEM_PIPELINES": {Recording: 100}, **settings})
    assert len(Recording.seen) == seen


def eight(near: bool) -> list[str]:
    base = document(300, "base")
    return [edited(base, 3, seed) if near else base for seed in range(8)]


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("batch_size", [1, 50])
def test_of_eight_copies_from_one_callback_exactly_one_is_kept(
    near: bool, batch_size: int, pass_on: PassOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "batch_size", batch_size)
    items = [{"url": url(n), "text": text} for n, text in enumerate(eight(near))]
    outcome = pass_on(items)
    assert (len(outcome.items), len(outcome.dropped)) == (1, 7)


class PagesSpider(scrapy.Spider):
    """Fetches addresses at once and yields an item for each of them."""

    name = "pages"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for address in self.urls:
            yield scrapy.Request(address, self.parse)

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.body}


@pytest.mark.parametrize("near", [False, True])
def test_of_eight_copies_in_concurrent_responses_exactly_one_is_kept(near: bool, tmp_path: Path) -> None:
    barrier = Barrier(8)

    def together(asked: Asked) -> str:
        barrier.wait(HANG)
        return article("x", text=texts[int(asked.path[1:])])

    texts = eight(near)
    with LocalSite({f"/{number}": together for number in range(8)}) as site:
        settings = {
            "ADDONS": ADDONS,
            "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}",
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
        }
        outcome = crawl_here(PagesSpider, settings, urls=[f"{site.url}/{number}" for number in range(8)])
    assert (len(outcome.items), len(outcome.dropped)) == (1, 7)


def test_of_copies_in_two_crawls_of_one_process_exactly_one_is_kept(tmp_path: Path) -> None:
    base = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", "DEDUP_WORKERS": 0}
    quiet = {"TWISTED_REACTOR_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False}
    runner = AsyncCrawlerRunner(Settings({**base, **quiet}))
    crawlers = [runner.create_crawler(ItemsSpider) for _ in range(2)]

    async def crawl_both() -> None:
        texts = [document(200, number) for number in range(20)]
        # Of two sites: where the second crawl begins when the first is over, one site would have moved.
        urls = [[f"https://{host}.example/{host}/{number}" for number in range(20)] for host in "ab"]
        items = [[{"url": key, "text": text} for key, text in zip(keys, texts, strict=True)] for keys in urls]
        await asyncio.gather(*(crawler.crawl_async(items=each) for crawler, each in zip(crawlers, items, strict=True)))

    asyncio.run(crawl_both())
    counts = [crawler.stats.get_stats() for crawler in crawlers if crawler.stats]
    assert sum(count.get("dedup/new", 0) for count in counts) == 20
    assert sum(count.get("dedup/exact_duplicate", 0) for count in counts) == 20


SPIDER = """
import scrapy


class ShopSpider(scrapy.Spider):
    name = "shop"

    async def start(self):
        yield scrapy.Request("SITE/")

    def parse(self, response):
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(css="a")
"""


def test_project_with_one_more_line_in_its_settings_drops_its_duplicates(tmp_path: Path) -> None:
    scrapy_command = [sys.executable, "-m", "scrapy"]
    assert run([*scrapy_command, "startproject", "shop", "."], folder=tmp_path).status == 0
    with (tmp_path / "shop" / "settings.py").open("a") as settings:
        settings.write('\nADDONS = {"dedup.DedupAddon": 500}\n')
    pages = {
        "/": article("front", ["/a", "/copy", "/print"]),
        "/a": article("a", text=A),
        "/copy": article("copy", text=A),
        "/print": article("print", text=NEAR_A),
    }
    with LocalSite(pages) as site:
        (tmp_path / "shop" / "spiders" / "shop.py").write_text(SPIDER.replace("SITE", site.url))
        options = ["-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-o", "items.jsonl"]
        result = run([*scrapy_command, "crawl", "shop", *options], folder=tmp_path)
    assert (result.status, result.errors) == (0, [])
    assert "'item_dropped_count': 2" in result.stderr
    assert "'item_dropped_reasons_count/NearDuplicate': " in result.stderr
    assert len((tmp_path / "items.jsonl").read_text().splitlines()) == 2
    report = run([sys.executable, "-m", "dedup", "duplicates"], folder=tmp_path)
    assert report.status == 0
    assert "dropped       2 documents" in report.stdout
    # The verdict is a column of the table only where it is not that of both.
    report = run([sys.executable, "-m", "dedup", "duplicates", "--format", "csv"], folder=tmp_path)
    assert report.status == 0
    assert len(re.findall(r"^(?:exact|near) duplicate,.*/(?:a|copy|print),", report.stdout, re.MULTILINE)) == 2


def test_database_is_in_the_folder_of_the_project_under_its_name(
    pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"DEDUP_DATABASE_URL": None, "BOT_NAME": "my shop"}
    first = pass_on(four(), settings)
    path = tmp_path / ".scrapy" / "dedup" / "my_shop.db"
    assert path.is_file()
    assert any("my_shop.db knows no documents yet" in message for message in first.messages)
    assert any("knows 4 documents of 1 run since 20" in message for message in pass_on(four(), settings).messages)
    end_no_run(url_of(str(path)))
    assert any(", 2 of them not ended (dedup runs)" in message for message in pass_on(four(), settings).messages)


@pytest.mark.parametrize("folder", ["what?", "50%20off", "a%2Fb", "a#b", "é [1]", "x;y z"])
def test_database_is_in_the_folder_whatever_it_is_called(
    folder: str, pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "?" in folder and sqlalchemy.__version__ < "2.1":
        pytest.skip("SQLAlchemy 2.0 has no URL for it")
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / folder)
    outcome = pass_on(four(), {"DEDUP_DATABASE_URL": None, "BOT_NAME": "é" * 300})
    assert outcome.count("dedup/new") == 2
    [path] = tmp_path.rglob("*.db")
    assert path.parent == tmp_path / folder / ".scrapy" / "dedup"
    assert len(runs_in(url_of(str(path)))) == 1
    report = run([sys.executable, "-m", "dedup", "duplicates"], folder=tmp_path / folder)
    assert "dropped       2 documents" in report.stdout


def test_crawl_without_items_leaves_no_run(pass_on: PassOn, tmp_path: Path) -> None:
    pass_on([])
    assert runs_in(f"sqlite:///{tmp_path / 'dedup.db'}") == []


class OneItem(ItemsSpider):
    """Changes one item, and yields it each time."""

    def parse(self, response: Any) -> Iterator[Any]:
        for item in self.items:
            self.items[0] |= item
            yield self.items[0]


def test_an_item_that_is_changed_and_yielded_again_is_told_of_once(sqlite_url: str) -> None:
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url}
    items = [{"url": url(number), "text": document(120, f"story {number}")} for number in range(6)]
    told = [
        [line for line in crawl_here(spider, settings, items=list(items)).messages if "yield item.copy()" in line]
        for spider in (OneItem, ItemsSpider)
    ]
    assert [len(lines) for lines in told] == [1, 0]


class FromStart(ItemsSpider):
    """Yields the given items before any page is fetched."""

    async def start(self) -> AsyncIterator[Any]:
        for item in self.items:
            yield item


@pytest.mark.parametrize("spider", [ItemsSpider, FromStart])
@pytest.mark.parametrize("seed", range(3))
def test_items_are_decided_in_their_order_whatever_is_signed_first(
    seed: int, spider: type[ItemsSpider], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, run = Random(seed), WorkerPool.run

    async def run_slowly(pool: WorkerPool, *arguments: Any) -> Any:
        await asyncio.sleep(random.random() / 20)
        return await run(pool, *arguments)

    monkeypatch.setattr(WorkerPool, "run", run_slowly)
    stories = [document(120, f"story {number}") for number in range(8)]
    # One is signed in a worker, its copy at once, or the other way round.
    items = [
        {"url": url(f"{number}/{copy}"), "html" if (number + copy) % 2 else "text": f"<p>{story}</p>"}
        for number, story in enumerate(stories)
        for copy in range(2)
    ]
    outcome = crawl_here(spider, {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url}, items=items)
    assert sorted(urls(outcome)) == sorted(item["url"] for item in items[::2])


def test_items_of_a_page_leave_in_the_order_in_which_they_came(pass_on: PassOn) -> None:
    long, page = document(10_000, "long"), f"<html><body><p>{document(100, 'page')}</p></body></html>"
    kinds = ({"text": long}, {"views": 1}, {"html": page}, {"text": "few words"}, {"text": document(30, "short")})
    items = [
        {name: f"{value}{n}" if name == "text" else value for name, value in kinds[n % 5].items()} | {"url": url(n)}
        for n in range(40)
    ]
    outcome = pass_on(items, {"DEDUP_WORKERS": 1})
    numbers = [int(item["url"].rpartition("/")[2]) for item in outcome.items]
    assert numbers == sorted(numbers)
    assert len(numbers) == 26


class StartSpider(scrapy.Spider):
    name = "start"

    async def start(self) -> AsyncIterator[Any]:
        for item in four():
            yield item


def test_items_without_requests_do_not_wait_for_the_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", HANG)
    outcome = crawl_here(StartSpider, {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"})
    assert len(outcome.items) == 2
    assert float(outcome.stats["elapsed_time_seconds"]) < HANG
