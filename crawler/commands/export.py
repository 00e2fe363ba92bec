"""`scrapy export`: the pages that a run has kept, from the database, as a feed of a crawl."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing

from scrapy.commands import ScrapyCommand

from crawler.commands.crawl import add_database_option

# Scrapy loads this module for every command.
# ruff: noqa: PLC0415


class Command(ScrapyCommand):
    """Writes feeds of a run that has ended, or of what one has kept so far."""

    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] [RUN]"

    def short_desc(self) -> str:
        return "Write the pages that a crawl has kept to a file"

    def long_desc(self) -> str:
        return (
            "Write the pages that a run has kept, as they are stored now, to a file: those of the run that was started "
            "last, or of the run of this name. The file is the one that the crawl writes with the same option."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_database_option(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            action="append",
            help="write to FILE, which is made (- for stdout, as jsonl); its ending is the format, or -o FILE:FORMAT",
        )
        parser.add_argument(
            "-O",
            "--overwrite-output",
            metavar="FILE",
            action="append",
            help="the same, and replace a FILE that is there",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy.utils.conf import feed_process_params_from_cli

        super().process_options(args, opts)
        assert self.settings is not None
        of_settings = {str(uri): options for uri, options in self.settings.getdict("FEEDS").items()}
        self.settings.set("FEEDS", {}, priority="cmdline")
        output = ["-:jsonl" if name == "-" else name for name in opts.output or []]
        named = feed_process_params_from_cli(self.settings, output, overwrite_output=opts.overwrite_output or [])
        # A feed of the settings is written with its options, and no other one.
        feeds = {uri: {**of_settings.get(uri, {}), **options} for uri, options in named.items()}
        self.settings.set("FEEDS", feeds, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.console import plain
        from dedup.errors import DedupError, SettingsError

        try:
            if len(args) > 1:
                raise SettingsError(f"{args[1]!r} is not understood: scrapy export [RUN] -o FILE")
            self.exitcode = asyncio.run(self._export(args[0] if args else ""))
        except DedupError as error:
            sys.stderr.write(f"error: {plain(str(error))}\n")
            self.exitcode = error.exit_status

    async def _export(self, name: str) -> int:
        from scrapy import Spider
        from scrapy.crawler import Crawler
        from scrapy.exceptions import NotConfigured
        from scrapy.statscollectors import StatsCollector

        from crawler.feeds.kept_pages import choose_run, has_markdown
        from crawler.feeds.writing import Feeds
        from crawler.frontier.known_runs import find_run
        from crawler.settings import add_markdown
        from crawler.spider.site import SiteSpider
        from dedup.console import counted, plain
        from dedup.errors import SettingsError
        from dedup.stage.project import read_project_settings
        from dedup.store.database import Database, require_file
        from dedup.store.processes import worker_name

        crawler = Crawler(SiteSpider, self.settings)
        crawler.stats = StatsCollector(crawler)
        crawler.spider = spider = Spider.from_crawler(crawler, SiteSpider.name)
        if not crawler.settings.getdict("FEEDS"):
            raise SettingsError("name a file: scrapy export -o pages.jsonl")
        settings = read_project_settings(crawler.settings)
        with closing(Database(settings.database_url, read_only=True)) as database:
            require_file(database)
            run = choose_run(database, name)
            begun = find_run(database, worker_name(), run)
            if has_markdown(database, run):
                # As in the crawl that has stored it.
                add_markdown(crawler.settings)
        try:
            feeds = Feeds(crawler)
        except NotConfigured:
            raise SettingsError("no feed can be made of it, the line above says why") from None
        feeds.open_slots(spider)
        is_left = begun is not None and not begun.is_over
        # As in the crawl: the name may be that of an earlier run too, unless it has several parts.
        is_shared = begun is not None and begun.parts > 1
        status = 0
        async for slot, count, error in feeds.write(run, begun.started if begun and is_left and not is_shared else 0.0):
            if error is not None:
                sys.stderr.write(f"error: {plain(str(error))}\n")
                status = 1
            else:
                so_far = ", which is not finished" if is_left else ""
                sys.stderr.write(f"{counted(count, 'page')} of run {plain(run)}{so_far}: {plain(slot.uri)}\n")
        return status
