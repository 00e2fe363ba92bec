"""Runs of crawls: their names, what they were asked for, and which of them a command goes on with."""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from w3lib.url import file_uri_to_path

from crawler.arguments import SiteArguments
from crawler.secrets import HIDDEN, without_password, without_secret
from crawler.settings import CrawlerSettings
from dedup.console import counted, plain, program
from dedup.errors import DedupError, SettingsError
from dedup.stage.project import read_settings, settings_of
from dedup.store.runs import name_by_time
from dedup.store.urls import option_naming, url_of

logger = logging.getLogger(__name__)

WORDS = "SCRAPY_COMMAND_LINE"
"""The setting that holds the command of a crawl, to be shown: the same goes on with it."""

_STAT = "dedup/run"
_OF_FEEDS = ("FEED_", CrawlerSettings.full_name("text"))
_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
_DATABASE = "DEDUP_DATABASE_URL"
_LIMIT = "max_pages"
_VARIABLE = re.compile("(?:PARTS|URL)=")


def name_of_run(crawler: Crawler) -> str:
    """Return the name of a crawl's run: that of the dedup stage, else `DEDUP_RUN`, else one made of the time."""
    if not crawler.stats.get_value(_STAT):
        crawler.stats.set_value(_STAT, read_settings(crawler).run or name_by_time())
    return str(crawler.stats.get_value(_STAT))


def to_setting(name: str) -> str:
    """Return the setting that `--database` stands for, as `-s` takes it."""
    return f"{_DATABASE}={url_of(name)}"


def file_of(uri: str) -> str:
    """Return the path of the file on this machine that the address of a feed means; "" where it means another place."""
    scheme = urlsplit(uri).scheme
    return str(Path(file_uri_to_path(uri) if scheme else uri).resolve()) if scheme in ("", "file") else ""


@dataclass(frozen=True)
class Asked:
    """What a run was asked for, as it is stored: a secret is `***`.

    Attributes:
        spider: the name of the spider.
        arguments: those of the spider, as on the command line.
        feeds: the feeds that the command line names, and their options, by URI.
    """

    spider: str
    arguments: Mapping[str, str]
    feeds: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, crawler: Crawler) -> Asked:
        """Return what a crawl was asked for."""
        settings, arguments = crawler.settings, getattr(crawler.spider, "given", {})
        is_given = settings.getpriority("FEEDS") == _COMMAND_LINE
        feeds = settings.getdict("FEEDS").items() if is_given else ()
        return cls(
            crawler.spidercls.name,
            without_secrets(arguments),
            {without_password(str(uri)): dict(options) for uri, options in feeds},
        )

    @classmethod
    def read(cls, text: str) -> Asked:
        """Read what `str` has written."""
        return cls(**json.loads(text))

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @property
    def site(self) -> str:
        """Where the crawl starts, as it was said."""
        return ", ".join(filter(None, map(self.arguments.get, ("url", "urls_file", "sitemap", "warc"))))

    @property
    def files(self) -> set[str]:
        """The files that its feeds are written to: whoever goes on with it replaces them."""
        return set(map(file_of, self.feeds))

    @property
    def domains(self) -> set[str]:
        """The hosts that it fetches from, as far as they can be told."""
        try:
            return set(SiteArguments.parse(self.arguments).allowed_domains)
        except SettingsError:  # such as a list of addresses that is not there any more
            return set()

    def is_same(self, arguments: Mapping[str, str]) -> bool:
        """Return whether a command asks for the same, but for how many pages are kept."""
        return _but_limit(without_secrets(arguments)) == _but_limit(self.arguments)

    def is_meant_by(self, arguments: Mapping[str, str]) -> bool:
        """Return whether a command says no more than what is secret of it, and how many pages are kept."""
        secret = {item for item in self.arguments.items() if HIDDEN in item[1]}
        return _but_limit(without_secrets(arguments)).items() <= secret


