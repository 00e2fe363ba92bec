"""Crawls for the tests: by the real command in a process of its own, or many in this process."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import pytest
from scrapy import Spider, exceptions, signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import Settings, default_settings
from sqlalchemy import create_engine, text
from twisted.internet import asyncioreactor

from dedup.store.database import open_existing_database
from dedup.store.runs import Run, read_runs
from tests.forking import ForkedProcess
from tests.waiting import HANG

ROOT = Path(__file__).resolve().parents[1]
# One that the stage works on, and the crawler does not.
IS_OLD_SCRAPY = not hasattr(exceptions, "CannotResolveHostError")
_NO_REACTOR = "TWISTED_REACTOR_ENABLED"
# What no crawl may ever show, whatever a site or a user does.
_ACCIDENTS = (
    "Traceback (most recent call last)",
    "was never retrieved",
    "was never awaited",
    "DeprecationWarning",
    "RuntimeWarning",
    "ResourceWarning",
    "Unhandled error",
)
_STAT = re.compile(r"^[ {]'([^']+)': (.+?)[,}]$", re.MULTILINE)
# For crawls in this process that end before they begin, when Scrapy forgets to close its sessions.
NO_NETWORK: Mapping[str, Any] = {"DOWNLOAD_HANDLERS": {"http": None, "https": None}}
# No host is asked as slowly as elsewhere.
_SOON = {"AUTOTHROTTLE_ENABLED": False, "DOWNLOAD_DELAY": 0}
# Nor is anything waited for as long, so that others join it or a host has time to recover: what tests crawl is small.
_CONSTANTS: Mapping[str, object] = {
    "crawler.politeness.hosts.PATIENCE": 30.0,
    "crawler.politeness.hosts.pause_seconds": "tests.waiting.brief_pause",
    "crawler.frontier.scheduler.PATIENCE": 0.01,
    "crawler.frontier.scheduler.POLL_SECONDS": 0.1,
    "crawler.pages.pipeline.BATCH_PATIENCE": 0.01,
    "dedup.stage.crawl_run.BATCH_PATIENCE": 0.01,
}
_FAST = {**_SOON, "DEDUP_WORKERS": 0, "STATS_DUMP": True}


@dataclass(frozen=True)
class Crawl:
    """What a command did.

    Attributes:
        status: its exit status.
        stdout: what it wrote to standard output.
        stderr: what it wrote to standard error: the log.
        database_url: the database that it was given.
    """

    status: int
    stdout: str
    stderr: str
    database_url: str = ""

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Scrapy's stats; numbers as numbers, everything else as it was written."""
        found = _STAT.findall(self.stderr.rpartition("Dumping Scrapy stats:")[2])
        return {name: float(value) if re.fullmatch(r"-?[\d.]+", value) else value.strip("'") for name, value in found}

    @cached_property
    def skipped(self) -> dict[str, int]:
        """How many pages were skipped, by reason."""
        prefix = "crawler/skipped/"
        return {name.removeprefix(prefix): int(n) for name, n in self.stats.items() if name.startswith(prefix)}

    @cached_property
    def errors(self) -> list[str]:
        """The messages that were logged as errors, without time and logger."""
        return re.findall(r"^.*?\bERROR: (.*)$", self.stderr, re.MULTILINE)

    @cached_property
    def summary(self) -> dict[str, str]:
        """The lines of the summary by their labels."""
        lines = [line.split("  ", 1) for line in self.stdout.splitlines() if "  " in line]
        return {label: value.strip() for label, value in lines}

    def summed_up(self, label: str) -> int:
        """The first number of a line of the summary, which has none of what is zero."""
        number = re.match(r"[\d,]+", self.summary.get(label, "0"))
        if number is None:
            raise AssertionError(self.stdout)
        return int(number[0].replace(",", ""))

    @cached_property
    def accidents(self) -> list[str]:
        """Lines of the output that no user may ever see, with the line before them."""
        lines = ["", *(self.stdout + self.stderr).splitlines()]
        return [
            f"{before}\n{line}" for before, line in pairwise(lines) if any(accident in line for accident in _ACCIDENTS)
        ]

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Ask the database."""
        return ask(self.database_url, query)

    @cached_property
    def pages(self) -> dict[str, dict[str, Any]]:
        """The stored pages by URL."""
        rows = self.rows("SELECT * FROM pages ORDER BY id")
        pages = {row["url"]: row for row in rows}
        if len(pages) != len(rows):
            raise AssertionError("a page is stored twice")
        return pages

    @cached_property
    def verdicts(self) -> list[dict[str, Any]]:
        """All verdicts, in order, with the keys that they speak of."""
        return verdicts_in(self.database_url)

    def paths(self, site_url: str) -> list[str]:
        """The stored pages' paths on a site."""
        return sorted(url.removeprefix(site_url) for url in self.pages)

    def says(self, *words: str) -> bool:
        """Whether one line of the log has all these words."""
        return any(all(word in line for word in words) for line in self.stderr.splitlines())


