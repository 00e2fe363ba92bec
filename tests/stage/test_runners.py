"""Several crawls in one process, started by a script: what one of them fails of leaves the others alone."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.crawling import finish, run, start

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPIDERS = """
import asyncio, sqlite3, sys
import scrapy
from scrapy import crawler as scrapy_crawler
from scrapy.utils.log import configure_logging
from dedup.rules.settings import DedupSettings
from dedup.stage.pending import document_kept

ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
TEXT = "a text of some words that is long enough to be compared with others of its kind, as it has more than twenty"


class Shop(scrapy.Spider):
    name = "shop"
    pages = 10

    async def start(self):
        for number in range(self.pages):
            yield scrapy.Request(f"data:text/plain,{number}", dont_filter=True, cb_kwargs={"number": number})

    def parse(self, response, number):
        yield {"url": f"https://example.com/{number}", "text": f"{TEXT} {number // 2}"}
        print("page", flush=True)


class WrongSetting(Shop):
    name = "wrong setting"
    custom_settings = {"DEDUP_MIN_TOKENS": "wide"}


class NoDatabase(Shop):
    name = "no database"
    custom_settings = {"DEDUP_DATABASE_URL": "sqlite:///missing/dedup.db"}


class LockedDatabase(Shop):
    name = "locked database"
    pages = 1000
    custom_settings = {"DEDUP_DATABASE_URL": "sqlite:///locked.db", "CONCURRENT_ITEMS": 1}

    lock = None

    @classmethod
    def from_crawler(cls, crawler):
        DedupSettings.lock_timeout = 0.2
        spider = super().from_crawler(crawler)
        crawler.signals.connect(spider.lock_database, document_kept)
        return spider

    def lock_database(self):
        if self.lock is None:
            self.lock = sqlite3.connect("locked.db", isolation_level=None, timeout=30)
            self.lock.execute("BEGIN EXCLUSIVE")


SETTINGS = {
    "ADDONS": {"dedup.DedupAddon": 500},
    "DEDUP_DATABASE_URL": "sqlite:///dedup.db",
    "DEDUP_ON_ERROR": "stop",
    "DEDUP_WORKERS": 0,
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
}
FAILING = (WrongSetting, NoDatabase, LockedDatabase)


def told(error):
    print("failed:", type(error).__name__, error, flush=True)


def counted(crawler):
    counts = crawler.stats.get_stats()
    # The texts differ in their number alone: they are similar.
    kept = counts["dedup/new"] + counts["dedup/similar"]
    print("healthy:", counts["finish_reason"], kept, counts["dedup/exact_duplicate"], flush=True)
"""

RUNNERS = {
    "CrawlerRunner": """
from twisted.internet import asyncioreactor
asyncioreactor.install()
from twisted.internet import defer, reactor

configure_logging(SETTINGS)
runner = scrapy_crawler.CrawlerRunner(SETTINGS)


@defer.inlineCallbacks
def both():
    failing = [runner.crawl(spider) for spider in FAILING]
    for crawl in failing:
        crawl.addCallbacks(lambda _: print("not failed"), lambda failure: told(failure.value))
    healthy = runner.create_crawler(Shop)
    yield runner.crawl(healthy)
    for crawl in failing:
        yield crawl
    counted(healthy)
    again = runner.create_crawler(Shop)
    yield runner.crawl(again)
    print("again:", again.stats.get_value("finish_reason"))
    reactor.stop()


reactor.callWhenRunning(both)
reactor.run()
""",
    "AsyncCrawlerRunner": """
async def both():
    runner = scrapy_crawler.AsyncCrawlerRunner(MORE)
    healthy = runner.create_crawler(Shop)
    tasks = [*map(runner.crawl, FAILING), runner.crawl(healthy)]
    *failed, _ = await asyncio.gather(*tasks, return_exceptions=True)
    for error in failed:
        told(error) if error else print("not failed")
    counted(healthy)
    again = runner.create_crawler(Shop)
    await runner.crawl(again)
    print("again:", again.stats.get_value("finish_reason"))


configure_logging(SETTINGS)
if WITH_REACTOR:
    MORE = SETTINGS
    from twisted.internet import asyncioreactor
    asyncioreactor.install()
    from twisted.internet.task import react
    from twisted.internet.defer import Deferred
    react(lambda _: Deferred.fromFuture(asyncio.ensure_future(both())))
else:
    # Of a crawl that fails before it begins Scrapy does not close the sessions.
    MORE = {**SETTINGS, "TWISTED_REACTOR_ENABLED": False, "DOWNLOAD_HANDLERS": {"http": None, "https": None}}
    asyncio.run(both())
""",
}


@pytest.mark.parametrize(
    ("runner", "prelude"),
    [
        ("CrawlerRunner", ""),
        ("AsyncCrawlerRunner", "WITH_REACTOR = True"),
        ("AsyncCrawlerRunner", "WITH_REACTOR = False"),
    ],
    ids=["CrawlerRunner", "AsyncCrawlerRunner", "without reactor"],
)
def test_error_fails_the_crawl_that_it_is_of_and_no_other(runner: str, prelude: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"{SPIDERS}\n{prelude}\n{RUNNERS[runner]}")
    result = run([sys.executable, str(path)], folder=tmp_path, accidents=True)
    assert result.status == 0
    *lines, again = [line for line in result.stdout.splitlines() if line != "page"]
    failed = sorted(line.removeprefix("failed: ") for line in lines if line.startswith("failed: "))
    assert [line.partition(";")[0] for line in failed] == [
        "DatabaseError cannot write database sqlite:///missing/dedup.db: unable to open database file",
        "SettingsError DEDUP_MIN_TOKENS = 'wide': expected a whole number from 0 up",
    ]
    # The one whose database is locked in its midst is closed in order.
    assert set(lines) - {f"failed: {line}" for line in failed} == {"healthy: finished 5 5", "not failed"}
    assert again == "again: finished"
    [stopped] = [line for line in result.errors if line.endswith("; the crawl stops, what is stored so far is kept")]
    assert "sqlite:///locked.db: database is locked" in stopped
    assert {line.partition(" ")[2] for line in failed} <= set(result.errors)


PROCESS = """
if len(sys.argv) > 2:
    SETTINGS["TWISTED_REACTOR_ENABLED"] = False
process = getattr(scrapy_crawler, sys.argv[1])({**SETTINGS, "CONCURRENT_ITEMS": 1})
for spider in FAILING:
    process.crawl(spider)


class Endless(Shop):
    name = "endless"
    pages = 1_000_000

    async def start(self):
        async for request in super().start():
            yield request
            await asyncio.sleep(0.02)

    def parse(self, response, number):
        yield from super().parse(response, number)
        print("endless", flush=True)


process.crawl(Endless)
process.start()
print("ended", flush=True)
"""


@pytest.mark.parametrize("process", [["CrawlerProcess"], ["AsyncCrawlerProcess", "without reactor"]], ids=" ".join)
def test_process_goes_on_when_some_of_its_crawls_fail_and_ends_by_sigterm(process: list[str], tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"{SPIDERS}\n{PROCESS}")
    crawling = start([sys.executable, str(path), *process], folder=tmp_path)
    assert crawling.stdout is not None
    # Pages of the others tell nothing of whether this one has begun.
    for _ in range(20):
        while crawling.stdout.readline() not in ("endless\n", ""):
            pass
    crawling.send_signal(signal.SIGTERM)
    result = finish(crawling, accidents=True)
    assert (result.status, result.stdout.splitlines()[-1]) == (0, "ended"), result.stderr[-3000:]
    assert "Spider closed (shutdown)" in result.stderr
