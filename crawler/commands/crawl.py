"""`scrapy crawl`: as Scrapy has it, but a crawl that was stopped by a failure ends with status 1."""

from __future__ import annotations

import argparse
import sys

from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler

# Scrapy loads this module for every command.
# ruff: noqa: PLC0415


class Command(crawl.Command):
    """Runs a spider."""

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
        self._crawler = super()._create_crawler(spidercls)
        return self._crawler