def ask(database_url: str, query: str) -> list[dict[str, Any]]:
    """Return what a database answers."""
    engine = create_engine(re.sub("^postgres(ql)?://", "postgresql+psycopg://", database_url))
    try:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]
    finally:
        engine.dispose()


def pages_in(database_url: str) -> list[dict[str, Any]]:
    """Return the stored pages, those that are gone too, in the order of their addresses."""
    return ask(database_url, "SELECT * FROM pages ORDER BY url")


def versions_in(database_url: str) -> list[dict[str, Any]]:
    """Return what pages have held before, in the order of their addresses and then of time."""
    return ask(database_url, "SELECT * FROM page_versions ORDER BY url, id")


def runs_in(database_url: str) -> list[Run]:
    """Return the runs of a database, the earliest first."""
    with closing(open_existing_database(database_url)) as database:
        return read_runs(database)


def verdicts_in(database_url: str, *, of_last_run: bool = False) -> list[dict[str, Any]]:
    """Return the verdicts in a database, in order, with the keys that they speak of."""
    rows = ask(
        database_url,
        "SELECT v.*, d.key AS key, o.key AS original FROM dedup_verdicts v"
        " JOIN dedup_documents d ON d.id = v.document_id"
        " LEFT JOIN dedup_documents o ON o.id = v.original_id ORDER BY v.id",
    )
    if not of_last_run:
        return rows
    [last] = ask(database_url, "SELECT max(id) AS id FROM dedup_runs")
    return [row for row in rows if row["run_id"] == last["id"]]


def require_crawler() -> None:
    """Skip a test of the crawler where Scrapy is too old for it."""
    if IS_OLD_SCRAPY:
        pytest.skip("the crawler needs a newer Scrapy")


def crawl_command(
    arguments: Mapping[str, object], settings: Mapping[str, object] | None = None, options: Sequence[str] = ()
) -> list[str]:
    """Return the command line of a crawl by the site spider; without DEDUP_WORKERS it has a thread for extraction."""
    command = [sys.executable, "-m", "scrapy", "crawl", "site"]
    for name, value in arguments.items():
        command += ["-a", f"{name}={value}"]
    for name, value in {**_FAST, **(settings or {})}.items():
        command += ["-s", f"{name}={value}"]
    return [*command, *options]


def crawl(
    database: Path | str,
    settings: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    *,
    accidents: bool = False,
    before: Callable[[], None] | None = None,
    seconds: float = HANG,
    constants: Mapping[str, object] | None = None,
    **arguments: object,
) -> Crawl:
    """Run `scrapy crawl site`.

    Args:
        database: a SQLite file, or a database's URL.
        settings: Scrapy settings besides those that make it fast.
        options: more of the command line.
        accidents: whether tracebacks and warnings are for the test to judge; they fail it otherwise.
        before: called in the new process before the command.
        seconds: after which it counts as hanging, which fails the test.
        constants: what constants are in it, by their full names; text is the full name of what takes their place.
        **arguments: those of the spider.
    """
    database_url = database if isinstance(database, str) else f"sqlite:///{database}"
    command = crawl_command(arguments, {"DEDUP_DATABASE_URL": database_url, **(settings or {})}, options)
    process = start(command, before=before, constants=constants)
    return finish(process, database_url=database_url, accidents=accidents, seconds=seconds)


