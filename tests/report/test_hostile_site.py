"""A site whose addresses, titles and texts are made to upset whoever shows them is crawled and reported on."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import sys
from urllib.parse import unquote

import pytest

from tests.crawling import ROOT, Crawl, crawl, environment, run
from tests.forking import ForkedProcess
from tests.localsite import Asked, LocalSite, Reply, article
from tests.terminals import links_in, seen
from tests.texts import document

pytestmark = pytest.mark.slow

MARKS = (
    "<script>alert(1)</script>",
    "\x1b]0;title\x07\x1b[2J\x9b31m",
    "\u202e\u2066gnp.exe\u200f",
    '=HYPERLINK("http://evil.example";"x")',
    "a\r\nInjected: 1\n",
    "%00%1b%5b2J%0d%0a%e2%80%ae",
    "\u05d0\u05d1\u05d2 \u0301\u0301 \U0001f469\u200d\U0001f680",
)
MEGABYTE = 1_000_000


class HostileSite(LocalSite):
    """Of every mark two pages with the same text, whose address, title and text hold it; and a title of a megabyte."""

    def _answer(self, asked: Asked) -> Reply:
        if asked.is_made_up or asked.path in ("/", "/robots.txt"):
            return super()._answer(asked)
        number = int(asked.path.removeprefix("/").split("/")[0])
        title = f"{MARKS[number]} page" if number < len(MARKS) else "<b>t</b> " * (MEGABYTE // 9)
        text = f"{title[:200]} {document(120, number)} {title[:200]}"
        page = article(number, text=text.replace("<", "&lt;").replace("\x00", ""), title=title)
        return Reply(page.encode("utf-8", "replace"))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    links = [f"/{number}/{copy}/{mark}" for number, mark in enumerate((*MARKS, "long")) for copy in ("a", "b")]
    with HostileSite() as site:
        site.pages["/"] = article("front", [*links, f"/9/{'x' * MEGABYTE}"])
        done = crawl(tmp_path_factory.mktemp("hostile") / "crawl.db", url=f"{site.url}/", options=())
    assert done.status == 0, done.stderr
    return done


def command(crawled: Crawl, program: str, *options: str) -> str:
    words = [*program.split(), *options, "--database", crawled.database_url]
    finished = run([sys.executable, "-m", *words])
    assert (finished.stderr, finished.status) == ("", 0)
    return finished.stdout


def on_terminal(crawled: Crawl, program: str, *options: str) -> str:
    """Return what a command sends to a terminal."""
    ours, its = pty.openpty()
    words = [*program.split(), *options, "--database", crawled.database_url]
    terminal = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    with ForkedProcess(words, ROOT, environment() | terminal, stdout=its):
        os.close(its)
        sent = b""
        while True:
            try:
                sent += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    return sent.decode().replace("\r\n", "\n")


def all_printable(shown: str) -> bool:
    return all(line.isprintable() for line in shown.split("\n"))


def test_every_page_is_stored_or_dropped_because_of_its_copy(crawled: Crawl) -> None:
    assert crawled.stats["dedup/exact_duplicate"] == len(MARKS) + 1
    assert len(crawled.pages) == len(MARKS) + 2
    assert max(len(page["title"]) for page in crawled.pages.values()) <= 2_000


def test_log_and_summary_are_printable(crawled: Crawl) -> None:
    assert all_printable(crawled.stdout)
    assert "\x1b" not in crawled.stderr
    assert "\x07" not in crawled.stderr
    assert "\u202e" not in crawled.stderr
    assert not any(line.startswith("Injected") for line in crawled.stderr.splitlines())


def test_table_is_printable_wherever_it_goes(crawled: Crawl) -> None:
    piped = command(crawled, "dedup duplicates")
    assert all_printable(piped)
    sent = on_terminal(crawled, "dedup duplicates")
    assert all_printable(seen(sent))
    addresses = links_in(sent)
    assert len(addresses) > len(MARKS)
    assert all(address.isascii() and address.isprintable() and " " not in address for address in addresses)
    assert seen(sent).splitlines()[-1].startswith("next  ")


def test_json_and_csv_hold_the_keys_as_they_are(crawled: Crawl) -> None:
    sent = command(crawled, "dedup duplicates", "--format", "json")
    assert sent.isascii()
    dropped = [row["dropped"] for row in json.loads(sent)["duplicates"]]
    assert len(dropped) == len(MARKS) + 1
    assert any("HYPERLINK" in unquote(key) for key in dropped)
    titles = [row[name] for row in json.loads(sent)["duplicates"] for name in ("title", "original_title")]
    assert all(titles)
    assert "]0;title[2J31m page" in titles
    assert max(map(len, titles)) == 200
    assert not set("".join(titles)) & set("\x1b\x07\r\n\x00")
    rows = list(csv.DictReader(io.StringIO(command(crawled, "dedup duplicates", "--format", "csv"), newline="")))
    assert [row["dropped"] for row in rows] == dropped


def test_other_commands_show_it(crawled: Crawl) -> None:
    [first, *_] = json.loads(command(crawled, "dedup duplicates", "--format", "json"))["duplicates"]
    assert all_printable(command(crawled, "dedup explain", first["dropped"]))
    assert all_printable(seen(on_terminal(crawled, "dedup explain", first["dropped"])))
    assert all_printable(seen(on_terminal(crawled, "dedup runs")))
