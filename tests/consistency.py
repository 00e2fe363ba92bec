"""What holds after a crawl that has ended, whatever was crawled."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup import Deduplicator, Verdict
from tests.crawler.frontier.driving import unfinished
from tests.crawling import ask

_FEWEST_WORDS = 20
"""Of shorter texts too little is known to find their copies."""


def inconsistencies(database_url: str) -> list[str]:
    """Return what is not as it must be in a database that was made with the default settings, a line each."""
    rows = ask(database_url, "SELECT url, text, problem, gone FROM pages")
    stored = {row["url"]: row["text"] for row in rows if row["gone"] is None}
    gone = {row["url"]: row["text"] for row in rows if row["gone"] is not None}
    times = Counter(row["url"] for row in rows)
    lines = [f"{url} is stored {count} times" for url, count in times.items() if count > 1]
    [last] = ask(database_url, "SELECT name FROM dedup_runs ORDER BY id DESC LIMIT 1")
    lines += ["there are pages left"] * (last["name"] in unfinished(database_url))
    decided = ask(
        database_url,
        "SELECT d.key AS url, v.verdict AS verdict, o.key AS original FROM dedup_verdicts v"
        " JOIN dedup_documents d ON d.id = v.document_id LEFT JOIN dedup_documents o ON o.id = v.original_id"
        " WHERE v.run_id = (SELECT max(id) FROM dedup_runs) ORDER BY v.id",
    )
    for row in {row["url"]: row for row in decided}.values():
        if "duplicate" not in row["verdict"]:
            lines += [f"{row['url']} is {row['verdict']}, and not stored"] * (row["url"] not in stored)
        elif row["url"] in stored:
            lines.append(f"{row['url']} is a duplicate, and stored")
        elif row["original"] not in stored:
            lines.append(f"{row['url']} was dropped for {row['original']}, which is not stored")
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
