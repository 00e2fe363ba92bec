"""`python -m benchmarks NAME`: run one of the measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import crawl


def main() -> int:
    """Run the measurement named on the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    crawl_parser = commands.add_parser("crawl", help="a labelled set as a web site, crawled end to end")
    crawl_parser.add_argument("--data", type=Path, required=True, help="folder with docs.jsonl, pairs.jsonl and html/")
    crawl_parser.add_argument("--limit", type=int, help="use only the first so many documents")
    crawl_parser.add_argument("--database", help="database URL (default: SQLite in a temporary folder)")
    crawl_parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (default: 3)")
    crawl_parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    try:
        return crawl.run(
            options.data, limit=options.limit, database=options.database, rounds=options.rounds, json_file=options.json
        )
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
