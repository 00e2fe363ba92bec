"""`scrapy continue`: a crawl that was interrupted goes on, with the command line that it had."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from crawler.commands import crawl

if TYPE_CHECKING:
    from crawler.runs import UnfinishedRun
    from dedup.store.database import Database

# Scrapy names a command by its module, and loads this one for every command.
# ruff: noqa: N999, PLC0415

_MOST_NAMED = 5


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
            "their place. --give-up ends a run that cannot come to its end, such as that of a site that is gone; "
            "`dedup runs cancel RUN` deletes its pages, too."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--give-up", action="store_true", help="end the run: its pages stay, what is left is not fetched"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy.cmdline import execute

        from crawler.runs import CommandLine, words_to_go_on
        from dedup.errors import DedupError

        super().process_options(args, opts)
        unknown = [word for word in args if word.startswith("-")] + args[1:]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is not understood", print_help=False)
        # What is said besides the name of the run; Scrapy has taken that of the command out.
        given = sys.argv[1:]
        for word in args:
            given.remove(word)
        try:
            run = self._choose(args[0] if args else "")
            if opts.give_up:
                self._give_up(run)
                sys.exit()
            words = words_to_go_on(run, given)
        except DedupError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(error.exit_status)
        sys.stderr.write(f"{run} goes on; to end it instead: --give-up\n")
        port = CommandLine(words).settings.get("DEMO_PORT", "")
        with _demo_site(int(port) if port.isdecimal() else 0):
            # What goes on is stored, too.
            sys.argv = [sys.argv[0], *words]
            execute(sys.argv)

    def _choose(self, name: str) -> UnfinishedRun:
        """Return the run of this name, or the last one; name the others where none is named."""
        from crawler.frontier.store import find_unfinished
        from crawler.runs import choose_run
        from dedup.console import counted
        from dedup.store.database import require_file
        from dedup.store.processes import worker_name

        assert self.settings is not None
        name = name or self.settings["DEDUP_RUN"] or ""
        with closing(self._database(read_only=True)) as database:
            require_file(database)
            found = find_unfinished(database, worker_name())
            run = choose_run(found, name, database.name)
        others = [] if name else [each for each in found if each is not run]
        for other in others[:_MOST_NAMED]:
            sys.stderr.write(f"{other} is not finished either\n")
        if others[_MOST_NAMED:]:
            sys.stderr.write(f"{counted(len(others) - _MOST_NAMED, 'more run')} not finished\n")
        return run

    def _give_up(self, run: UnfinishedRun) -> None:
        from crawler.frontier.store import give_up
        from dedup.console import plain

        with closing(self._database(read_only=False)) as database:
            give_up(database, run)
        sys.stderr.write(f"{run} is given up; its pages stay: scrapy export {plain(run.name)} -o FILE\n")

    def _database(self, *, read_only: bool) -> Database:
        from dedup.rules.settings import DedupSettings
        from dedup.store.database import Database

        assert self.settings is not None
        settings = DedupSettings.read(self.settings.get)
        return Database(settings.database_url, settings.lock_timeout, read_only=read_only)


def _demo_site(port: int) -> AbstractContextManager[object]:
    from crawler.demo.site import DemoServer

    if not port:
        return nullcontext()
    try:
        return DemoServer(port)
    except OSError as error:
        sys.stderr.write(f"error: the demo site cannot be served at port {port}: {error.strerror}\n")
        sys.exit(1)
