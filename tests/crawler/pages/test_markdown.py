"""The text of pages as Markdown, beside the plain one, by which they are compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from crawler.pages.extraction import describe_page, mark_up_page
from dedup.signature.extraction import MainText, find_text, parse_html
from tests.commands import run_dedup
from tests.crawler.recrawling import SETTINGS
from tests.crawling import Outcome, crawl_site_here, pages_in, scrapy, verdicts_in, versions_in
from tests.feeds import read_feed
from tests.localsite import LocalSite, Page, Reply, article
from tests.pdfs import in_lines, pdf
from tests.texts import document, edited

WITH_MARKDOWN = {"CRAWLER_TEXT": "markdown", "CRAWLER_PDF": True}
PLAIN = {"CRAWLER_PDF": True}
URL = "http://example.com/a/b"
STORY = document(200, "story")
KINDS = ("jsonl", "csv", "parquet")


def story(text: str, title: str = "Bridges") -> str:
    return (
        f"<html><head><title>{title}</title></head><body><nav><a href='/'>Home</a></nav><article><h2>{title}</h2>"
        f"<p>{text}</p><ul><li>one of them</li><li>and <a href='next?a=1#part'>two</a></li></ul></article></body>"
    )


PAGES: dict[str, Page] = {
    "/d/story": story(STORY),
    "/d/story-copy": story(STORY),
    "/d/story-near": story(edited(STORY, 1, "near")),
    "/d/other": story(document(200, "other"), "Roads"),
    "/d/pdf": Reply(pdf(in_lines(document(160, "pdf"))), headers={"Content-Type": "application/pdf"}),
    "/d/empty": "<html><body></body></html>",
}
PAGES["/"] = article("front", list(PAGES))


def marked_up(body: str, head: str = "", content_type: str | None = None) -> str:
    html = f"<html><head>{head}</head><body><article><p>{STORY}</p><p>{body}</p></article></body></html>".encode()
    main = find_text(parse_html(html))
    described = describe_page(html, URL, main=main, with_markdown=True, content_type=content_type)
    assert described.markdown == mark_up_page(html, URL, main, content_type=content_type)
    assert described.metadata == describe_page(html, URL, main=main).metadata
    return described.markdown.removeprefix(f"{STORY}\n\n")


@pytest.mark.parametrize(
    ("href", "head", "expected"),
    [
        ("c?d=1#part", "", "[there](http://example.com/a/c?d=1#part)"),
        ("#part", "", "[there](http://example.com/a/b#part)"),
        ("c", "<base href='/docs/'>", "[there](http://example.com/docs/c)"),
        ("https://example.org/c", "", "[there](https://example.org/c)"),
        ("mailto:a@example.com", "", "[there](mailto:a@example.com)"),
        ("javascript:x()", "", "there"),
        ("data:text/html,x", "", "there"),
        ("http://[broken", "", "there"),
        ("", "", "there"),
    ],
)
def test_links_of_markdown_name_whole_addresses(href: str, head: str, expected: str) -> None:
    assert marked_up(f"Look <a href='{href}'>there</a> today.", head) == f"Look {expected} today."


def test_text_that_is_not_known_is_found_and_marked_up() -> None:
    described = describe_page(story(STORY).encode(), URL, main=None, with_markdown=True)
    assert described.main == find_text(parse_html(story(STORY)))
    assert (described.markdown or "").startswith(f"## Bridges\n\n{STORY}")
    assert describe_page(b"", URL, main=None, with_markdown=True).markdown == ""
    text = MainText("as it was read", "pdf")
    assert mark_up_page(pdf(in_lines(STORY)), URL, text) == text.text


def crawl(database: Path, site: LocalSite, settings: dict[str, Any], **arguments: str) -> Outcome:
    outcome = crawl_site_here(database, {**SETTINGS, **settings}, url=f"{site.url}/", **arguments)
    assert outcome.tracebacks == []
    return outcome


def rows_of(database: Path) -> dict[str, dict[str, Any]]:
    return {row["url"]: row for row in pages_in(f"sqlite:///{database}")}


@pytest.mark.slow
def test_both_settings_keep_the_same_pages_with_the_same_texts(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        for name, settings in (("plain", PLAIN), ("markdown", WITH_MARKDOWN)):
            feeds = {str(tmp_path / f"{name}.{kind}"): {"format": kind} for kind in KINDS}
            crawl(tmp_path / f"{name}.db", site, {**settings, "FEEDS": feeds})
        url = site.url
    plain, markdown = (rows_of(tmp_path / f"{name}.db") for name in ("plain", "markdown"))
    assert len(markdown) == 5
    assert {key: row["text"] for key, row in plain.items()} == {key: row["text"] for key, row in markdown.items()}
    assert {row["markdown"] for row in plain.values()} == {None}
    said = [
        [
            (row["key"], row["verdict"], row["rule"], row["original"])
            for row in verdicts_in(f"sqlite:///{tmp_path}/{name}.db")
        ]
        for name in ("plain", "markdown")
    ]
    assert said[0] == said[1]
    assert markdown[f"{url}/d/story"]["markdown"] == (
        f"## Bridges\n\n{STORY}\n\n- one of them\n- and [two]({url}/d/next?a=1#part)"
    )
    assert markdown[f"{url}/d/pdf"]["markdown"] == markdown[f"{url}/d/pdf"]["text"] != ""
    assert markdown[f"{url}/d/empty"]["markdown"] == ""
    for kind in KINDS:
        rows = {row["url"]: row for row in read_feed(tmp_path / f"markdown.{kind}")}
        assert {key: row["markdown"] for key, row in rows.items()} == {
            key: f"'{row['markdown']}" if kind == "csv" and row["markdown"][:1] in ("-", "+") else row["markdown"]
            for key, row in markdown.items()
        }
        assert all("markdown" not in row for row in read_feed(tmp_path / f"plain.{kind}"))


@pytest.mark.slow
def test_reports_and_explanations_work_on_the_plain_text(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        told = []
        for name, settings in (("plain", PLAIN), ("markdown", WITH_MARKDOWN)):
            database = tmp_path / f"{name}.db"
            crawl(database, site, {**settings, "DEDUP_RUN": "sunday"})
            options = ("--database", f"sqlite:///{database}")
            near, original = f"{site.url}/d/story-near", f"{site.url}/d/story"
            commands = (["duplicates", "--all"], ["explain", near], ["explain", original, f"{site.url}/d/other"])
            results = [run_dedup(*command, *options, folder=tmp_path) for command in commands]
            assert [result.stderr for result in results] == [""] * len(commands)
            told.append(
                [re.sub(rf"{name}\.db|\d+-\d+-\d+ \d+:\d+:\d+|\d+:\d+ UTC", "", result.stdout) for result in results]
            )
    assert "stored page" in told[1][2]
    assert told[0] == told[1]


@pytest.mark.slow
def test_unchanged_pages_get_markdown_from_their_bytes_and_changed_ones_anew(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    with LocalSite(PAGES) as site:
        crawl(database, site, PLAIN, recrawl="true")
        before = rows_of(database)
        outcome = crawl(database, site, WITH_MARKDOWN, recrawl="true")
        after = rows_of(database)
        found = {page.url: page.markdown for page in outcome.items}
        assert found == {url: row["markdown"] for url, row in after.items()}
        assert "- one of them" in after[f"{site.url}/d/other"]["markdown"]
        for row in (*before.values(), *after.values()):
            del row["markdown"]
        changed = {url for url in after if before[url] != after[url]}
        assert changed <= {f"{site.url}/d/empty"}, "a page without text is stored anew"
        site.pages["/d/other"] = story(document(200, "another"), "Paths")
        crawl(database, site, PLAIN, recrawl="true")
        row = rows_of(database)[f"{site.url}/d/other"]
        assert (row["text"].split()[0], row["markdown"]) == ("Paths", None)
        [version] = versions_in(f"sqlite:///{database}")
        assert version["markdown"].startswith("## Roads")
        assert rows_of(database)[f"{site.url}/d/story"]["markdown"].startswith("## Bridges")


@pytest.mark.slow
def test_export_writes_markdown_where_it_is_stored(tmp_path: Path) -> None:
    with LocalSite({"/": story(STORY)}) as site, LocalSite({"/": story(document(200, "other"))}) as other:
        crawl(tmp_path / "crawl.db", site, {**WITH_MARKDOWN, "DEDUP_RUN": "with"})
        crawl(tmp_path / "crawl.db", other, {**PLAIN, "DEDUP_RUN": "without"})
    for name in ("with", "without"):
        written = scrapy(tmp_path / "crawl.db", "export", name, "-o", "-:jsonl").stdout
        assert ('"markdown": "## Bridges' in written, '"markdown"' in written) == (name == "with", name == "with")
