"""Small crawls to report on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from crawler.pages.store import PageStore, Settled, Visit
from dedup import DedupSettings, make_signature
from dedup.report.contents import Report, Selection
from dedup.report.queries import open_report
from dedup.rules.documents import Document
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.outages import Outages

BRIDGE = "https://news.example/zh/%E6%B8%AF%E5%8F%A3%E5%A4%A7%E6%A1%A5.html"
BUDGET = "https://news.example/budget"


def text_of(seed: int, changed: int = 0) -> str:
    """200 words; of two texts of one seed, that with more changes has all the changes of the other."""
    words = [f"w{number}" for number in random.Random(seed).sample(range(100_000), 200)]
    for place in range(changed):
        words[place * 12 + 5] = f"changed{place}"
    return " ".join(words)


def form_of(seed: int) -> str:
    """The text of a seed with so many words replaced that it resembles it and is no copy."""
    return text_of(seed, changed=14)


def document(key: str, text: str) -> Document:
    return Document(key, make_signature(text), len(text.encode()))


class Crawls:
    def __init__(self, database_url: str) -> None:
        self.deduplicator = Deduplicator(DedupSettings(database_url=database_url))

    def run(self, name: str, *pages: tuple[str, str], outcome: str | None = "finished") -> None:
        run_id = self.deduplicator.open_run(name)
        self.deduplicator.decide([document(key, text) for key, text in pages], run_id)
        if outcome is not None:
            self.deduplicator.close_run(run_id, outcome)


def crawl_twice(crawls: Crawls) -> None:
    """Two runs on several hosts; in the second a cluster with three duplicates and one with one."""
    crawls.run("monday", (BUDGET, text_of(2)), ("https://old.example/budget", text_of(2)))
    crawls.run(
        "tuesday",
        (BRIDGE, text_of(1)),
        (BRIDGE + "?sid=81", text_of(1)),
        ("https://print.example:8080/bridge", text_of(1, changed=2)),
        ("https://print.example:8080/wire", text_of(1, changed=4)),
        (BUDGET, text_of(2)),
        ("https://print.example/budget", text_of(2, changed=1)),
        ("https://other.example/?from=http://print.example/", text_of(3)),
    )


def store_pages(database_url: str, texts: dict[str, str], run: str | None = None) -> None:
    """Store texts as the crawl does with pages that are kept."""
    store = PageStore(Database(database_url), Outages(0))
    now = datetime.now(UTC)
    kept = [
        Settled(
            Visit(url, 0, None, None, None, 0.0, None),
            {"url": url, "text": text, "html": b"", "fetched": now, "depth": 0, "run": run},
        )
        for url, text in texts.items()
    ]
    store.settle(kept)
    store.close()


@contextmanager
def report_on(database: Database, **selection: object) -> Iterator[Report]:
    with open_report(database, Selection(**selection)) as report:  # type: ignore[arg-type]
        yield report
