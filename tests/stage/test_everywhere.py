"""Wherever Scrapy runs the stage runs, or says in one line why it does not: versions, reactors, jobs, commands."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.crawling import Crawl, finish, run, runs_in, start, verdicts_in
from tests.localsite import LocalSite, article
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SETTINGS = """
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ADDONS = {"dedup.DedupAddon": 500}
TELNETCONSOLE_ENABLED = False
DEDUP_DATABASE_URL = "sqlite:///dedup.db"
DEDUP_WORKERS = 0
DOWNLOAD_DELAY = 0
"""

WIDE = "DEDUP_MIN_TOKENS = 'wide': expected a whole number from 0 up"

SPIDER = """
import os
import scrapy


class ShopSpider(scrapy.Spider):
    name = "shop"

    async def start(self):
        yield scrapy.Request(os.environ["SITE"] + "/", callback=self.parse)

    def parse(self, response):
        yield {"url": response.url, "text": response.css("article p::text").get()}
        yield from response.follow_all(css="a")


class OtherSpider(ShopSpider):
    name = "other"
"""


class Project:
    """A project of somebody else, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database_url = f"sqlite:///{folder / 'dedup.db'}"

    def write(self, name: str, text: str) -> None:
        """Write a file of it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def scrapy(self, *arguments: str, code: Sequence[str] = ("-m", "scrapy"), accidents: bool = False) -> Crawl:
        """Run a command of Scrapy."""
        return run([sys.executable, *code, *arguments], folder=self.folder, accidents=accidents)

    def verdicts(self) -> list[tuple[str, str]]:
        """The keys of all documents and their verdicts, in order of the keys."""
        told = sorted(verdicts_in(self.database_url), key=lambda row: str(row["key"]))
        return [(row["key"], row["verdict"]) for row in told]

    def runs(self) -> list[str]:
        """The names of all runs."""
        if not (self.folder / "dedup.db").exists():
            return []
        return [each.name for each in runs_in(self.database_url)]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalSite]:
    """A page and its copy behind a front page."""
    pages = {
        "/": article("front", ["/page"]),
        "/page": article("page", ["/copy"]),
        "/copy": article("page", ["/of-copy"]),
        "/of-copy": article("of copy"),
    }
    with LocalSite(pages) as site:
        monkeypatch.setenv("SITE", site.url)
        yield site


@pytest.fixture
def project(tmp_path: Path, site: LocalSite) -> Project:
    project = Project(tmp_path)
    project.write("scrapy.cfg", "[settings]\ndefault = shop.settings\n")
    project.write("shop/__init__.py", "")
    project.write("shop/settings.py", SETTINGS)
    project.write("shop/spiders/__init__.py", SPIDER)
    return project


def drops_the_copy(result: Crawl) -> None:
    assert (result.status, result.errors) == (0, [])
    assert result.stats["dedup/exact_duplicate"] == 1
    assert result.stats["dedup/new"] == 3


# Versions and reactors


@pytest.mark.parametrize(("version", "is_too_old"), [("2.13.4", True), ("2.14.0", False)])
def test_old_scrapy_ends_with_one_line(version: str, is_too_old: bool, project: Project) -> None:
    code = f"import scrapy; scrapy.__version__ = {version!r}; from scrapy.cmdline import execute; execute()"
    result = project.scrapy("crawl", "shop", code=("-c", code))
    if is_too_old:
        assert result.status == 1
        [line] = result.stderr.splitlines()
        assert line.startswith(f"error: dedup needs Scrapy 2.14 or newer, and this is {version}: pip install ")
    else:
        drops_the_copy(result)


SELECT = "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"


@pytest.mark.parametrize(
    ("settings", "status", "line"),
    [
        ([SELECT], 1, "the dedup stage needs asyncio: take TWISTED_REACTOR out of the settings"),
        (
            ["FORCE_CRAWLER_PROCESS=1", "DEDUP_MIN_TOKENS=wide"],
            2,
            WIDE,
        ),
        (
            ["TWISTED_REACTOR_ENABLED=0", "DEDUP_MIN_TOKENS=wide"],
            2,
            WIDE,
        ),
        (
            ["FORCE_CRAWLER_PROCESS=1", "DEDUP_DATABASE_URL=sqlite:///no/x.db", "DEDUP_ON_ERROR=stop"],
            1,
            "cannot write database sqlite:///no",
        ),
    ],
)
def test_what_cannot_work_ends_the_command_with_one_line(
    settings: list[str], status: int, line: str, project: Project
) -> None:
    result = project.scrapy("crawl", "shop", *(part for setting in settings for part in ("-s", setting)))
    assert (result.status, len(result.errors)) == (status, 1)
    assert result.errors[0].startswith(line)


@pytest.mark.parametrize("setting", ["FORCE_CRAWLER_PROCESS=1", "TWISTED_REACTOR_ENABLED=0"])
def test_other_ways_to_run_a_crawl_work(setting: str, project: Project) -> None:
    drops_the_copy(project.scrapy("crawl", "shop", "-s", setting))


def test_stage_that_is_switched_off_says_so_in_one_line_on_any_reactor(project: Project) -> None:
    result = project.scrapy("crawl", "shop", "-s", SELECT, "-s", "DEDUP_ENABLED=0")
    assert (result.status, result.stats["item_scraped_count"]) == (0, 4)
    [line] = [line for line in result.stderr.splitlines() if "dedup" in line and "WARNING" in line]
    assert line.endswith("DEDUP_ENABLED is off")
    assert not (project.folder / "dedup.db").exists()


PIPELINE = """
from twisted.internet import reactor


