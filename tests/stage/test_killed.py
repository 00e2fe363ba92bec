"""A crawl that is killed: what it had under way nobody has stored, and nothing is dropped because of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.commands import run_dedup
from tests.crawling import Outcome, run
from tests.passing import NEAR_A, A, B, url, urls
from tests.texts import document

PassOn = Callable[..., Outcome]

SPIDER = """
import json, os, signal, sys
import scrapy


class Dying:
    def process_item(self, item):
        if item.get("is_last"):
            os.kill(os.getpid(), signal.SIGKILL)
        return item


class Items(scrapy.Spider):
    name = "items"

    async def start(self):
        for item in json.loads(self.items):
            yield item
"""

TWO_CRAWLS = """
import asyncio, os, signal, sys
import scrapy
from scrapy.crawler import CrawlerProcess

is_there = asyncio.Event()


class Waiting:
    async def process_item(self, item):
        if item["is_last"]:
            is_there.set()
            await asyncio.sleep(600)
        await is_there.wait()
        return item


class Items(scrapy.Spider):
    name = "items"

    async def start(self):
        yield self.item


process = CrawlerProcess({
    "ADDONS": {"dedup.DedupAddon": 500}, "DEDUP_DATABASE_URL": sys.argv[1], "ITEM_PIPELINES": {Waiting: 900}
})
ended = process.crawl(Items, item={"url": "https://example.com/1", "text": sys.argv[2], "is_last": False})
ended.addCallback(lambda _: os.kill(os.getpid(), signal.SIGKILL))
process.crawl(Items, item={"url": "https://example.com/2", "text": sys.argv[3], "is_last": True})
process.start()
"""


def item(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"url": url(number), "text": text, **more}


def killed(folder: Path, items: list[dict[str, Any]], **settings: object) -> None:
    """Crawl items one after the other, until the process is killed behind the verdict on the last one."""
    spider = folder / "spider.py"
    spider.write_text(SPIDER, encoding="utf-8")
    settings = {
        "ADDONS": '{"dedup.DedupAddon": 500}',
        "DEDUP_DATABASE_URL": f"sqlite:///{folder / 'dedup.db'}",
        "ITEM_PIPELINES": '{"spider.Dying": 900}',
        "CONCURRENT_ITEMS": 1,
        **settings,
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "runspider", spider.name, "-a", f"items={json.dumps(items)}", *options]
    assert run(command, folder=folder, accidents=True).status < 0


def test_a_copy_of_what_a_killed_crawl_had_under_way_is_kept(pass_on: PassOn, tmp_path: Path) -> None:
    killed(tmp_path, [item(1, A), item(2, B, is_last=True)])
    copy = {"url": "https://elsewhere.example/", "text": B}
    elsewhere = pass_on([copy, item(4, NEAR_A)])
    # What it had stored leads its copies.
    assert urls(elsewhere) == [copy["url"]]
    assert elsewhere.kinds_of_drops == {"NearDuplicate": 1}
    assert any("1 document that a process had under way" in line for line in elsewhere.messages)
    # Nobody has kept it, and the database does not say so.
    told = run_dedup("explain", url(2), "--database", f"sqlite:///{tmp_path / 'dedup.db'}", folder=tmp_path)
    assert "was not stored: the process that had decided to keep it ended before" in told.stderr
    # What comes again behind its copy is one itself.
    assert urls(pass_on([item(1, A), item(2, B)])) == [url(1)]


def test_what_comes_again_after_a_kill_is_new_and_passed_on(pass_on: PassOn, tmp_path: Path) -> None:
    killed(tmp_path, [item(1, A, is_last=True)], DEDUP_RUN="crawl")
    again = pass_on([item(1, A), item(2, A)], {"DEDUP_RUN": "crawl", "DEDUP_DROP_UNCHANGED": True})
    assert (urls(again), again.kinds_of_drops) == ([url(1)], {"ExactDuplicate": 1})
    assert again.count("dedup/new") == 1


def test_a_new_text_of_what_is_stored_is_given_up_if_it_was_under_way(pass_on: PassOn, tmp_path: Path) -> None:
    first, changed = document(60, "first"), document(60, "changed")
    pass_on([item(1, first)])
    killed(tmp_path, [item(1, changed, is_last=True)])
    assert urls(pass_on([item(2, changed), item(1, changed)])) == [url(2)]


def test_a_crawl_that_ends_says_nothing_of_another_one_in_its_process(pass_on: PassOn, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_CRAWLS, f"sqlite:///{tmp_path / 'dedup.db'}", A, B]
    assert run(command, folder=tmp_path, accidents=True).status < 0
    copies = [{"url": f"https://elsewhere.example/{text[:9]}", "text": text} for text in (A, B)]
    assert urls(pass_on(copies, {"DEDUP_DISTINCT_FIELDS": []})) == [copies[1]["url"]]
