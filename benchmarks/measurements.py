"""The measurements by name: what each is, and its arguments, which are those of its module's `run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Argument:
    """An argument of a measurement.

    Attributes:
        flag: its name on the command line; without dashes one that has to be given.
        help: what it is; of one with a default that is said behind it.
        name: what `run` calls it.
        options: what else argparse wants to know.
    """

    flag: str
    help: str
    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """A measurement.

    Attributes:
        name: what it is called by.
        module: the module of `benchmarks` whose `run` does it.
        help: what is measured.
        arguments: what `run` wants, but the file for the figures.
        has_figures: whether it writes some.
        always_writes: whether it writes them where no file is named.
    """

    name: str
    module: str
    help: str
    arguments: tuple[Argument, ...] = ()
    has_figures: bool = True
    always_writes: bool = False


def number_of(text: str) -> int:
    """Read a whole number; 1e6 is one."""
    return int(float(text))


def _number(flag: str, default: int, help_text: str, name: str | None = None) -> Argument:
    said = f"{help_text} (default: {default:,})"
    return Argument(flag, said, name or flag.strip("-").replace("-", "_"), {"type": number_of, "default": default})


def _data(help_text: str, name: str = "folder", **options: Any) -> Argument:
    return Argument("--data", help_text, name, {"type": Path, "required": True, **options})


MEASUREMENTS = (
    Measurement(
        "all",
        "suite",
        "every figure that the README names, one after the other",
        (_data("labelled set, or folder of them; without it some are left out", "data", required=False),),
        always_writes=True,
    ),
    Measurement(
        "chart",
        "chart",
        "draw the figures of `all`",
        (
            Argument("figures", "the file that `all` wrote", "figures_file", {"type": Path}),
            Argument(
                "--output",
                "the name of the pictures without .svg and .png (default: docs/benchmarks)",
                "output",
                {"type": Path, "default": Path("docs/benchmarks")},
            ),
        ),
        has_figures=False,
    ),
    Measurement(
        "crawl",
        "crawl",
        "a labelled set as a web site, crawled end to end",
        (
            _data("folder with docs.jsonl, pairs.jsonl and html/"),
            Argument("--limit", "use only the first so many documents", "limit", {"type": int}),
            Argument("--database", "database URL (default: SQLite in a temporary folder)", "database", {}),
            _number("--rounds", 3, "how often everything is measured"),
        ),
    ),
    Measurement(
        "quality",
        "quality",
        "labelled pairs, decided by this library and by peers",
        (_data("labelled set, or folder of them", "folders", nargs="+", metavar="DIR"),),
    ),
    Measurement(
        "signatures",
        "signatures",
        "signatures a second of this library and of peers",
        (_number("--documents", 100, "texts of a language"), _number("--rounds", 5, "how often all are measured")),
    ),
    Measurement(
        "first-start",
        "first_start",
        "a crawl where nothing is compiled, where all is, and where nothing can be kept",
        (_number("--documents", 200, "items of the crawl"),),
    ),
    Measurement(
        "index",
        "index",
        "the index in memory beside peers and brute force",
        (_number("--n", 1_000_000, "how many fingerprints"), _number("--rounds", 3, "how often rates are measured")),
    ),
    Measurement(
        "costs",
        "index_costs",
        "how look-ups in memory grow with number, distance and skew",
        (_number("--n", 10_000_000, "how many fingerprints at most"),),
    ),
    Measurement(
        "sql",
        "sql_index",
        "the cost of a look-up in the SQL tables, by what they hold",
        (_number("--n", 100_000, "how many documents at most"),),
    ),
    Measurement(
        "wide",
        "wide",
        "wide look-ups on texts made of real ones: scan, memory, SQL",
        (
            _data("labelled set whose texts others are made of", "data"),
            _number("--n", 100_000, "how many documents at most"),
        ),
    ),
    Measurement(
        "order",
        "order",
        "a labelled set decided again and again in shuffled order",
        (
            _data("folder with docs.jsonl and pairs.jsonl"),
            _number("--shuffles", 20, "how often it is shuffled"),
            _number("--seed", 1, "of the shuffling"),
        ),
    ),
    Measurement(
        "files",
        "files",
        "`dedup files` beside MinHash LSH by datasketch",
        (
            _number("--n", 200_000, "how many documents"),
            _number("--peer-n", 10_000, "how many of them the peer gets"),
        ),
    ),
    Measurement(
        "formats",
        "files_formats",
        "`dedup files` on the same documents in several formats",
        (
            _number("--n", 50_000, "how many documents"),
            _number("--rounds", 3, "how often each format is read"),
        ),
    ),
    Measurement(
        "kill",
        "kill",
        "a crawl killed with kill -9 and continued, beside one left alone",
        (
            _number("--pages", 2000, "pages of the site"),
            _number("--kills", 20, "how often it is killed"),
            _number("--seed", 1, "of the site and of the moments"),
            _number("--workers", 1, "how many crawl at the same time"),
            _number("--restarts", 3, "how often the server of several is stopped too"),
            Argument(
                "--databases",
                "two empty ones (default: SQLite files)",
                "databases",
                {"nargs": 2, "metavar": "URL"},
            ),
        ),
    ),
    Measurement(
        "workers",
        "workers",
        "several workers on one crawl: copies met at once, and speed",
        (
            _number("--pairs", 2000, "pairs of copies"),
            _number("--pages", 480, "pages of a crawl that is timed"),
            _number("--most", 4, "workers at most"),
        ),
    ),
    Measurement(
        "chain",
        "chain",
        "what the stage costs another project: a chain of pages, a page, the start",
        (
            _number("--pages", 100, "pages of the chain"),
            _number("--many", 1000, "pages that are linked from one"),
            _number("--latency", 20, "milliseconds before a page of the chain is answered"),
            _number("--rounds", 3, "how often everything is measured"),
        ),
    ),
    Measurement(
        "frontier",
        "frontier",
        "many queued URLs, beside Scrapy's disk queues",
        (_number("--n", 1_000_000, "how many URLs are queued"),),
    ),
)
"""All measurements; without a name the first."""
