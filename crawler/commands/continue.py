"""`scrapy continue`: a crawl that was interrupted goes on, with the command line that it had."""

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
        from scrapy.cmdline import execute

        from crawler.runs import CommandLine
        from dedup.errors import DedupError, exit_status

        super().process_options(args, opts)
        unknown = [word for word in args if word.startswith("-")] + args[1:]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is not understood", print_help=False)
        # What is said besides the name of the run; Scrapy has taken that of the command out.
        given = sys.argv[1:]
        for word in args:
            given.remove(word)
        try:
            words = self._words(args[0] if args else "", given)
        except DedupError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(exit_status(error))
        port = CommandLine(words).settings.get("DEMO_PORT", "")
        with _demo_site(int(port) if port.isdecimal() else 0):
            # What goes on is stored, too.
            sys.argv = [sys.argv[0], *words]
            execute(sys.argv)

    def _words(self, name: str, given: list[str]) -> list[str]:
        """Return the words behind `scrapy` that go on with a run."""
        from crawler.frontier.store import find_unfinished, worker_name
        from crawler.runs import choose_run, words_to_go_on
        from dedup.console import counted
        from dedup.rules.settings import DedupSettings
        from dedup.store.database import Database, require_file

        assert self.settings is not None
        settings = self.settings
        with closing(Database(DedupSettings.read(settings.get).database_url, read_only=True)) as database:
            require_file(database)
            found = find_unfinished(database, worker_name())
            run, said = choose_run(found, name or settings["DEDUP_RUN"] or "", database.name)
        words = words_to_go_on(run, said, given)
        sys.stderr.write(
            f"run {run.name} of {said.site} goes on: {counted(run.kept, 'page')} kept, {run.left:,} left\n"
        )
        return words


def _demo_site(port: int) -> AbstractContextManager[object]:
    from crawler.demo.site import DemoServer

    if not port:
        return nullcontext()
    try:
        return DemoServer(port)
    except OSError as error:
        sys.stderr.write(f"error: the demo site cannot be served at port {port}: {error.strerror}\n")
        sys.exit(1)
