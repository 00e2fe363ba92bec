"""`scrapy dedup-check`: what the stage would see in a project's items, and what it would drop, without a crawl."""

from __future__ import annotations

import argparse
import sys

from dedup.errors import DedupError, SettingsError
from dedup.stage.running import AddonCommand

# Scrapy loads this module for every command of every project in the environment: what takes a
# quarter of a second to import waits until it is needed.
# ruff: noqa: PLC0415


class Command(AddonCommand):
    def syntax(self) -> str:
        return "[options] ITEMS.jsonl"

    def short_desc(self) -> str:
        return "Say what dedup would see and drop in a file of items"

    def long_desc(self) -> str:
        return (
            "Read items from a feed (JSON lines, JSON or CSV; scrapy crawl NAME -o ITEMS.jsonl makes one), and say "
            "where dedup finds their text and their key with the settings of this project, and which of them it would "
            "drop. Nothing is written, and the database of the project plays no part."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--item-class",
            default="",
            metavar="PATH",
            help="import path of the class of the items, where settings go by classes",
        )
        parser.add_argument("--spider", default="", metavar="NAME", help="the spider that the items are of")
        parser.add_argument(
            "--explain", default="", metavar="KEY", help="say why this item would be dropped, in place of the report"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.stage.check import check_items
        from dedup.stage.project import unknown_settings

        assert self.settings is not None
        try:
            if len(args) != 1:
                raise SettingsError("one file of items is expected: scrapy dedup-check ITEMS.jsonl")
            for line in unknown_settings(self.settings):
                sys.stderr.write(f"warning: {line}\n")
            kind, spider, explained = opts.item_class, opts.spider, opts.explain
            check_items(args[0], self.settings, sys.stdout, item_class=kind, spider=spider, explained=explained)
        except DedupError as error:
            self.fail(error)
        except OSError as error:
            self.fail(DedupError(str(error)))
