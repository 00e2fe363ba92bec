"""Pictures of the report by Chromium: that of the README, and every view on a phone and a desk, light and dark.

The bundled demo site is crawled. What it has none of, other hosts, scripts and long addresses, is decided beside it.
One more picture is that of a terminal.
"""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import quote

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from benchmarks.browser import open_chromium
from benchmarks.processes import PROJECT, scratch_folder
from benchmarks.texts import chinese, english
from crawler.frontier.schema import Changes, Entry
from crawler.frontier.store import FrontierStore, worker_name
from dedup import DedupSettings, make_signature
from dedup.console import as_text
from dedup.ledger.deduplicator import Deduplicator
from dedup.report.contents import Selection
from dedup.report.html.following import Follower
from dedup.report.html.full_texts import texts_of
from dedup.report.html.page import write_follow_page
from dedup.report.html.serving import Answers, Mark, ReviewServer
from dedup.report.html.writing import write_page_of
from dedup.report.queries import open_report
from dedup.report.watching import screen_lines
from dedup.rules.documents import Document
from dedup.sql.database import Database, open_existing_database

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = {390: 844, 1440: 900}
"""Widths of screens, and their heights."""

_HOSTILE = "https://evil.example/<b>bold</b>/\u202egnp.exe"
_LONG = f"https://{'a-very-long-name.' * 5}example:8443/archive/{'of-all-that-was-ever-written/' * 6}index.html"
_CHINESE = f"https://news.example/{quote('港口大桥')}.html"
_VIEWS = ("look", "dropped", "similar", "clusters", "hosts", "numbers")

_COLUMNS, _LINES = 104, 34
_COMMAND = "scrapy duplicates --watch"
# A page that shows it shall load nothing else.
_OTHER_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_BLACK, _RED, _GREEN, _YELLOW, _BLUE = (40, 42, 46), (178, 58, 46), (46, 120, 72), (150, 100, 0), (27, 108, 168)
_MAGENTA, _CYAN, _WHITE = (130, 90, 140), (20, 120, 130), (120, 120, 120)
_THEME = TerminalTheme((250, 250, 248), _BLACK, [_BLACK, _RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _WHITE])


def run(*, out: Path | None = None) -> None:
    """Make the pictures.

    Args:
        out: the folder for those of every view; None: only that of the README is made anew.

    Raises:
        ValueError: there is no Chromium.
    """
    with scratch_folder() as folder, open_chromium() as browser:
        url = f"sqlite:///{folder}/crawl.db"
        report = folder / "report.html"
        _crawl(DEDUP_DATABASE_URL=url, DEDUP_RUN="demo", DEDUP_REPORT=str(report))
        if out is None:
            _picture_of_readme(browser, report, PROJECT / "docs" / "report.png")
            return
        _decide_more(url)
        _command("duplicates", "--database", url, "--run", "demo", "-o", str(report))
        changes = folder / "changes.html"
        _command("duplicates", "--database", url, "--changes", "monday", "tuesday", "-o", str(changes))
        out.mkdir(parents=True, exist_ok=True)
        with _followed(url) as going, _followed(url, "tuesday") as over, _reviewed(url, "demo") as review:
            for width, height in WIDTHS.items():
                for mode in ("light", "dark"):
                    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=mode)
                    for view in _views(tab, report, changes, (going, over), review):
                        tab.screenshot(path=out / f"{view}-{width}-{mode}.png")
                    tab.close()
    print(f"written: {out}")


def _picture_of_readme(browser: Browser, report: Path, output: Path) -> None:
    tab = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme="light")
    _open(tab, report.as_uri())
    tab.click("#tab-dropped")
    tab.screenshot(path=output)
    print(f"written: {output}")


def _views(tab: Page, report: Path, changes: Path, followed: tuple[str, str], review: str) -> Iterator[str]:
    """Show one view after the other, and yield the name of each while it is shown."""
    _open(tab, report.as_uri())
    for view in _VIEWS:
        tab.click(f"#tab-{view}")
        yield view
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    yield "numbers-end"
    tab.click("details:not(#more-filters) > summary")
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    yield "skipped"
    tab.click("#tab-look")
    tab.click("#more-filters summary")
    yield "filters"
    tab.click("#more-filters summary")
    for place in range(2):
        tab.locator("#list .row").nth(place).press("Enter")
        yield f"pair-{place + 1}"
        _close(tab)
    tab.locator("#list .row").first.press("Enter")
    tab.click("dialog details summary")
    tab.evaluate("document.querySelector('dialog').scrollTo(0, 9999)")
    yield "pair-end"
    tab.click("dialog button.mark[data-said=yes]")
    _close(tab)
    yield "marked"
    _open(tab, review)
    tab.click("#tab-dropped")
    tab.fill("#f-search", "bridge")
    tab.locator("#list .row").first.press("Enter")
    tab.press("dialog", "t")
    tab.wait_for_selector("section.full")
    yield "texts"
    _open(tab, changes.as_uri())
    yield "changes"
    tab.locator("#list .row").first.press("Enter")
    yield "change"
    for name, address in zip(("follow-over", "follow"), reversed(followed), strict=True):
        _open(tab, address)
        tab.wait_for_selector("#latest:not([hidden])")
        yield name
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    yield "follow-end"