def run(
    command: Sequence[str],
    *,
    folder: Path = ROOT,
    database_url: str = "",
    accidents: bool = False,
    before: Callable[[], None] | None = None,
    seconds: float = HANG,
) -> Crawl:
    """Run a command to its end."""
    process = start(command, folder=folder, before=before)
    return finish(process, database_url=database_url, accidents=accidents, seconds=seconds)


def scrapy(database: Path | str, *words: str, folder: Path = ROOT) -> Crawl:
    """Run another command of Scrapy's on a database."""
    database_url = database if isinstance(database, str) else f"sqlite:///{database}"
    command = [sys.executable, "-m", "scrapy", *words, "-s", f"DEDUP_DATABASE_URL={database_url}"]
    return run(command, folder=folder, database_url=database_url)


def start(
    command: Sequence[str],
    *,
    folder: Path = ROOT,
    before: Callable[[], None] | None = None,
    constants: Mapping[str, object] | None = None,
) -> subprocess.Popen[str] | ForkedProcess:
    """Start a command as a terminal does: in a process group of its own."""
    if folder == ROOT:
        require_crawler()
    # A copy of this project has modules of its own.
    is_loaded = folder == ROOT or not (folder / "crawler").exists()
    is_forked = tuple(command[:2]) == (sys.executable, "-m") and command[2] in ("dedup", "scrapy")
    if is_forked and is_loaded and before is None:
        known = {
            name: value for name, value in _CONSTANTS.items() if not (IS_OLD_SCRAPY and name.startswith("crawler."))
        }
        return ForkedProcess(command[2:], folder, environment(), {**known, **(constants or {})})
    assert not constants, "only a forked process has constants of its own"
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        preexec_fn=before,  # noqa: PLW1509 -- no thread of ours holds a lock that the child needs
    )


def finish(
    process: subprocess.Popen[str] | ForkedProcess,
    *,
    database_url: str = "",
    accidents: bool = False,
    seconds: float = HANG,
) -> Crawl:
    """Wait for a command's end; whatever does not end is killed and fails the test."""
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"not ended after {seconds} s:\n{stdout}\n{stderr[-5000:]}") from None
    result = Crawl(process.returncode, stdout, stderr, database_url)
    if result.accidents and not accidents:
        raise AssertionError("accidents in the output:\n" + "\n".join(result.accidents) + f"\n\n{stderr[-3000:]}")
    return result