class Store:
    def process_item(self, item):
        return item
"""


def test_pipelines_of_a_project_may_import_the_reactor(project: Project) -> None:
    project.write("shop/pipelines.py", PIPELINE)
    drops_the_copy(project.scrapy("crawl", "shop", "-s", 'ITEM_PIPELINES={"shop.pipelines.Store": 300}'))


WRONG = """
import scrapy.cmdline
from scrapy.crawler import AsyncCrawlerRunner, CrawlerProcess
from dedup import SettingsError

for kind in (CrawlerProcess, AsyncCrawlerRunner):
    try:
        kind({"ADDONS": {"dedup.DedupAddon": 500}, "DEDUP_MIN_TOKENS": "wide"})
    except SettingsError as error:
        print(error)
"""


def test_wrong_setting_in_a_script_is_an_exception_like_any_other(tmp_path: Path) -> None:
    result = run([sys.executable, "-c", WRONG], folder=tmp_path)
    assert result.status == 0
    assert result.stdout.splitlines() == [WIDE] * 2


# Commands that are no crawl


@pytest.mark.parametrize(
    "command",
    [
        ["fetch", "--nolog", "SITE/page"],
        ["shell", "SITE/page", "-c", "response.status"],
        ["parse", "--spider=shop", "--nolog", "SITE/of-copy"],
        ["check"],
        ["list"],
        ["view", "--help"],
    ],
    ids=lambda command: command[0],
)
def test_commands_that_are_no_crawl_leave_no_run_behind(command: list[str], project: Project, site: LocalSite) -> None:
    result = project.scrapy(*(part.replace("SITE", site.url) for part in command))
    assert (result.status, result.errors) == (0, [])
    assert not (project.folder / "dedup.db").exists()


STORE = """
import scrapy


class Store:
    def open_spider(self):
        self.is_open = True

    def close_spider(self):
        self.is_open = False

    def process_item(self, item):
        print("open" if self.is_open else "closed")
        return item
