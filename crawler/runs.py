"""Runs that can be continued: their names, the options that they were started with, and what goes on with them."""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from sqlalchemy.engine import make_url
from w3lib.url import file_uri_to_path

from dedup.console import counted, plain, program
from dedup.errors import DedupError, SettingsError
from dedup.ledger.runs import name_by_time
from dedup.sql.database import shown_url
from dedup.stage.failures import read_settings

logger = logging.getLogger(__name__)

_STAT = "dedup/run"


HIDDEN = "***"
"""What stands in the place of a password."""

_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
# The keys and tokens of DEDUP_* are those of documents; what is secret there is in a URL.
_SECRET_NAME = re.compile(r"^(?!DEDUP_).*(PASS|PASSWORD|SECRET|TOKEN|CREDENTIALS?|KEY)(_|$)")
_PASSWORD = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*@|(?<=[?&])(password=)[^&\s]*", re.IGNORECASE)

_DATABASES = ("DEDUP_DATABASE_URL", "CRAWLER_DATABASE_URL")


def name_of_run(crawler: Crawler) -> str:
    """Return the name of a crawl's run: that of the dedup stage, else `DEDUP_RUN`, else one made of the time."""
    if not crawler.stats.get_value(_STAT):
        crawler.stats.set_value(_STAT, read_settings(crawler).run or name_by_time())
    return str(crawler.stats.get_value(_STAT))


@dataclass(frozen=True)
class RunOptions:
    """What a crawl was told on its command line, but for its passwords.

    Attributes:
        spider: the name of the spider.
        arguments: those of the spider, `-a`.
        settings: by their names; what `-s`, `-o`, `-O`, `-L`, `--logfile` and `--nolog` stand for.
        domains: the hosts that it fetches from.
        files: those that its feeds are written to, as `file_of` names them: whoever goes on with it replaces them.
    """

    spider: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    domains: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return those of a crawl."""
        spider, settings = crawler.spider, crawler.settings
        given = {name: settings[name] for name in settings if settings.getpriority(name) == _COMMAND_LINE}
        return cls(
            spider.name if spider else "",
            _without_passwords(dict(getattr(spider, "given", {}))),
            {name: HIDDEN if _SECRET_NAME.search(name) else _without_passwords(given[name]) for name in sorted(given)},
            list(getattr(spider, "allowed_domains", [])),
            [file for uri in settings.getdict("FEEDS") if (file := file_of(str(uri)))],
        )

    @classmethod
    def load(cls, stored: str) -> Self:
        """Return what `dump` has written."""
        return cls(**json.loads(stored))

    def dump(self) -> str:
        """Write them as JSON."""
        return json.dumps(vars(self), default=str)

    @property
    def site(self) -> str:
        """Where the crawl starts, as it was said."""
        return ", ".join(filter(None, map(self.arguments.get, ("url", "urls_file", "sitemap", "warc"))))

    def hidden(self) -> list[str]:
        """Return what has to be given again, since it holds a password: the options of the command line."""
        options = [f"-a {name}={value}" for name, value in self.arguments.items() if HIDDEN in value]
        for name, value in self.settings.items():
            if name == "FEEDS":
                options += [f"-o {uri}" for uri in value if HIDDEN in uri]
            elif HIDDEN in str(value):
                options.append(f"-s {name}={value}")
        return options


def file_of(uri: str) -> str:
    """Return the path of the file on this machine that the address of a feed means; "" where it means another place."""
    scheme = urlsplit(uri).scheme
    return str(Path(file_uri_to_path(uri) if scheme else uri).resolve()) if scheme in ("", "file") else ""


def without_password(text: str) -> str:
    """Return a text with the passwords of its URLs hidden."""
    return _PASSWORD.sub(lambda found: f"{found[2]}{HIDDEN}" if found[2] else f"{found[1]}:{HIDDEN}@", text)


def _without_passwords(value: Any) -> Any:
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, (Mapping, BaseSettings)):
        return {without_password(str(name)): _without_passwords(each) for name, each in value.items()}
    return value


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that has not ended.

    Attributes:
        name: its name.
        options: with what it was started last, as `RunOptions.dump` has written it; None where that is not known.
        kept: how many pages it has kept.
        left: how many URLs are left, as far as they are known.
        is_under_way: whether a process is at it now, as far as the database knows.
        is_ending: whether a process has begun to end it, perhaps for now, and its feeds may not be written yet.
    """

    name: str
    options: str | None
    kept: int
    left: int
    is_under_way: bool
    is_ending: bool = False


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
    return _command_line(crawler, ["export", run, *output, *said])


