"""What a crawl costs at its start: where nothing is compiled yet, where all is, and where nothing can be kept."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import texts
from benchmarks.processes import Usage, run_measured
from dedup.compiled_cache import FOLDER_VARIABLE

# A crawl of one page that becomes items of both kinds of scripts.
_CRAWL = """
import json
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import CrawlerProcess


class Texts(Spider):
    name = "texts"
    start_urls = ["data:,page"]

    def parse(self, response):
        for number, text in enumerate(json.loads(Path("texts.json").read_text(encoding="utf-8"))):
            yield {"url": f"http://page.example/{number}", "text": text}


process = CrawlerProcess({"ADDONS": {"dedup.DedupAddon": 500}, "LOG_LEVEL": "WARNING"})
process.crawl(Texts)
process.start()
"""
_MEMORY_EVERY = 2


def run(*, documents: int = 200) -> dict[str, Any]:
    """Crawl three times and print seconds and memory.

    Args:
        documents: how many items the crawl has, half of them Chinese.

    Returns:
        The figures.

    Raises:
        ValueError: a crawl failed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "crawl.py").write_text(_CRAWL, encoding="utf-8")
        both = [*texts.english(documents - documents // 2), *texts.chinese(documents // 2)]
        (folder / "texts.json").write_text(json.dumps(both), encoding="utf-8")
        measured = {
            "first start": _crawl(folder, folder / "kept"),
            "second start": _crawl(folder, folder / "kept"),
            # No folder can be made below a file, not even by root.
            "nothing can be kept": _crawl(folder, folder / "crawl.py"),
        }
    print(f"{'':<20} {'CPU s':>6} {'wall s':>7} {'MB at most':>11}")
    for situation, usage in measured.items():
        print(f"{situation:<20} {usage.cpu_seconds:6.1f} {usage.wall_seconds:7.1f} {usage.peak_bytes / 1e6:11,.0f}")
    return {situation: asdict(usage) for situation, usage in measured.items()}


def _crawl(folder: Path, kept: Path) -> Usage:
    for database in folder.glob("*.db*"):
        database.unlink()
    return run_measured([sys.executable, "crawl.py"], folder, {FOLDER_VARIABLE: str(kept)}, _MEMORY_EVERY)