"""


def test_items_that_are_tried_out_are_decided_and_reach_open_pipelines(project: Project, site: LocalSite) -> None:
    project.write("shop/pipelines.py", STORE)
    settings = ["-s", 'ITEM_PIPELINES={"shop.pipelines.Store": 300}']
    result = project.scrapy("parse", "--spider=shop", "--pipelines", *settings, f"{site.url}/page", accidents=True)
    assert (result.status, result.errors) == (0, [])
    assert "open" in result.stdout.splitlines()
    assert len(project.runs()) == 1


# Jobs that are paused and go on


def test_job_that_was_paused_goes_on_where_it_was(project: Project, site: LocalSite) -> None:
    texts = {number: article(f"text {number // 2}", [f"/{number + 1}"]) for number in range(20)}
    site.pages |= {f"/{number}": page for number, page in texts.items()}
    site.pages["/"] = article("front", ["/0"])
    options = ["crawl", "shop", "-s", "JOBDIR=job", "-s", "DOWNLOAD_DELAY=0.1", "-o", "items.jsonl"]
    site.answers = 10
    first = start([sys.executable, "-m", "scrapy", *options], folder=project.folder)
    wait_until(lambda: len(site.asked) > 10)
    first.send_signal(signal.SIGINT)
    site.answers = None
    assert finish(first).status == 0
    assert site.hits["/19"] == 0
    assert project.scrapy(*options).status == 0
    items = [json.loads(line)["text"] for line in (project.folder / "items.jsonl").read_text().splitlines()]
    assert len(items) == len(set(items)) == 11
    assert site.hits["/19"] == 1
    verdicts = [verdict for _, verdict in project.verdicts()]
    assert (verdicts.count("new"), verdicts.count("exact duplicate")) == (11, 10)
    assert len(project.runs()) == 1


# As scrapyd starts a crawl


def test_crawl_works_as_scrapyd_starts_it(project: Project) -> None:
    """It sets these variables, and calls `scrapy.cmdline.execute` in a process of its own."""
    code = "from scrapy.cmdline import execute; execute()"
    command = ["-c", f"import os; os.environ.update(SCRAPY_PROJECT='default', SCRAPYD_JOB='6487ec79'); {code}"]
    result = project.scrapy(
        "crawl", "shop", "-s", "LOG_FILE=job.log", "-s", "FEEDS={}", "-a", "_job=6487ec79", code=command
    )  # fmt: skip
    assert (result.status, result.stderr) == (0, "")
    log = (project.folder / "job.log").read_text()
    assert "'dedup/exact_duplicate': 1" in log
    result = project.scrapy("crawl", "shop", "-s", "LOG_FILE=second.log", "-s", "DEDUP_MIN_TOKENS=wide", code=command)
    assert (result.status, result.stderr) == (
        2,
        f"ERROR: {WIDE}\n",
    )


# Without a scrapy.cfg, as in scripts of Celery and Django, and in the eggs of scrapyd

SCRIPT = """
import os, sys
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

sys.path.insert(0, PATH)
os.environ["SCRAPY_SETTINGS_MODULE"] = "shop.settings"
process = AsyncCrawlerProcess(get_project_settings())
process.crawl("shop")
process.start()
"""


@pytest.mark.parametrize("is_archive", [False, True])
def test_without_scrapy_cfg_the_database_is_beside_the_settings_or_in_the_folder(
    is_archive: bool, project: Project
) -> None:
    (project.folder / "scrapy.cfg").unlink()
    project.write("shop/settings.py", re.sub("DEDUP_DATABASE_URL.*", "", SETTINGS))
    path = project.folder
    if is_archive:
        path = Path(shutil.make_archive(str(project.folder / "egg"), "zip", project.folder, "shop"))
    project.write("work/crawl.py", SCRIPT.replace("PATH", repr(str(path))))
    result = run([sys.executable, "crawl.py"], folder=project.folder / "work")
    drops_the_copy(result)
    expected = project.folder / ("work" if is_archive else "shop") / ".scrapy" / "dedup" / "shop.db"
    assert expected.is_file()
    assert result.says(str(expected))
    # The report finds it without the settings.
    report = run([sys.executable, "-m", "dedup", "duplicates"], folder=project.folder / ("work" if is_archive else ""))
    assert "dropped       1 document " in report.stdout
