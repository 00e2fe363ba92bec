"""`scrapy crawl`: as Scrapy has it, but it goes on with its unfinished run, and ends with status 1 where it failed."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from crawler.runs import CrawlRun

# Scrapy loads this module for every command.
# ruff: noqa: PLC0415

_MOST_NAMED = 5


def add_database_option(parser: argparse.ArgumentParser) -> None:
    """Add `--database`, as the commands of `dedup` have it: short for `-s DEDUP_DATABASE_URL=URL`."""
    from crawler.runs import to_setting

    parser.add_argument(
        "--database",
        dest="set",
        action="append",
        default=argparse.SUPPRESS,
        type=to_setting,
        metavar="URL",
        help="a URL or an SQLite file; default: DEDUP_DATABASE_URL (variable, or setting of the project), crawl.db",
    )


class Command(crawl.Command):
    """Runs a spider; that of sites goes on with what the same command has begun and was interrupted in."""

    def long_desc(self) -> str:
        return (
            "Run a spider. `site` goes on with the run that the same arguments have begun, if it was interrupted, and "
            "without arguments with the last one; -s DEDUP_RUN=NAME names another. --new begins anew."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_database_option(parser)
        parser.add_argument("--new", action="store_true", help="begin a new run, whatever was interrupted")
        parser.add_argument(
            "--give-up",
            action="store_true",
            help="end the run that it would go on with: its pages stay, what is left is not fetched",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawler.runs import WORDS
        from crawler.spider.site import SiteSpider
        from dedup.console import program
        from dedup.errors import DedupError
        from dedup.stage.outages import FAILED

        assert self.settings is not None
        assert self.crawler_process is not None
        spiders = self.crawler_process.spider_loader
        is_known = len(args) == 1 and args[0] in spiders.list()
        if is_known and issubclass(spiders.load(args[0]), SiteSpider) and not opts.new:
            try:
                self._go_on(args[0], opts)
            except DedupError as error:
                sys.stderr.write(f"error: {error}\n")
                sys.exit(error.exit_status)
        if not self.settings[WORDS]:
            # Scrapy has taken the name of the command out.
            self.settings.set(WORDS, shlex.join([program("scrapy"), "crawl", *sys.argv[1:]]), "cmdline")
        super().run(args, opts)
        stats = self._crawler.stats
        if stats is not None and stats.get_value(FAILED) is not None:
            self.exitcode = 1

    def _go_on(self, spider: str, opts: argparse.Namespace) -> None:
        """Take up the run that the command goes on with, if there is one."""
        from crawler.frontier.known_runs import find_unfinished, give_up
        from crawler.runs import arguments_to_go_on, choose_run, feeds_to_go_on
        from dedup.console import plain
        from dedup.errors import DedupError
        from dedup.rules.settings import DedupSettings
        from dedup.store.database import Database
        from dedup.store.processes import worker_name

        assert self.settings is not None
        settings = DedupSettings.read(self.settings.get)
        with closing(Database(settings.database_url, settings.lock_timeout, read_only=not opts.give_up)) as database:
            found = find_unfinished(database, worker_name())
            run = choose_run(found, spider, opts.spargs, settings.run)
            if opts.give_up:
                if run is None:
                    raise DedupError(f"{database.name} has no unfinished run of these arguments: nothing to give up")
                give_up(database, run)
                sys.stderr.write(f"{run} is given up; its pages stay: scrapy export {plain(run.name)} -o FILE\n")
                sys.exit()
        if run is None:
            return
        opts.spargs = arguments_to_go_on(run, opts.spargs)
        if not opts.output and not opts.overwrite_output and (feeds := feeds_to_go_on(run)):
            self.settings.set("FEEDS", feeds, "cmdline")
        if not settings.run:
            self._name(run, [each for each in found if each is not run])
            self.settings.set("DEDUP_RUN", run.name, "cmdline")

    def _name(self, run: CrawlRun, others: list[CrawlRun]) -> None:
        from dedup.console import counted

        sys.stderr.write(f"resuming {run}; --new starts another\n")
        for other in others[:_MOST_NAMED]:
            sys.stderr.write(f"{other} is not finished either\n")
        if others[_MOST_NAMED:]:
            sys.stderr.write(f"{counted(len(others) - _MOST_NAMED, 'more run')} not finished\n")

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        try:
            self._crawler = super()._create_crawler(spidercls)
        except KeyError as error:
            raise UsageError(f"{error.args[0]}; `scrapy list` names the spiders", print_help=False) from None
        return self._crawler
