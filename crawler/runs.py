"""Runs that can be continued: their names, the command lines that they were started with, and what goes on."""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""The setting in which `scrapy crawl` notes the words behind `scrapy`, for whoever goes on with the crawl."""

_STAT = "dedup/run"

_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
_DATABASE = "DEDUP_DATABASE_URL"
_SET_DATABASE = f"-s {_DATABASE}="


def name_of_run(crawler: Crawler) -> str:
    """Return the name of a crawl's run: that of the dedup stage, else `DEDUP_RUN`, else one made of the time."""
    if not crawler.stats.get_value(_STAT):
        crawler.stats.set_value(_STAT, read_settings(crawler).run or name_by_time())
    return str(crawler.stats.get_value(_STAT))


def words_of(crawler: Crawler) -> list[str] | None:
    """Return the command line of a crawl, without values that look secret; None: it is no `scrapy crawl`."""
    words: Sequence[str] | None = crawler.settings.get(WORDS)
    return None if words is None else list(map(without_secret, words))


def to_setting(name: str) -> str:
    """Return the setting that `--database` stands for, as `-s` takes it."""
    return f"{_DATABASE}={url_of(name)}"


def file_of(uri: str) -> str:
    """Return the path of the file on this machine that the address of a feed means; "" where it means another place."""
    scheme = urlsplit(uri).scheme
    return str(Path(file_uri_to_path(uri) if scheme else uri).resolve()) if scheme in ("", "file") else ""


class CommandLine:
    """The command line of a crawl, as far as is asked of one that is to go on.

    Args:
        words: those behind `scrapy`.

    Attributes:
        words: likewise.
        arguments: those of the spider, `-a`.
        settings: `-s` and `--database`, by their names.
        outputs: what `-o` and `-O` name, with the options themselves.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        parser.add_argument("-a", action="append", default=[])
        parser.add_argument("-s", "--set", action="append", default=[])
        parser.add_argument("--database", dest="set", action="append", type=to_setting)
        parser.add_argument("-o", "--output", action="append", default=[])
        parser.add_argument("-O", "--overwrite-output", action="append", default=[])
        found, _ = parser.parse_known_args(self.words)
        self.arguments: dict[str, str] = dict(each.split("=", 1) for each in found.a if "=" in each)
        self.settings: dict[str, str] = dict(each.split("=", 1) for each in found.set if "=" in each)
        named = (("-o", found.output), ("-O", found.overwrite_output))
        self.outputs: list[tuple[str, str]] = [(option, each) for option, values in named for each in values]

    @property
    def site(self) -> str:
        """Where the crawl starts, as it was said."""
        return ", ".join(filter(None, map(self.arguments.get, ("url", "urls_file", "sitemap", "warc"))))

    @property
    def files(self) -> set[str]:
        """The files that its feeds are written to, as `file_of` names them: whoever goes on with it replaces them."""
        # A format may stand behind the last colon.
        return {file_of(name) for _, output in self.outputs for name in (output, output.rpartition(":")[0]) if name}

    @property
    def domains(self) -> set[str]:
        """The hosts that it fetches from, as far as they can be told."""
        try:
            return set(SiteArguments.parse(self.arguments).allowed_domains)
        except SettingsError:  # such as a list of addresses that is not there any more
            return set()

    def hidden(self) -> list[str]:
        """Return what has to be given again, since it holds a secret: the options of the command line."""
        options = [f"-a {name}={value}" for name, value in self.arguments.items() if HIDDEN in value]
        options += [f"-s {name}={value}" for name, value in sorted(self.settings.items()) if HIDDEN in value]
        return options + [f"{option} {output}" for option, output in self.outputs if HIDDEN in output]

    def followed_by(self, given: Sequence[str]) -> CommandLine:
        """Return this one with further words, which take the place of what was said before."""
        words, further = list(self.words), CommandLine(given)
        for option, output in self.outputs:
            if further.outputs or HIDDEN in output:
                words = _without_option(words, option, output)
        return CommandLine([*words, *given])


def _without_option(words: list[str], option: str, value: str) -> list[str]:
    for start in range(len(words)):
        if words[start : start + 2] == [option, value]:
            return words[:start] + words[start + 2 :]
    return [word for word in words if word not in (f"{option}{value}", f"{option}={value}")]


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that has not ended.

    Attributes:
        name: its name.
        words: those of the command line that it was started with last; None where that is not known.
        kept: how many pages it has kept.
        left: how many URLs are left, as far as they are known.
        is_under_way: whether a process is at it now, as far as the database knows.
        is_ending: whether a process has begun to end it, perhaps for now, and its feeds may not be written yet.
        parts: in how many parts it is crawled.
    """

    name: str
    words: Sequence[str] | None
    kept: int
    left: int
    is_under_way: bool
    is_ending: bool = False
    parts: int = 1

    def __str__(self) -> str:
        site = CommandLine(self.words or ()).site
        of_site = f" of {plain(site)}" if site else ""
        return f"run {plain(self.name)}{of_site} ({counted(self.kept, 'page')} kept, {self.left:,} left)"


