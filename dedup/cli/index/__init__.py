"""`dedup index COMMAND ...`: saved indexes of documents, one module a command."""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType

_COMMANDS = {
    "build": ("building", "make an index of files, or of the documents that a crawl's database knows"),
    "info": ("info", "say what an index consists of: format, scheme, documents, bytes, skew"),
    "query": ("query", "look up texts, files or fingerprints"),
    "merge": ("merging", "make one index of several"),
    "verify": ("verifying", "read all of an index and check it"),
    "export": ("exporting", "write an index as JSONL or Parquet"),
    "import": ("importing", "make an index of what was exported"),
    "load": ("loading", "make the database of a crawl that knows the documents of an index"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of all commands."""
    parsers = parser.add_subparsers(dest="index_command", metavar="COMMAND", required=True)
    for name, (_, about) in _COMMANDS.items():
        command = parsers.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        _module(name).add_arguments(command)


def run(options: argparse.Namespace) -> int:
    """Run the command that was named."""
    status: int = _module(options.index_command).run(options)
    return status


def _module(name: str) -> ModuleType:
    return import_module(f"dedup.cli.index.{_COMMANDS[name][0]}")
