"""`scrapy continue`: a crawl that was interrupted goes on, with the options that it had."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, closing, nullcontext

from scrapy.exceptions import UsageError

from crawler.commands import crawl

# Scrapy names a command by its module, and loads this one for every command.
# ruff: noqa: N999, PLC0415


class Command(crawl.Command):
    """Goes on with an unfinished run; what the command line says again takes the place of what was said before."""

    def syntax(self) -> str:
        return "[options] [RUN]"

    def short_desc(self) -> str:
        return "Go on with a crawl that was interrupted"

    def long_desc(self) -> str:
        return (
            "Go on with a crawl that was interrupted: with the one that was started last, or the run of this name. "
            "It has the arguments, settings and feeds that it was started with; those that are given here take "
            "their place."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.errors import DedupError, exit_status

        super().process_options(args, opts)
        unknown = [word for word in args if word.startswith("-")] + args[1:]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is not understood", print_help=False)
        try:
            self._take_over(args[0] if args else "", opts)
        except DedupError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(exit_status(error))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        with _demo_site(self.settings.getint("DEMO_PORT")):
            super().run([self._spider], opts)

    def _take_over(self, name: str, opts: argparse.Namespace) -> None:
        """Let settings and arguments be those of the run, but for what was given here."""
        from crawler.frontier.leases import worker_name
        from crawler.frontier.store import find_unfinished
        from crawler.runs import choose_run, take_over
        from dedup.console import counted
        from dedup.rules.settings import DedupSettings
        from dedup.sql.database import Database, require_file

        assert self.settings is not None
        settings = self.settings
        url = settings.get("CRAWLER_DATABASE_URL") or DedupSettings.read(settings.get).database_url
        with closing(Database(url, read_only=True)) as database:
            require_file(database)
            found = find_unfinished(database, worker_name())
            is_shared = settings.getbool("CRAWLER_SHARED_RUN")
            run, options = choose_run(found, name or settings["DEDUP_RUN"] or "", database.name, is_shared=is_shared)
        opts.spargs = take_over(run, options, settings, opts.spargs)
        self._spider = options.spider
        sys.stderr.write(
            f"run {run.name} of {options.site} goes on: {counted(run.kept, 'page')} kept, {run.left:,} left\n"
        )


def _demo_site(port: int) -> AbstractContextManager[object]:
    from crawler.demo.site import DemoServer

    if not port:
        return nullcontext()
    try:
        return DemoServer(port)
    except OSError as error:
        sys.stderr.write(f"error: the demo site cannot be served at port {port}: {error.strerror}\n")
        sys.exit(1)
