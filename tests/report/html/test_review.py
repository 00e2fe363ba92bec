"""`dedup review`: marks that act at once, and who may make them."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from dedup import DedupSettings
from dedup.ledger.deduplicator import Deduplicator
from dedup.report.html.serving import MOST_BYTES, ReviewServer
from dedup.rules.decision import Verdict
from tests.commands import run_dedup
from tests.crawls import Crawls, crawl_twice, document, text_of
from tests.report.html.browsing import Seen, in_chromium
from tests.waiting import HANG

PRINT = "https://print.example:8080/bridge"
JSON = {"Content-Type": "application/json"}


@contextmanager
def serving(**given: Any) -> Iterator[tuple[ReviewServer, list[tuple[str, str]]]]:
    marked: list[tuple[str, str]] = []

    def mark(original: str, key: str) -> str:
        marked.append((original, key))
        return "released"

    with ReviewServer(b"<p>page</p>", mark, **given) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server, marked
        server.shutdown()
        thread.join()


def ask(
    server: ReviewServer, method: str, path: str, headers: dict[str, str] | None = None, body: object = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(server.host, timeout=HANG)
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    connection.request(method, path, content, headers or {})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


PAIR = {"a": "x", "b": "y"}


def test_page_is_served_and_takes_marks() -> None:
    with serving() as (server, marked):
        assert ask(server, "GET", server.path) == (200, b"<p>page</p>")
        own = JSON | {"Origin": f"http://{server.host}", "Sec-Fetch-Site": "same-origin"}
        status, body = ask(server, "POST", server.path + "marks", own, PAIR)
        assert (status, json.loads(body)) == (200, {"outcome": "released"})
        assert marked == [("x", "y")]


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/marks"),
        ({}, "//marks"),
        ({"Origin": "https://evil.example"}, None),
        ({"Origin": "null"}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
        ({"Sec-Fetch-Site": "same-site"}, None),
        ({"Host": "evil.example"}, None),
        ({"Host": "localhost"}, None),
    ],
)
def test_another_page_can_neither_read_nor_mark(headers: dict[str, str], path: str | None) -> None:
    with serving() as (server, marked):
        told = server.path if path is None else path.removesuffix("marks")
        assert ask(server, "GET", told, headers)[0] == 403
        assert ask(server, "POST", f"{told}marks", JSON | headers, PAIR)[0] == 403
        # Whoever may not write is not told either what they may.
        assert ask(server, "OPTIONS", f"{told}marks", headers)[0] == 501
        assert marked == []


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, PAIR, 400),
        (JSON, b"{", 400),
        (JSON, [1], 400),
        (JSON, {"a": "x"}, 400),
        (JSON, {"a": "x", "b": 1}, 400),
        (JSON, b" " * (MOST_BYTES + 1), 413),
        (JSON | {"Content-Length": "-1"}, b"", 413),
    ],
)
def test_what_is_no_mark_is_refused(headers: dict[str, str], body: object, status: int) -> None:
    with serving() as (server, marked):
        assert ask(server, "POST", server.path + "marks", headers, body)[0] == status
        assert marked == []


def test_address_is_another_one_each_time() -> None:
    with serving() as (first, _), serving() as (second, _):
        assert first.path != second.path
        assert len(first.path) > 20
        assert first.server_address[0] == "127.0.0.1"


def test_options_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawl_twice(Crawls(database))
    for options, told in (
        (["--run", "a", "--all-runs"], "exclude each other"),
        (["--port", "70000"], "--port 70000: expected a number from 0 to 65,535"),
        (["--run", "sunday"], "sunday"),
    ):
        done = run_dedup("review", "--database", database, *options, folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) or told == "sunday"
        assert told in done.stderr
    with serving() as (server, _):
        done = run_dedup("review", "--database", database, "--port", server.server_port, folder=tmp_path)
        assert done.returncode == 1
        assert "leave it out for a free one" in done.stderr


@in_chromium
def test_mark_lets_the_next_crawl_keep_a_page(tmp_path: Path, browser: Any) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawl_twice(Crawls(url))
    command = [sys.executable, "-m", "dedup", "review", "--database", url, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=Path.cwd()) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        assert urlsplit(address).hostname == "127.0.0.1"
        seen = Seen(browser.new_page())
        seen.page.goto(address)
        seen.page.wait_for_selector("html[data-ready]")
        seen.view("dropped")
        place = next(at for at, key in enumerate(seen.keys()) if "bridge" in key and "sid" not in key)
        seen.open_row(place)
        seen.page.click('dialog button.mark[data-said="no"]')
        seen.page.wait_for_function("() => document.body.innerText.includes('released: the next crawl keeps it')")
        assert "1 mark, kept in this browser; what is no duplicate is released" in seen.page.inner_text("#marks-told")
        assert seen.messages == []
        seen.page.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 0
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    run = deduplicator.open_run("wednesday")
    [decision] = deduplicator.decide([document(PRINT, text_of(1, changed=2))], run)
    assert decision is not None
    assert decision.verdict is Verdict.UNCHANGED
    assert not decision.is_dropped
