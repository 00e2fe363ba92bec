"""`scrapy duplicates`: `dedup duplicates` for the database of a project."""

from __future__ import annotations

import argparse

from dedup.errors import DedupError, SettingsError
from dedup.stage.running import AddonCommand

# Scrapy loads this module for every command of every project in the environment: what takes a
# quarter of a second to import waits until it is needed.
# ruff: noqa: PLC0415


class Command(AddonCommand):
    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Show the pages that were dropped as duplicates"

    def long_desc(self) -> str:
        from dedup.cli.duplicates import ABOUT

        return ABOUT

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from dedup.cli.duplicates import add_arguments

        super().add_options(parser)
        add_arguments(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.cli import duplicates
        from dedup.stage.project import names_database, read_project_settings

        assert self.settings is not None
        try:
            if args:
                raise SettingsError(f"{args[0]!r} is not understood: scrapy duplicates -h lists the options")
            settings = read_project_settings(self.settings)
            if not opts.database and names_database(self.settings):
                opts.database = settings.database_url
            self.exitcode = duplicates.run(opts)
        except DedupError as error:
            self.fail(error)
