"""`dedup index load`: the database of a crawl that begins with what an index knows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from dedup.corpus.saved.loading import Source, load, open_source
from dedup.corpus.state.checkpoint import about_settings
from dedup.rules.settings import RuleSettings
from dedup.sql.database import url_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.description = (
        "Make the database of a crawl that knows the documents of an index: pages are duplicates of them, and name "
        "them as their originals. If it is stopped, the same command goes on."
    )
    parser.add_argument(
        "index", type=Path, metavar="INDEX", help="a folder, what was exported of one, or what Spark wrote"
    )
    parser.add_argument("database", metavar="DATABASE", help="a new one: a URL, or an SQLite file")
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Load an index into a new database."""
    with open_source(options.index) as source:
        loaded = load(source, url_of(options.database))
        settings = list(_settings(source))
    if options.json:
        print(json.dumps({**loaded._asdict(), "settings": settings}))
        return 0
    print(f"{loaded.database}: {loaded.documents:,} documents, as run '{loaded.run}'")
    if loaded.left_out:
        print(f"left out: {loaded.left_out:,} pages without text, as an index does not know their bytes")
    if settings:
        print(f"crawl into it with the settings of the index: {', '.join(settings)}")
    return 0


def _settings(source: Source) -> Iterator[str]:
    """Yield the settings that are not the defaults, as they are written."""
    usual = about_settings(RuleSettings())
    for name, value in source.named_settings.items():
        if name in usual and value != usual[name]:
            yield f"DEDUP_{name.upper()}={value}" if name != "scheme" else f"DEDUP_SCHEME={source.settings.scheme}"
