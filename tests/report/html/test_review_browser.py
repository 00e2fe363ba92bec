"""`dedup review` in Chromium: marks that act at once, both texts in full, and what strangers cannot do there."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from dedup import DedupSettings
from dedup.report.html.full_texts import side_by_side
from dedup.report.html.page import write_page
from dedup.rules.documents import Verdict
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.schema import documents
from tests.crawls import BRIDGE, Crawls, crawl_twice, document, store_pages, text_of
from tests.localsite import LocalSite
from tests.report.html.browsing import Seen, needs_chromium
from tests.report.html.reports import FERRY, differing_by, report_of, row
from tests.report.html.reviewing import serving
from tests.waiting import HANG

pytestmark = needs_chromium

PRINT = "https://print.example:8080/bridge"


@contextmanager
def reviewing(url: str) -> Iterator[str]:
    """Run the command on a database; yield where its page is."""
    command = [sys.executable, "-m", "dedup", "review", "--database", url, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=Path.cwd()) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        assert urlsplit(address).hostname == "127.0.0.1"
        try:
            yield address
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 0


def opened(browser: Any, address: str) -> Seen:
    seen = Seen(browser.new_page())
    seen.page.goto(address)
    seen.page.wait_for_selector("html[data-ready]")
    return seen


def test_mark_lets_the_next_crawl_keep_a_page(tmp_path: Path, browser: Any) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(url)
    crawl_twice(crawls)
    crawls.deduplicator.database.close()
    with reviewing(url) as address:
        seen = opened(browser, address)
        seen.view("dropped")
        place = next(at for at, key in enumerate(seen.keys()) if "bridge" in key and "sid" not in key)
        seen.open_row(place)
        seen.page.click('dialog button.mark[data-said="no"]')
        seen.page.wait_for_function("() => document.body.innerText.includes('released: the next crawl keeps it')")
        told = "1 mark saved in this browser. Pages marked “not a duplicate” have been released. "
        assert seen.page.inner_text("#marks-told").startswith(told)
        assert seen.messages == []
        seen.page.close()
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    run = deduplicator.open_run("wednesday")
    [decision] = deduplicator.decide([document(PRINT, text_of(1, changed=2))], run)
    assert decision is not None
    assert decision.verdict is Verdict.NEW
    assert not decision.is_dropped


def copies(url: str) -> set[str]:
    with Database(url, read_only=True).read() as connection:
        return set(connection.scalars(select(documents.c.key).where(documents.c.leader_id.is_not(None))))


@pytest.mark.thorough
def test_whole_cluster_is_marked_at_once_and_taken_back_at_once(tmp_path: Path, browser: Any) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(url)
    crawl_twice(crawls)
    crawls.deduplicator.database.close()
    before = copies(url)
    with reviewing(url) as address:
        seen = opened(browser, address)
        seen.view("clusters")
        seen.page.click('#cluster-list .row >> nth=0 >> button[data-said="no"]')
        seen.page.wait_for_selector('#cluster-list .row[data-said="no"]')
        assert seen.page.inner_text("#marks-told").startswith("3 marks ")
        assert before - copies(url) == {BRIDGE + "?sid=81", PRINT, "https://print.example:8080/wire"}
        seen.page.keyboard.press("u")
        seen.page.wait_for_selector("#marks", state="hidden")
        assert copies(url) == before
        assert seen.messages == []
        seen.page.close()


EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
FIRST = f"{text_of(1)}.\n{EVIL} </script></p><!-- ]]> \u202egnp.exe\x1b[31m\x00 {{{{ 7*7 }}}} javascript:alert(1)"


@pytest.mark.thorough
def test_hostile_texts_are_text(tmp_path: Path, browser: Any) -> None:
    """What is stored, and what is only answered: either is text alone."""
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(url)
    keys = (f"https://evil.example/{EVIL}", "javascript:document.title='owned'//%E2%80%AE")
    crawls.run("monday", (keys[0], FIRST), (keys[1], FIRST + " last"))
    store_pages(url, {keys[0]: FIRST})
    with reviewing(url) as address:
        seen = opened(browser, address)
        seen.view("dropped")
        seen.open_row(0)
        title = seen.page.title()
        seen.page.keyboard.press("t")
        seen.page.wait_for_selector("section.full")
        told = seen.page.inner_text("section.full")
        assert EVIL in told
        assert "only the words are stored" in told
        assert seen.page.locator(".full ins").all_text_contents() == ["last"]
        assert not set(told) & set("\u202e\x1b\x00")
        assert seen.page.locator("dialog img, dialog script, .full a").count() == 0
        assert seen.page.title() == title
        assert seen.messages == []
        assert [each.rpartition("/")[2].partition("?")[0] for each in seen.requests] == ["", "texts"]
        seen.page.close()


ATTACK = """async (address) => {
    const texts = `${address}texts?a=x&b=y&run=r`;
    const tried = (asked) => asked.then(async (answer) => answer.type + (await answer.text()), () => "refused");
    const body = '{"pairs": [["x", "y"]], "undo": false}';
    const json = { "Content-Type": "application/json" };
    const found = [
        await tried(fetch(texts)),
        await tried(fetch(texts, { mode: "no-cors", credentials: "include" })),
        await tried(fetch(`${address}marks`, { method: "POST", mode: "no-cors", body })),
        await tried(fetch(`${address}marks`, { method: "POST", body, headers: json })),
    ];
    const made = (tag, attributes) => new Promise((told) => {
        const element = Object.assign(document.createElement(tag), attributes);
        element.onload = () => told("loaded");
        element.onerror = () => told("refused");
        document.body.append(element);
    });
    found.push(await made("script", { src: texts }), await made("img", { src: texts }));
    found.push(await made("link", { rel: "stylesheet", href: texts }));
    await made("iframe", { src: texts });
    let inside = null;
    try {
        inside = frames[0].document.body.innerText;
    } catch {
        inside = "refused";
    }
    found.push(inside);
    const form = made("iframe", { name: "answer" });
    const input = `<input name='{"pairs": [["x", "y"]], "undo": false, "z": "' value='"}'>`;
    const into = `method="post" enctype="text/plain" target="answer" action="${address}marks"`;
    document.body.insertAdjacentHTML("beforeend", `<form ${into}>${input}</form>`);
    await form;
    const answered = new Promise((told) => (document.querySelector("[name=answer]").onload = told));
    document.forms[0].submit();
    await answered;
    return found;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["url", "other_url"])
