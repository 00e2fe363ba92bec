"""`dedup spark INPUT... -o DIR`: what `dedup files --on spark` does."""

from __future__ import annotations

import argparse

from dedup.cli import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    files.add_arguments(parser)
    parser.set_defaults(on="spark")


def run(options: argparse.Namespace) -> int:
    """Deduplicate and print the report."""
    return files.run(options)