def _command_line(crawler: Crawler, command: Sequence[str]) -> str:
    settings = crawler.settings
    told: dict[str, str] = {}
    if settings.getbool("CRAWLER_SHARED_RUN"):
        database = shown_url(make_url(settings["DEDUP_DATABASE_URL"]))
        told = {"SCRAPY_PROJECT": "cluster", "DEDUP_DATABASE_URL": database, "DEDUP_RUN": settings["DEDUP_RUN"]}
    words = ["env", *(f"{name}={value}" for name, value in told.items())] if told else []
    words += [program("scrapy"), *command]
    for name in _DATABASES:
        if name not in told and settings.getpriority(name) == _COMMAND_LINE:
            words += ["-s", f"{name}={shown_url(make_url(settings[name]))}"]
    return shlex.join(words)


def line_to_continue(crawler: Crawler, reason: str) -> str:
    """Return the command line that goes on with a crawl that has ended.

    Args:
        crawler: the crawl.
        reason: why it ended, as Scrapy names it.
    """
    options = RunOptions.of(crawler)
    limit = options.arguments.get("max_pages", "") if reason == "max_pages" else ""
    arguments = _more_pages(int(limit)) if limit else []
    for option in options.hidden():
        if not any(option.startswith(f"-s {name}=") for name in _DATABASES):
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
        if arguments is None or other.options is None or other.is_under_way:
            continue
        options = RunOptions.load(other.options)
        # A run that has kept as many pages as it was to keep has done what it was asked for.
        if set(options.domains).intersection(arguments.allowed_domains) and not _has_all(other, options.arguments):
            logger.warning(
                "run %s of %s is not finished: %s kept, %s left. This crawl begins anew; to go on with that one: %s",
                plain(other.name),
                plain(options.site),
                counted(other.kept, "page"),
                counted(other.left, "address"),
                command_to_continue(crawler, other.name),
            )
            return


def choose_run(
    found: Sequence[UnfinishedRun], name: str, database: str, *, is_shared: bool
) -> tuple[UnfinishedRun, RunOptions]:
    """Return the run to go on with, and with what it was started.

    Args:
        found: the unfinished runs, the last one first.
        name: which of them; "" for the last one that no process is at.
        database: the database, as it may be shown.
        is_shared: whether several processes may be at one run.

    Raises:
        DedupError: there is no such run.
    """
    named = [run for run in found if name in ("", run.name)]
    what = f"run {plain(name)!r}" if name else "an unfinished run"
    if not named:
        raise DedupError(f"{database} knows nothing of {what}: there is nothing to go on with")
    free = [run for run in named if is_shared or not run.is_under_way]
    if not free:
        raise DedupError(f"run {plain(named[0].name)} is under way in another process: wait for it to end, or stop it")
    if free[0].options is None:
        raise DedupError(
            f"with what run {plain(free[0].name)} was started is not known: "
            f"repeat its command with -s DEDUP_RUN={plain(free[0].name)}"
        )
    return free[0], RunOptions.load(free[0].options)


def take_over(
    run: UnfinishedRun, options: RunOptions, settings: BaseSettings, given: Mapping[str, str]
) -> dict[str, str]:
    """Let the settings be those that a run was started with, but for those of the command line.

    Args:
        run: the run.
        options: with what it was started.
        settings: what they are added to.
        given: the arguments of the spider on the command line.

    Returns:
        The arguments of the spider.

    Raises:
        SettingsError: a password is missing, or the run has kept as many pages as it may.
    """
    for name, value in options.settings.items():
        is_unknown_database = name in _DATABASES and HIDDEN in value
        if (settings.getpriority(name) or 0) < _COMMAND_LINE and not is_unknown_database:
            settings.set(name, value, "cmdline")
    settings.set("DEDUP_RUN", run.name, "cmdline")
    arguments = {**options.arguments, **given}
    now = {name: settings[name] for name in options.settings if name not in _DATABASES}
    missing = RunOptions(options.spider, arguments, now).hidden()
    if missing:
        raise SettingsError(f"passwords are not stored: say once more, with the password, {' '.join(missing)}")
    if _has_all(run, arguments):
        raise SettingsError(
            f"run {plain(run.name)} has kept the {counted(run.kept, 'page')} that max_pages allows: "
            f"add {' '.join(_more_pages(run.kept))} for as many more"
        )
    return arguments


def _has_all(run: UnfinishedRun, arguments: Mapping[str, str]) -> bool:
    """Say whether a run has kept as many pages as it may, and all is written: it would end again at once."""
    limit = arguments.get("max_pages", "")
    return limit.isdecimal() and run.kept >= int(limit) and not run.is_ending


def _more_pages(kept: int) -> list[str]:
    return ["-a", f"max_pages={2 * kept}"]