def command_to_continue(crawler: Crawler, run: str = "", arguments: Sequence[str] = ()) -> str:
    """Return the command line that goes on with a run in the database of a crawl.

    Args:
        crawler: the crawl.
        run: the run's name; "" for the one that was interrupted last.
        arguments: more of the command line.
    """
    return _command_line(crawler, ["continue", *([run] if run else []), *arguments])


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
    given = [name for name in settings if name.startswith("FEED_") and settings.getpriority(name) == _COMMAND_LINE]
    said = [word for name in sorted(given) for word in ("-s", f"{name}={settings[name]}")]
    return without_password(_command_line(crawler, ["export", run, *output, *said]))


def _command_line(crawler: Crawler, command: Sequence[str]) -> str:
    settings = crawler.settings
    variables: dict[str, str] = {}
    part = settings_of(crawler, CrawlerSettings).part
    if part.of > 1:
        variables = {"SCRAPY_PROJECT": "cluster", "DEDUP_RUN": settings["DEDUP_RUN"], "CRAWLER_PART": str(part)}
    words = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    words += [program("scrapy"), *command]
    if variables or settings.getpriority(_DATABASE) == _COMMAND_LINE:
        words += option_naming(settings[_DATABASE])
    return shlex.join(words)


def line_to_continue(crawler: Crawler, reason: str) -> str:
    """Return the command line that goes on with a crawl that has ended.

    Args:
        crawler: the crawl.
        reason: why it ended, as Scrapy names it.
    """
    limit = getattr(getattr(crawler.spider, "arguments", None), "max_pages", None) if reason == "max_pages" else None
    arguments = _more_pages(limit) if limit else []
    for option in CommandLine(words_of(crawler) or []).hidden():
        if not option.startswith(_SET_DATABASE):
            arguments += option.split(" ", 1)
    return command_to_continue(crawler, arguments=arguments)


def name_unfinished(crawler: Crawler, others: Sequence[UnfinishedRun]) -> None:
    """Warn of the last run of the same site that was interrupted, as another crawl begins.

    Args:
        crawler: the crawl.
        others: the unfinished runs of its database, the last one first.
    """
    arguments = getattr(crawler.spider, "arguments", None)
    for other in others:
        if arguments is None or other.words is None or other.is_under_way:
            continue
        said = CommandLine(other.words)
        # A run that has kept as many pages as it was to keep has done what it was asked for.
        if said.domains.intersection(arguments.allowed_domains) and not _has_all(other, said):
            command = command_to_continue(crawler, other.name)
            logger.warning("%s is not finished. This is a new crawl; to continue that one: %s", other, command)
            return


def choose_run(found: Sequence[UnfinishedRun], name: str, database: str) -> UnfinishedRun:
    """Return the run to go on with.

    Args:
        found: the unfinished runs, the last one first.
        name: which of them; "" for the last one that no process is at.
        database: the database, as it may be shown.

    Raises:
        DedupError: there is no such run.
    """
    named = [run for run in found if name in ("", run.name)]
    what = f"unfinished run {plain(name)!r}" if name else "unfinished run"
    if not named:
        raise DedupError(f"{database} has no {what}: nothing to continue")
    free = [run for run in named if run.parts > 1 or not run.is_under_way]
    if not free:
        raise DedupError(f"run {plain(named[0].name)} is under way in another process: wait for it to end, or stop it")
    return free[0]


def words_to_go_on(run: UnfinishedRun, given: Sequence[str]) -> list[str]:
    """Return the words behind `scrapy` that go on with a run.

    Args:
        run: the run.
        given: what is said besides, and counts more.

    Raises:
        DedupError: the command line of the run is not stored.
        SettingsError: a secret value is missing, or the run has kept as many pages as it may.
    """
    if run.words is None:
        raise DedupError(
            f"the command line of run {plain(run.name)} is not stored: "
            f"repeat the command with -s DEDUP_RUN={plain(run.name)}"
        )
    said = CommandLine(run.words)
    now = said.followed_by(given)
    missing = [each for each in now.hidden() if not each.startswith(_SET_DATABASE)]
    further = CommandLine(given)
    missing += [f"{option} {each}" for option, each in said.outputs if HIDDEN in each and not further.outputs]
    if missing:
        raise SettingsError(f"secret values are not stored: pass them again: {' '.join(missing)}")
    if _has_all(run, now):
        raise SettingsError(
            f"run {plain(run.name)} has kept the {counted(run.kept, 'page')} that max_pages allows: "
            f"add {' '.join(_more_pages(run.kept))} to keep as many again"
        )
    words = now.words
    if HIDDEN in now.settings.get(_DATABASE, ""):
        words = _without_option(words, "-s", f"{_DATABASE}={now.settings[_DATABASE]}")
        words = _without_option(words, "--database", now.settings[_DATABASE])
    return [*words, "-s", f"DEDUP_RUN={run.name}"]


def _has_all(run: UnfinishedRun, said: CommandLine) -> bool:
    """Return whether a run has kept as many pages as it may, and all is written: it would end again at once."""
    limit = said.arguments.get("max_pages", "")
    return limit.isdecimal() and run.kept >= int(limit) and not run.is_ending


def _more_pages(kept: int) -> list[str]:
    return ["-a", f"max_pages={2 * kept}"]
