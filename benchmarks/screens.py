"""Pictures of the report by Chromium: that of the README, and every view on a phone and a desk, light and dark.

The bundled demo site is crawled. What it has none of, other hosts, scripts and long addresses, is decided beside it.
"""

from __future__ import annotations

import random
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

from benchmarks.browser import WAY_OUT, draws, open_chromium
from benchmarks.processes import PROJECT, scratch_folder
from benchmarks.texts import chinese, english
from dedup import DedupSettings, make_signature
from dedup.report.contents import Selection
from dedup.report.html.full_texts import texts_of
from dedup.report.html.page import write_page_of
from dedup.report.html.serving import Mark, ReviewServer
from dedup.report.queries import open_report
from dedup.rules.documents import Document
from dedup.store.database import open_existing_database
from dedup.store.deduplicator import Deduplicator

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = {390: 844, 1440: 900}
"""Widths of screens, and their heights."""

_HOSTILE = "https://evil.example/<b>bold</b>/\u202egnp.exe"
_LONG = f"https://{'a-very-long-name.' * 5}example:8443/archive/{'of-all-that-was-ever-written/' * 6}index.html"
_CHINESE = f"https://news.example/{quote('港口大桥')}.html"
_VIEWS = ("look", "dropped", "similar", "clusters", "hosts", "numbers")


def run(*, out: Path | None = None) -> None:
    """Make the pictures.

    Args:
        out: the folder for those of every view; None: only that of the README is made anew.

    Raises:
        ValueError: there is no Chromium, or no font with Chinese characters, which the pictures show.
    """
    with scratch_folder() as folder, open_chromium() as browser:
        if not draws(browser.new_page(), "港桥"):
            raise ValueError(f"no font has Chinese characters: {WAY_OUT}")
        url = f"sqlite:///{folder}/crawl.db"
        report = folder / "report.html"
        _crawl(DEDUP_DATABASE_URL=url, DEDUP_RUN="demo", DEDUP_REPORT=str(report))
        if out is None:
            _picture_of_readme(browser, report, PROJECT / "docs" / "report.png")
            return
        _decide_more(url)
        _command("duplicates", "--database", url, "--run", "demo", "-o", str(report))
        out.mkdir(parents=True, exist_ok=True)
        with _reviewed(url, "demo") as review:
            for width, height in WIDTHS.items():
                for mode in ("light", "dark"):
                    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=mode)
                    for view in _views(tab, report, review):
                        tab.screenshot(path=out / f"{view}-{width}-{mode}.png")
                    tab.close()
    print(f"written: {out}")


def _picture_of_readme(browser: Browser, report: Path, output: Path) -> None:
    tab = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme="light")
    _open(tab, report.as_uri())
    tab.click("#tab-look")
    tab.screenshot(path=output)
    print(f"written: {output}")


def _views(tab: Page, report: Path, review: str) -> Iterator[str]:
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
    command = [sys.executable, "-m", "crawler.demo", "crawl"]
    command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    subprocess.run(command, check=True, cwd=PROJECT, stdout=subprocess.DEVNULL)


def _decide_more(url: str) -> None:
    """Let the run of the demo site go on with other hosts."""
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    with closing(deduplicator.database):
        run_id = deduplicator.open_run("demo")
        documents = [Document(key, make_signature(text), len(text.encode())) for key, text in _pages()]
        deduplicator.decide(documents, run_id)
        deduplicator.close_run(run_id, "finished")


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


@contextmanager
def _reviewed(url: str, run: str) -> Iterator[str]:
    """Serve the report on a run as `dedup review` does; yield its address."""
    page = StringIO()
    with closing(open_existing_database(url)) as database:
        with open_report(database, Selection(run=run)) as report:
            write_page_of(report, database, page, is_served=True)
        mark: Mark = lambda pairs, _: ["unknown"] * len(pairs)  # noqa: E731
        with ReviewServer(page.getvalue().encode(), mark, partial(texts_of, database)) as server:
            thread = Thread(target=server.serve_forever, daemon=True)
            thread.start()
            yield server.url
            server.shutdown()
            thread.join()
