"""`scrapy crawl`: as Scrapy has it, but a crawl that was stopped by a failure ends with status 1."""

from __future__ import annotations

import argparse
import sys

from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

# Scrapy loads this module for every command.
# ruff: noqa: PLC0415


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
    """Runs a spider."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_database_option(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawler.runs import WORDS
        from dedup.stage.outages import FAILED

        assert self.settings is not None
        # Scrapy has taken the name of the command out.
        self.settings.set(WORDS, ["crawl", *sys.argv[1:]], "cmdline")
        super().run(args, opts)
        stats = self._crawler.stats
        if stats is not None and stats.get_value(FAILED) is not None:
            self.exitcode = 1

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        try:
            self._crawler = super()._create_crawler(spidercls)
        except KeyError as error:
            raise UsageError(f"{error.args[0]}; `scrapy list` names the spiders", print_help=False) from None
        return self._crawler
