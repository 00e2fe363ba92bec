"""`dedup review`: who may mark and read, and what is read."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from dedup.report.differences import stored_differences
from dedup.report.html.full_texts import texts_of
from dedup.report.html.serving import MOST_BYTES, ReviewServer
from tests.commands import run_dedup
from tests.crawls import BRIDGE, BUDGET, Crawls, crawl_twice, report_on, store_pages, text_of
from tests.report.html.reviewing import TEXTS, serving
from tests.waiting import HANG

PRINT = "https://print.example:8080/bridge"
JSON = {"Content-Type": "application/json"}
PAIR = ["x", "y"]
MARK = {"pairs": [PAIR], "undo": False}


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


def test_page_is_served_and_takes_marks() -> None:
    with serving() as (server, asked):
        assert ask(server, "GET", server.path) == (200, b"<p>page</p>")
        own = JSON | {"Origin": f"http://{server.host}", "Sec-Fetch-Site": "same-origin"}
        status, body = ask(server, "POST", server.path + "marks", own, MARK)
        assert (status, json.loads(body)) == (200, {"outcomes": ["released"]})
        assert asked.marked == [([("x", "y")], False)]


def test_texts_of_a_pair_are_served() -> None:
    with serving() as (server, asked):
        status, body = ask(
            server, "GET", server.path + "texts?" + urlencode({"a": "x y&b", "b": "\u6e2f", "run": "monday"})
        )
        assert (status, json.loads(body)) == (200, TEXTS)
        assert asked.read == [("x y&b", "\u6e2f", "monday")]
        status, body = ask(server, "GET", server.path + "texts?a=away&b=away&run=x")
        assert (status, json.loads(body)) == (503, {"error": "the database is away"})


@pytest.mark.parametrize("query", ["", "?", "?a=x", "?a=x&b=y", "?a=x&b=y&b=z&run=r", "?a=x&b=y&run=r&c=z"])
def test_what_names_no_pair_has_no_texts(query: str) -> None:
    with serving() as (server, asked):
        assert ask(server, "GET", f"{server.path}texts{query}")[0] == 400
        assert asked.read == []


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/"),
        ({}, "//"),
        ({}, "/0123456789abcdefABCDEF/"),
        ({"Origin": "https://evil.example"}, None),
        ({"Origin": "null"}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
        ({"Sec-Fetch-Site": "same-site"}, None),
        ({"Host": "evil.example"}, None),
        ({"Host": "localhost.evil.example"}, None),
        ({"Host": "127.0.0.1.evil.example:80"}, None),
        ({"Host": "127.0.0.1:80@evil.example"}, None),
        ({"Host": ""}, None),
        ({"Origin": "http://localhost:8000"}, None),
        ({"Host": "localhost:8000", "Origin": "http://127.0.0.1:8000"}, None),
        ({"Host": "localhost:8000", "Origin": "http://localhost:8001"}, None),
    ],
)
def test_another_page_can_neither_read_nor_mark(headers: dict[str, str], path: str | None) -> None:
    with serving() as (server, asked):
        told = path or server.path
        assert ask(server, "GET", told, headers)[0] == 403
        assert ask(server, "GET", f"{told}texts?a=x&b=y&run=r", headers)[0] == 403
        assert ask(server, "POST", f"{told}marks", JSON | headers, MARK)[0] == 403
        # Whoever may not write is not told either what they may.
        assert ask(server, "OPTIONS", f"{told}marks", headers)[0] == 501
        assert (asked.marked, asked.read) == ([], [])


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:9000", "[::1]:9000"])
def test_page_is_served_by_any_name_of_this_machine_and_through_a_tunnel(host: str) -> None:
    with serving() as (server, asked):
        assert ask(server, "GET", server.path, {"Host": host}) == (200, b"<p>page</p>")
        own = JSON | {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        assert ask(server, "POST", server.path + "marks", own, MARK)[0] == 200
        assert len(asked.marked) == 1


def test_who_is_refused_is_told_what_to_open_and_how_to_tunnel() -> None:
    with serving() as (server, _):
        status, told = ask(server, "GET", server.path, {"Host": "far.example:8000"})
        tunnel = f"ssh -L {server.server_port}:127.0.0.1:{server.server_port} HOST"
        assert (status, told.count(b"\n"), server.path.encode() in told) == (403, 1, False)
        assert f"http://{server.host}/" in told.decode()
        assert tunnel in told.decode()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, MARK, 400),
        (JSON, b"{", 400),
        (JSON, b"[" * 100_000, 400),
        (JSON, [1], 400),
        (JSON, {"pairs": [PAIR]}, 400),
        (JSON, {"pairs": PAIR, "undo": False}, 400),
        (JSON, {"pairs": [["x", 1]], "undo": False}, 400),
        (JSON, {"pairs": [["x", "y", "z"]], "undo": True}, 400),
        (JSON | {"Content-Length": str(MOST_BYTES + 1)}, b"", 413),
        (JSON | {"Content-Length": "-1"}, b"", 413),
    ],
)
def test_what_is_no_mark_is_refused(headers: dict[str, str], body: object, status: int) -> None:
    with serving() as (server, asked):
        assert ask(server, "POST", server.path + "marks", headers, body)[0] == status
        assert asked.marked == []


def test_address_is_another_one_each_time() -> None:
    with serving() as (first, _), serving() as (second, _):
        assert first.path != second.path
        assert len(first.path) > 20
        assert first.server_address[0] == "127.0.0.1"


def test_options_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(database)
    crawl_twice(crawls)
    crawls.deduplicator.database.close()
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


def test_texts_are_read_of_any_database(tmp_path: Path) -> None:
    """Of one without pages the words are all that there is."""
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(url)
    crawls.run(
        "monday", (BRIDGE, text_of(1).upper()), (PRINT, text_of(1, changed=1)), ("https://short.example/", "Short")
    )
    database = crawls.deduplicator.database
    found = texts_of(database, (BRIDGE, PRINT))
    assert (found["sides"], found["is_compared"]) == ([("words", 0), ("words", 0)], True)
    assert "".join(found["rows"][0][0]).startswith(text_of(1)[:50])
    # What was there before counts where it is the text that was decided on.
    store_pages(url, {BRIDGE: text_of(1).upper(), PRINT: text_of(1, changed=1)})
    store_pages(url, {PRINT: "Another text by now", "https://short.example/": "Another one"})
    found = texts_of(database, (BRIDGE, PRINT))
    assert found["sides"] == [("text", 0), ("text", 0)]
    assert [part for left, _ in found["rows"] for part in left[1::2]] == [text_of(1).upper().split()[5]]
    assert [part for _, right in found["rows"] for part in right[1::2]] == ["changed0"]
    found = texts_of(database, ("https://nobody.example/", "https://short.example/"))
    assert (found["sides"], found["is_compared"]) == ([("nothing", 0), ("nothing", 0)], False)
    database.close()


def test_report_on_an_earlier_run_shows_the_texts_of_its_time(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    crawls = Crawls(url)
    database = crawls.deduplicator.database
    crawls.run("monday", (BRIDGE, text_of(1)), (PRINT, text_of(1, changed=1)), (BUDGET, text_of(1, changed=2)))
    store_pages(url, {BRIDGE: text_of(1)}, "monday")
    with report_on(database) as report:
        assert not any(row.has_changed for row in report.duplicates)
    crawls.run("tuesday", (BRIDGE, text_of(2)), (PRINT, text_of(3)))
    store_pages(url, {BRIDGE: text_of(2), PRINT: text_of(3)}, "tuesday")
    found = texts_of(database, (BRIDGE, PRINT), "monday")
    # The copy was not stored then, and nothing of its later text is shown.
    assert found["sides"] == [("text", 0), ("later", 0)]
    assert ("".join(found["rows"][0][0]), found["rows"][0][1]) == (text_of(1), [""])
    assert texts_of(database, (BRIDGE, PRINT), "tuesday")["sides"] == [("text", 0), ("text", 0)]
    with report_on(database, run="monday") as report, database.read() as connection:
        rows = list(report.duplicates)
        assert {row.dropped: row.has_changed for row in rows} == {PRINT: True, BUDGET: True}
        assert list(stored_differences(connection, database.name, rows)) == [None, None]
    database.close()