def _close(tab: Page) -> None:
    tab.click("dialog button[aria-label=Close]")
    # It gives the focus back once it is closed.
    tab.wait_for_selector("#list .row:focus")


def _open(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")


def _command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "dedup", *arguments], check=True, cwd=PROJECT, stderr=subprocess.DEVNULL)


def _crawl(**settings: str) -> None:
    """Crawl the demo site with some settings."""
    command = [sys.executable, "-m", "crawler.demo", "crawl", "-L", "WARNING"]
    command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    subprocess.run(command, check=True, cwd=PROJECT, stdout=subprocess.DEVNULL)


def _decide_more(url: str) -> None:
    """Let the run of the demo site go on with other hosts, and add two runs to compare and one that goes on."""
    pages = list(_pages())
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    with closing(deduplicator.database):
        decide = partial(_decide, deduplicator)
        decide("demo", pages, "finished")
        decide("monday", pages, "finished")
        decide("tuesday", [(key, _edited(text, 9)) for key, text in pages[::2]], "finished")
        decide("wednesday", [(f"{key}#again", text) for key, text in pages], None)
    _queue(url, "wednesday")


def _decide(deduplicator: Deduplicator, run: str, pages: list[tuple[str, str]], outcome: str | None) -> None:
    run_id = deduplicator.open_run(run)
    deduplicator.decide([Document(key, make_signature(text), len(text.encode())) for key, text in pages], run_id)
    if outcome:
        deduplicator.close_run(run_id, outcome)


def _pages() -> Iterator[tuple[str, str]]:
    """Yield addresses and texts: originals, and copies with more and more other words."""
    for number, text in enumerate([*english(8), *chinese(3)]):
        original = _CHINESE if number == 8 else f"https://news-{number % 4}.example/stories/{number}"
        yield original, text
        for edits in (0, 4, 20, 60, 100, 140, 200):
            yield f"https://copies-{number}.example/{number}?print={edits}&session=8f3a{edits}", _edited(text, edits)
        yield _LONG.replace("index", f"{number}"), _edited(text, 2)
        yield f"{_HOSTILE}{number}", _edited(text, 80)


def _edited(text: str, edits: int) -> str:
    """Replace so many words, or characters where there are no words, the same each time."""
    parts, joint = (text.split(" "), " ") if " " in text else (list(text), "")
    for place in random.Random(1).sample(range(len(parts)), min(edits, len(parts))):
        parts[place] = "ferry" if joint else "船"
    return joint.join(parts)


def _queue(url: str, run: str) -> None:
    database = Database(url)
    with closing(database):
        store = FrontierStore(database, run, worker_name())
        store.open()
        hosts = [f"news-{number}.example" for number in range(6)] + [_LONG.split("/")[2]]
        entries = [
            Entry(
                f"https://{host}/{number}",
                f"{host}/{number}".encode()[-20:].rjust(20),
                host,
                "page",
                1,
                0,
                0,
                None,
                None,
            )
            for place, host in enumerate(hosts)
            for number in range(40 * (place + 1))
        ]
        store.exchange(Changes(found=entries), 16)


@contextmanager
def _followed(url: str, run: str = "") -> Iterator[str]:
    """Serve the page that follows a run, without a name the one that goes on; yield its address."""
    page = StringIO()
    write_follow_page(page)
    with (
        closing(Follower(lambda: url, run)) as follower,
        _served(page, follower.open(), {"state": (follower.answer, "application/json")}) as address,
    ):
        yield address


@contextmanager
def _reviewed(url: str, run: str) -> Iterator[str]:
    """Serve the report on a run as `dedup review` does; yield its address."""
    page = StringIO()
    with closing(open_existing_database(url)) as database:
        with open_report(database, Selection(run=run)) as report:
            write_page_of(report, database, page, is_followed=True, is_served=True)
        with _served(page, database) as address:
            yield address


@contextmanager
def _served(page: StringIO, database: Database, answers: Answers | None = None) -> Iterator[str]:
    mark: Mark = lambda pairs, _: ["unknown"] * len(pairs)  # noqa: E731
    read_texts = partial(texts_of, database)
    with ReviewServer(page.getvalue().encode(), mark, read_texts, answers=answers) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def terminal(*, output: Path = Path("docs/terminal.svg")) -> None:
    """A picture of what `scrapy duplicates --watch` draws, of a crawl of the demo site.

    Args:
        output: the name of the picture.
    """
    console = Console(file=io.StringIO(), record=True, width=_COLUMNS, force_terminal=True, color_system="standard")
    with scratch_folder() as folder:
        url = f"sqlite:///{folder}/crawl.db"
        _crawl(DEDUP_DATABASE_URL=url, DEDUP_RUN="demo")
        with (
            closing(open_existing_database(url)) as database,
            open_report(database, Selection(max_hosts=1, max_clusters=0)) as report,
        ):
            for line in screen_lines(database, report, (_COLUMNS, _LINES), is_going_on=True):
                console.print(as_text(line), soft_wrap=True)
    picture = console.export_svg(title=_COMMAND, theme=_THEME, unique_id="terminal")
    output.write_text(_OTHER_FONTS.sub("", picture).replace("Fira Code", "ui-monospace"), encoding="utf-8")
    print(f"written {output}")
