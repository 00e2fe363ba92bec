"""An installation without the compiler: the stage works, few texts are decided, and files say what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawling import ROOT
from tests.texts import document, edited
from tests.waiting import HANG

pytestmark = pytest.mark.slow

MISSING = "import sys\nsys.modules['numba'] = sys.modules['llvmlite'] = None\n"
CRAWL = """
import json, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess


class Items(scrapy.Spider):
    name = "items"

    async def start(self):
        for item in json.load(open("items.json")):
            yield item


if __name__ == "__main__":
    settings = {"ADDONS": {"dedup.DedupAddon": 500}, "DEDUP_DATABASE_URL": "sqlite:///dedup.db", "LOG_LEVEL": "INFO"}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Items)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps([stats.get(f"dedup/{name}") for name in ("new", "exact_duplicate", "near_duplicate")]))
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(MISSING)
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )


def test_stage_works(tmp_path: Path) -> None:
    story, other = document(300, "story"), document(300, "other")
    texts = {"text": [story, other, story, edited(story, 5)], "html": [f"<html><body><p>{other}</p></body></html>"]}
    items = [
        {"url": f"https://example.com/{kind}{n}", kind: text} for kind in texts for n, text in enumerate(texts[kind])
    ]
    (tmp_path / "items.json").write_text(json.dumps(items))
    (tmp_path / "crawl.py").write_text(CRAWL)
    done = run(tmp_path, "crawl.py")
    assert done.returncode == 0, done.stderr
    new, exact, near = json.loads(done.stdout.splitlines()[-1])
    # What is extracted of HTML may differ from the text that was put in.
    assert (new, exact + near) == (2, 3)
    assert "ERROR" not in done.stderr
    assert "WARNING" not in done.stderr


def test_signatures_of_pairs_are_made_without_it(tmp_path: Path) -> None:
    code = "from dedup import similarity; print(similarity('the ferry leaves', 'the ferry leaves').rule.short)"
    done = run(tmp_path, "-c", code)
    assert (done.returncode, done.stdout) == (0, "same_text\n")


def test_it_is_told_how_two_texts_differ(tmp_path: Path) -> None:
    for name, day in (("a.txt", "Monday"), ("b.txt", "Tuesday")):
        (tmp_path / name).write_text(f"{document(50, 'story')} until {day} and 北京大学")
    done = run(tmp_path, "-m", "dedup", "explain", "a.txt", "b.txt")
    assert done.returncode == 0, done.stderr
    assert "[-monday-] {+tuesday+}" in done.stdout


@pytest.mark.parametrize(
    ("command", "extra"), [(["index", "info", "x"], "corpus"), (["spark", "x", "-o", "y"], "spark")]
)
def test_commands_say_what_is_missing(command: list[str], extra: str, tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "dedup", *command)
    assert done.returncode not in {0, 1}
    assert done.stderr.startswith(f"error: dedup {command[0]}: needs the package ")
    assert done.stderr.endswith(f"; pip install 'scrapy-neardup[{extra}]'\n")


def test_few_texts_are_decided_without_it_and_many_say_what_is_missing(tmp_path: Path) -> None:
    code = "from dedup import deduplicate; print([d.verdict.value for d in deduplicate({})][-2:])"
    for given in ("['x', 'x']", "[('a', 'x'), ('b', 'x')], database='sqlite:///texts.db'"):
        done = run(tmp_path, "-c", code.format(given))
        assert (done.returncode, done.stdout) == (0, "['new', 'exact duplicate']\n")
    done = run(tmp_path, "-c", code.format("map(str, range(1001))"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("pip install 'scrapy-neardup[corpus]'")


def test_files_say_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "a"}\n')
    done = run(tmp_path, "-m", "dedup", "files", "texts.jsonl", "--dry-run")
    assert done.returncode not in {0, 1}
    assert "this needs numba, which is not installed: pip install 'scrapy-neardup[corpus]'" in done.stderr
    assert "Traceback" not in done.stderr
    done = run(tmp_path, "-m", "dedup", "warm-up")
    assert (done.returncode, "this needs numba" in done.stderr) == (2, True)