def without_secrets(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return arguments of a spider with what looks secret hidden."""
    return {name: without_secret(f"{name}={value}").partition("=")[2] for name, value in arguments.items()}


def _but_limit(arguments: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in arguments.items() if name != _LIMIT}


@dataclass(frozen=True)
class CrawlRun:
    """A run that is known to the frontier.

    Attributes:
        name: its name.
        started: when it began, in seconds since 1970.
        asked: what it was asked for when it was begun or continued last; None where a process has died before that.
        parts: in how many parts it is crawled.
        is_over: whether it has finished.
        kept: how many pages it has kept.
        left: how many URLs are left, as far as they are known.
        is_under_way: whether a process is at it now, as far as the database knows.
        is_ending: whether a process has begun to end it, perhaps for now, and its feeds may not be written yet.
    """

    name: str
    started: float
    asked: Asked | None
    parts: int
    is_over: bool
    kept: int
    left: int
    is_under_way: bool
    is_ending: bool

    def __str__(self) -> str:
        site = self.asked.site if self.asked else ""
        of_site = f" of {plain(site)}" if site else ""
        return f"run {plain(self.name)}{of_site} ({counted(self.kept, 'page')} kept, {self.left:,} left)"

    def has_all(self, arguments: Mapping[str, str]) -> bool:
        """Return whether it has kept as many pages as it may, and all is written: it would end again at once."""
        limit = arguments.get(_LIMIT, "")
        return limit.isdecimal() and self.kept >= int(limit) and not self.is_ending


def choose_run(found: Sequence[CrawlRun], spider: str, arguments: Mapping[str, str], name: str = "") -> CrawlRun | None:
    """Return the unfinished run that a command goes on with; None: it begins another one.

    That is the run of its name, else the last one that was asked for the same, else, where it says no more than what
    is secret, the last one of its spider. A run in parts is known by its name alone.

    Args:
        found: the unfinished runs, the last one first.
        spider: the name of the spider.
        arguments: those of the spider; whoever gives `max_pages` alone gives none.
        name: of the run; "" where none is named.

    Raises:
        DedupError: another process is at it.
    """
    if name:
        return next((run for run in found if run.name == name), None)
    of_spider = [(run, run.asked) for run in found if run.parts == 1 and run.asked and run.asked.spider == spider]
    same = [run for run, asked in of_spider if asked.is_same(arguments)]
    # What has kept all that it is to keep is done, and the same command begins anew.
    chosen = [run for run in same if not run.has_all(arguments)]
    if not same:
        chosen = [run for run, asked in of_spider if asked.is_meant_by(arguments)]
    if not chosen:
        return None
    free = [run for run in chosen if not run.is_under_way]
    if not free:
        raise DedupError(f"{chosen[0]} is under way in another process: stop it, or begin another run by --new")
    return free[0]


def arguments_to_go_on(run: CrawlRun, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments with which a command goes on with a run.

    Raises:
        SettingsError: a secret value is missing, or the run has kept as many pages as it may.
    """
    said_before = run.asked.arguments if run.asked and run.asked.is_meant_by(arguments) else {}
    completed = {**said_before, **arguments}
    _require_secrets(f"-a {name}={value}" for name, value in completed.items() if HIDDEN in value)
    if run.has_all(completed):
        raise SettingsError(
            f"run {plain(run.name)} has kept the {counted(run.kept, 'page')} that max_pages allows: "
            f"add -a max_pages={2 * run.kept} to keep as many again"
        )
    return completed


def feeds_to_go_on(run: CrawlRun) -> dict[str, dict[str, Any]]:
    """Return the feeds with which a command goes on with a run that names none.

    Raises:
        SettingsError: a password is missing.
    """
    feeds = run.asked.feeds if run.asked else {}
    _require_secrets(f"-o {uri}" for uri in feeds if HIDDEN in uri)
    return {uri: dict(options) for uri, options in feeds.items()}


def _require_secrets(missing: Iterator[str]) -> None:
    if options := " ".join(missing):
        raise SettingsError(f"secret values are not stored: pass them again: {options}")


def command_to_continue(crawler: Crawler, *, has_all: bool = False) -> str:
    """Return the command line that goes on with a crawl: that with which it was started.

    Args:
        crawler: the crawl.
        has_all: whether it has kept as many pages as it may, so that more have to be allowed.
    """
    words = shlex.split(crawler.settings.get(WORDS) or f"{program('scrapy')} crawl {crawler.spidercls.name}")
    said = [without_secret(word) for word in words if word != "--new"]
    limit = getattr(getattr(crawler.spider, "arguments", None), _LIMIT, None)
    if has_all and limit:
        said = [*_without_limit(said), "-a", f"{_LIMIT}={2 * limit}"]
    return shlex.join([*_variables(crawler), *(_for_make(said) if is_by_make(crawler) else said)])


def _for_make(words: Sequence[str]) -> list[str]:
    """Return a command line of `make`: arguments of Scrapy are one of its variables."""
    variables = [word for word in words[2:] if _VARIABLE.match(word)]
    arguments = [word for word in words[2:] if not _VARIABLE.match(word)]
    return [*words[:2], *variables, *([f"ARGS={shlex.join(arguments)}"] if arguments else [])]


def _without_limit(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line but those that say how many pages are kept."""
    for word, behind in zip(words, [*words[1:], ""], strict=True):
        if not (word.removeprefix("-a").startswith(f"{_LIMIT}=") or (word == "-a" and behind.startswith(f"{_LIMIT}="))):
            yield word


def command_to_export(crawler: Crawler, run: str, uri: str, options: Mapping[str, Any]) -> str:
    """Return the command line that writes a feed of a run again.

    Args:
        crawler: the crawl.
        run: the run's name.
        uri: where the feed goes.
        options: those of the feed.
    """
    suffix = "" if uri.endswith(f".{options['format']}") else f":{options['format']}"
    output = ["-o", f"-{suffix}"] if uri == "stdout:" else ["-O", f"{uri}{suffix}"]
    settings = crawler.settings
    given = [name for name in settings if name.startswith(_OF_FEEDS) and settings.getpriority(name) == _COMMAND_LINE]
    said = [word for name in sorted(given) for word in ("-s", f"{name}={settings[name]}")]
    words = [*_variables(crawler), program("scrapy"), "export", run, *output, *said, *option_of_database(crawler)]
    return without_password(shlex.join(words))


def is_by_make(crawler: Crawler) -> bool:
    """Return whether a person has typed `make` for a crawl."""
    return str(crawler.settings.get(WORDS)).startswith("make ")


def _variables(crawler: Crawler) -> list[str]:
    part = settings_of(crawler, CrawlerSettings).part
    if part.of == 1:
        return []
    if is_by_make(crawler):
        return ["env", f"DEDUP_RUN={crawler.settings['DEDUP_RUN']}"]
    return ["env", "SCRAPY_PROJECT=cluster", f"DEDUP_RUN={crawler.settings['DEDUP_RUN']}", f"CRAWLER_PART={part}"]


def option_of_database(crawler: Crawler) -> list[str]:
    """Return the option by which commands read the database of a crawl; none where they find it by themselves."""
    is_named = crawler.settings.getpriority(_DATABASE) == _COMMAND_LINE
    is_named |= settings_of(crawler, CrawlerSettings).part.of > 1
    return option_naming(crawler.settings[_DATABASE]) if is_named else []


def name_unfinished(crawler: Crawler, others: Sequence[CrawlRun]) -> None:
    """Warn of the last run of the same site that was interrupted, as another crawl begins.

    Args:
        crawler: the crawl.
        others: the unfinished runs of its database, the last one first.
    """
    arguments = getattr(crawler.spider, "arguments", None)
    for other in others:
        if arguments is None or other.asked is None or other.is_under_way:
            continue
        # A run that has kept as many pages as it was to keep has done what it was asked for.
        if other.asked.domains.intersection(arguments.allowed_domains) and not other.has_all(other.asked.arguments):
            words = [program("scrapy"), "crawl", other.asked.spider, "-s", f"DEDUP_RUN={other.name}"]
            command = shlex.join([*words, *option_of_database(crawler)])
            logger.warning("%s is not finished. This is a new crawl; to continue that one: %s", other, command)
            return
