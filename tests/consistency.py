"""What holds after a crawl that has ended, whatever was crawled."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup import Deduplicator, Verdict
from tests.crawler.frontier.driving import unfinished
from tests.crawling import pages_in, runs_in, verdicts_in

_FEWEST_WORDS = 20
"""Of shorter texts too little is known to find their copies."""


def inconsistencies(database_url: str) -> list[str]:
    """Return what is not as it must be in a database that was made with the default settings, a line each."""
    rows = pages_in(database_url)
    stored = {row["url"]: row["text"] for row in rows if row["gone"] is None}
    gone = {row["url"]: row["text"] for row in rows if row["gone"] is not None}
    times = Counter(row["url"] for row in rows)
    lines = [f"{url} is stored {count} times" for url, count in times.items() if count > 1]
    last = runs_in(database_url)[-1].name
    lines += ["there are pages left"] * (last in unfinished(database_url))
    for row in {row["key"]: row for row in verdicts_in(database_url, of_last_run=True)}.values():
        if "duplicate" not in row["verdict"]:
            lines += [f"{row['key']} is {row['verdict']}, and not stored"] * (row["key"] not in stored)
        elif row["key"] in stored:
            lines.append(f"{row['key']} is a duplicate, and stored")
        elif row["original"] not in stored:
            lines.append(f"{row['key']} was dropped for {row['original']}, which is not stored")
    if database_url.startswith("sqlite"):
        lines += _of_copies(Path(database_url.removeprefix("sqlite:///")), stored, gone)
    return lines


def _of_copies(database: Path, stored: dict[str, str], gone: dict[str, str]) -> list[str]:
    """What would become of copies of the pages: dropped, if what they are copies of is still there."""
    lines = []
    long = {url: text for url, text in stored.items() if len(text.split()) >= _FEWEST_WORDS}
    with TemporaryDirectory() as folder:
        copy = shutil.copy(database, folder)
        with Deduplicator(Path(copy)) as deduplicator:
            for url, text in long.items():
                decision = deduplicator.decide(f"{url}#copy", text)
                if decision.verdict is not Verdict.EXACT_DUPLICATE or stored.get(str(decision.original)) != text:
                    lines.append(f"a copy of {url} is {decision.verdict.value} of {decision.original}")
            for url, text in gone.items():
                decision = deduplicator.decide(f"{url}#copy", text)
                if decision.original is not None and decision.original in gone:
                    lines.append(f"a copy of {url}, which is gone, is {decision.verdict.value} of {decision.original}")
    return lines