def test_page_of_another_origin_gets_nothing_even_where_it_knows_the_address(browser: Any, name: str) -> None:
    with serving() as (server, asked), LocalSite({"/": "<title>evil</title><body>"}) as evil:
        page = browser.new_page()
        page.goto(getattr(evil, name))
        assert page.title() == "evil"
        assert set(page.evaluate(ATTACK, server.url)) <= {"refused", "opaque"}
        page.evaluate("address => { location.href = address }", f"{server.url}texts?a=x&b=y&run=r")
        page.wait_for_url(f"{server.url}**")
        assert page.inner_text("body").startswith("Open the address")
        assert (asked.marked, asked.read) == ([], [])
        page.close()


@pytest.mark.thorough
def test_rows_of_long_texts_are_made_as_they_are_seen(browser: Any) -> None:
    long = f"{'word ' * 200_000}{'x' * 1_000_000}"
    rows, is_compared = side_by_side(f"first {long}", long)
    answer: dict[str, Any] = {"sides": [("text", 0)] * 2, "is_compared": is_compared, "rows": list(rows)}
    page = io.StringIO()
    write_page(report_of(row("https://news.example/long"), compare=differing_by(FERRY)), page, is_served=True)
    with serving(page.getvalue().encode(), read_texts=lambda *_: answer) as (server, _):
        seen = opened(browser, server.url)
        seen.open_row(0)
        seen.page.click("#full")
        passages = seen.page.locator(".full .passage")
        passages.first.wait_for()
        made = passages.count()
        assert made < 400 < len(answer["rows"])
        assert seen.page.locator(".full del").all_text_contents() == ["first"]
        seen.page.evaluate("() => document.querySelector('dialog').scrollTo(0, 1e9)")
        seen.page.wait_for_function(f"() => document.querySelectorAll('.full .passage').length > {made}")
        seen.page.close()
