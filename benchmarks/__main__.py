"""`python -m benchmarks NAME`: run one of the measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dedup.errors import DedupError


def main() -> int:
    """Run the measurement named on the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    crawl_parser = commands.add_parser("crawl", help="a labelled set as a web site, crawled end to end")
    crawl_parser.add_argument("--data", type=Path, required=True, help="folder with docs.jsonl, pairs.jsonl and html/")
    crawl_parser.add_argument("--limit", type=int, help="use only the first so many documents")
    crawl_parser.add_argument("--database", help="database URL (default: SQLite in a temporary folder)")
    crawl_parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (default: 3)")
    quality_parser = commands.add_parser("quality", help="labelled pairs, decided by this library and by peers")
    quality_parser.add_argument(
        "--data", type=Path, nargs="+", required=True, metavar="DIR", help="labelled set, or folder of them"
    )
    signatures_parser = commands.add_parser("signatures", help="signatures a second of this library and of peers")
    signatures_parser.add_argument("--documents", type=int, default=100, help="texts of a language (default: 100)")
    signatures_parser.add_argument("--rounds", type=int, default=5, help="how often all are measured (default: 5)")
    index_parser = commands.add_parser("index", help="the index in memory beside peers and brute force")
    index_parser.add_argument("--n", type=float, default=1e6, help="how many fingerprints (default: 1e6)")
    index_parser.add_argument("--rounds", type=int, default=3, help="how often rates are measured (default: 3)")
    kill_parser = commands.add_parser("kill", help="a crawl killed with kill -9 and continued, beside one left alone")
    kill_parser.add_argument("--pages", type=int, default=2000, help="pages of the site (default: 2000)")
    kill_parser.add_argument("--kills", type=int, default=20, help="how often it is killed (default: 20)")
    kill_parser.add_argument("--seed", type=int, default=1, help="of the site and of the moments (default: 1)")
    kill_parser.add_argument("--databases", nargs=2, metavar="URL", help="two empty ones (default: SQLite files)")
    frontier_parser = commands.add_parser("frontier", help="many queued URLs, beside Scrapy's disk queues")
    frontier_parser.add_argument("--n", type=float, default=1e6, help="how many URLs are queued (default: 1e6)")
    order_parser = commands.add_parser("order", help="a labelled set decided again and again in shuffled order")
    order_parser.add_argument("--data", type=Path, required=True, help="folder with docs.jsonl and pairs.jsonl")
    order_parser.add_argument("--shuffles", type=int, default=20, help="how often it is shuffled (default: 20)")
    order_parser.add_argument("--seed", type=int, default=1, help="of the shuffling (default: 1)")
    sql_parser = commands.add_parser("sql", help="the cost of a look-up in the SQL tables, by what they hold")
    sql_parser.add_argument("--n", type=float, default=1e5, help="how many documents at most (default: 1e5)")
    files_parser = commands.add_parser("files", help="`dedup files` beside MinHash LSH by datasketch")
    files_parser.add_argument("--n", type=float, default=2e5, help="how many documents (default: 2e5)")
    files_parser.add_argument("--peer-n", type=float, default=1e4, help="how many of them the peer gets (default: 1e4)")
    files_parser.add_argument("--json", type=Path, help="write the figures to this file too")
    for each in (
        crawl_parser,
        quality_parser,
        signatures_parser,
        index_parser,
        kill_parser,
        frontier_parser,
        order_parser,
        sql_parser,
    ):
        each.add_argument("--json", type=Path, help="write the figures to this file too")
    try:
        return _run(parser.parse_args())
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install -r requirements/bench.txt", file=sys.stderr)
        return 2
    except (DedupError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:  # noqa: PLR0911 -- one for each
    # Each measurement needs packages that the others do without.
    if options.name == "crawl":
        from benchmarks import crawl  # noqa: PLC0415

        return crawl.run(
            options.data, limit=options.limit, database=options.database, rounds=options.rounds, json_file=options.json
        )
    if options.name == "sql":
        from benchmarks import sql_index  # noqa: PLC0415

        return sql_index.run(n=int(options.n), json_file=options.json)
    if options.name == "order":
        from benchmarks import order  # noqa: PLC0415

        return order.run(options.data, shuffles=options.shuffles, seed=options.seed, json_file=options.json)
    if options.name == "files":
        from benchmarks import files  # noqa: PLC0415

        return files.run(n=int(options.n), peer_n=int(options.peer_n), json_file=options.json)
    if options.name == "quality":
        from benchmarks import quality  # noqa: PLC0415

        return quality.run(options.data, json_file=options.json)
    if options.name == "index":
        from benchmarks import index  # noqa: PLC0415

        return index.run(n=int(options.n), rounds=options.rounds, json_file=options.json)
    if options.name == "kill":
        from benchmarks import kill  # noqa: PLC0415

        return kill.run(
            pages=options.pages,
            kills=options.kills,
            seed=options.seed,
            databases=options.databases,
            json_file=options.json,
        )
    if options.name == "frontier":
        from benchmarks import frontier  # noqa: PLC0415

        return frontier.run(n=int(options.n), json_file=options.json)
    from benchmarks import signatures  # noqa: PLC0415

    return signatures.run(documents=options.documents, rounds=options.rounds, json_file=options.json)


if __name__ == "__main__":
    sys.exit(main())
