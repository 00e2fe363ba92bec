"""How an interrupted run is gone on with: the command for it, and who names it."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from sqlalchemy.engine import make_url

from crawler.runs.options import HIDDEN, RunOptions
from dedup.display import counted, plain, program
from dedup.errors import DedupError, SettingsError
from dedup.sql.engines import shown_url

logger = logging.getLogger(__name__)

_DATABASES = ("DEDUP_DATABASE_URL", "CRAWLER_DATABASE_URL")
_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that has URLs left to fetch.

    Attributes:
        name: its name.
        options: with what it was started last, as `RunOptions.dump` has written it; None where that is not known.
        kept: how many pages it has kept.
        left: how many URLs are left, as far as they are known.
        is_under_way: whether a process is at it now, as far as the database knows.
    """

    name: str
    options: str | None
    kept: int
    left: int
    is_under_way: bool


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
    """Say whether a run has kept as many pages as it may: it would end again at once."""
    limit = arguments.get("max_pages", "")
    return limit.isdecimal() and run.kept >= int(limit)


def _more_pages(kept: int) -> list[str]:
    return ["-a", f"max_pages={2 * kept}"]