def environment() -> dict[str, str]:
    """Return an environment without what the tests' own process has been told."""
    unwanted = ("SCRAPY_", "PYTEST_", "CRAWLER_", "PYTHONWARNINGS", "COV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


class ExitedError(Exception):
    """A crawl in this process asked for the end of the process.

    Attributes:
        status: the exit status that it asked for.
        outcome: what is known of the crawl.
    """

    def __init__(self, status: object, outcome: Outcome) -> None:
        super().__init__(f"exit status {status}")
        self.status = status
        self.outcome = outcome


@dataclass
class Outcome:
    """What a crawl in this process did.

    Attributes:
        stats: Scrapy's stats.
        items: the items that went through all pipelines.
        dropped: the exceptions that dropped items.
        failed: how many items met an error.
        log: what was logged at INFO and above.
    """

    stats: dict[str, Any] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    dropped: list[BaseException] = field(default_factory=list)
    failed: int = 0
    log: list[logging.LogRecord] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        """What was logged, without time and logger."""
        return [record.getMessage() for record in self.log]

    @property
    def tracebacks(self) -> list[str]:
        """What was logged with a traceback."""
        return [record.getMessage() for record in self.log if record.exc_info]

    def count(self, name: str) -> int:
        """Return a number of the stats, 0 where it is not there."""
        return int(self.stats.get(name, 0))

    @property
    def kinds_of_drops(self) -> Counter[str]:
        """How many items were dropped by each class of exception."""
        return Counter(type(exception).__name__ for exception in self.dropped)


def crawl_site_here(
    database: Path | str,
    settings: Mapping[str, Any] | None = None,
    *,
    constants: Mapping[str, object] | None = None,
    **arguments: object,
) -> Outcome:
    """Run the site spider in this process, with the project's settings.

    Args:
        database: a SQLite file, or a database's URL.
        settings: more Scrapy settings.
        constants: what constants are meanwhile, as above.
        **arguments: those of the spider.
    """
    require_crawler()
    from crawler.spider.site import SiteSpider
    from settings import default

    database_url = database if isinstance(database, str) else f"sqlite:///{database}"
    project = {name: value for name, value in vars(default).items() if name.isupper()}
    project |= {"DEDUP_DATABASE_URL": database_url, **_SOON}
    with ExitStack() as stack:
        for name, value in {**_CONSTANTS, **(constants or {})}.items():
            stack.enter_context(patch(name, resolve_name(value) if isinstance(value, str) else value))
        return crawl_here(SiteSpider, {**project, **(settings or {})}, **arguments)


def crawl_here(spider: type[Spider], settings: Mapping[str, Any], seconds: float = HANG, **arguments: Any) -> Outcome:
    """Run a spider in this process, without Twisted's reactor; any number of times.

    Errors are handled as in the `scrapy` command.

    Args:
        spider: its class.
        settings: Scrapy settings.
        seconds: after which it counts as hanging, which fails the test.
        **arguments: those of the spider.

    Raises:
        ExitedError: the crawl ended with SystemExit.
    """
    values = {"DEDUP_WORKERS": 0, "LOG_LEVEL": "DEBUG", **settings}
    values |= {_NO_REACTOR: False, "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False}
    project = Settings(values, priority="project")
    outcome = Outcome()

    def count_failure() -> None:
        outcome.failed += 1

    def keep_item(item: Any) -> None:
        outcome.items.append(item)

    def keep_exception(exception: BaseException) -> None:
        outcome.dropped.append(exception)

    async def crawl_it() -> None:
        crawler = AsyncCrawlerRunner(project).create_crawler(spider)
        crawler.signals.connect(keep_item, signals.item_scraped)
        crawler.signals.connect(keep_exception, signals.item_dropped)
        crawler.signals.connect(count_failure, signals.item_error)
        async with asyncio.timeout(seconds):
            await crawler.crawl_async(**arguments)
        assert crawler.stats is not None
        outcome.stats = crawler.stats.get_stats()

    status: object = None
    with _logged_to(outcome.log):
        try:
            with patch("dedup.stage.running.is_command", return_value=True):
                (asyncio.run if hasattr(default_settings, _NO_REACTOR) else _run_on_reactor)(crawl_it())
        except SystemExit as ended:
            status = ended.code
    if status is not None:
        # What was under way is never awaited, as when a process ends.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            gc.collect()
        raise ExitedError(status, outcome)
    return outcome


def _run_on_reactor(work: Coroutine[Any, Any, None]) -> None:
    """Run as `asyncio.run` does, with Twisted's reactor, which Scrapy 2.14 cannot do without."""
    if "twisted.internet.reactor" not in sys.modules:
        asyncioreactor.install(asyncio.new_event_loop())
        from twisted.internet import reactor

        reactor.startRunning(installSignalHandlers=False)
    loop = sys.modules["twisted.internet.reactor"]._asyncioEventloop
    try:
        loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


@contextmanager
def _logged_to(records: list[logging.LogRecord]) -> Iterator[None]:
    handler = logging.Handler(logging.INFO)
    handler.emit = records.append  # type: ignore[method-assign]
    handler.addFilter(_is_not_of_the_end)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _is_not_of_the_end(record: logging.LogRecord) -> bool:
    # asyncio.run tells of every task that SystemExit has ended, at some later time.
    return not (record.name == "asyncio" and record.exc_info and isinstance(record.exc_info[1], SystemExit))
