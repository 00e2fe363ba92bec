"""PDFs of a crawl, where they are wanted: decided as pages are, skipped by name where they give no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup.readers.documents import CorpusDocument, ReadOptions
from dedup.readers.portions import read_documents
from dedup.signature.pages import text_of
from tests.commands import run_dedup
from tests.crawling import crawl_site_here
from tests.localsite import LocalSite, Page, Reply, article
from tests.pdfs import ENCRYPTED, in_lines, pdf
from tests.texts import document

pytestmark = pytest.mark.slow

STORY, OTHER = document(160, "story"), document(160, "other")
WITH_PDF = {"CRAWLER_PDF": True}


def typed(data: bytes, kind: str = "application/pdf") -> Reply:
    return Reply(data, headers={"Content-Type": kind, "ETag": f'"{len(data)}"'})


LONG = document(30_000, "long")
PAGES: dict[str, Page] = {
    "/story.html": article("story", text=STORY),
    "/story.pdf": typed(pdf(in_lines(STORY))),
    "/other.pdf": typed(pdf(in_lines(OTHER), title="Other")),
    "/copy.PDF": typed(pdf(["Printed for a reader", *in_lines(OTHER, 60)]), "application/octet-stream"),
    "/as-html": typed(pdf(in_lines(document(160, "as html"))), "text/html"),
    "/form.pdf": typed(pdf(in_lines(OTHER), filled="Ada Wong")),
    "/long.pdf": typed(pdf(*(in_lines(LONG)[start : start + 60] for start in range(0, 3_000, 60)))),
    "/encrypted.pdf": typed(ENCRYPTED),
    "/scanned.pdf": typed(pdf([], is_drawn=True)),
    "/damaged.pdf": typed(pdf(in_lines(STORY))[:900]),
}
REASONS = {"encrypted_pdf": 1, "scanned_pdf": 1, "damaged_pdf": 1}


PAGES["/"] = article("front", list(PAGES))


def test_a_pdf_is_a_page(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        crawls = [
            crawl_site_here(
                tmp_path / "a.db",
                {**WITH_PDF, "FEEDS": {tmp_path / f"{number}.warc.gz": {"format": "warc"}}},
                url=f"{site.url}/",
            )
            for number in range(2)
        ]
    first, again = crawls
    kept = {item.url.removeprefix(site.url): item for item in first.items}
    # Of a page and its PDF whichever came first.
    assert len(kept.keys() & {"/story.html", "/story.pdf"}) == len(kept.keys() & {"/other.pdf", "/copy.PDF"}) == 1
    others = {"/", "/as-html", "/long.pdf", "/form.pdf"}
    assert kept.keys() - {"/story.html", "/story.pdf", "/other.pdf", "/copy.PDF"} == others
    assert first.kinds_of_drops.total() == 2
    assert {name: first.count(f"crawler/skipped/{name}") for name in REASONS} == REASONS
    assert (kept["/long.pdf"].extraction, kept["/long.pdf"].text.split()[-1]) == ("pdf", LONG.split()[-1])
    assert kept["/as-html"].html.startswith(b"%PDF-")
    assert first.tracebacks == again.tracebacks == []
    # Nobody sends them again, and they are known.
    expected = {each.url: "unchanged" if each.problem is None else None for each in first.items}
    assert {item.url: item.verdict for item in again.items} == expected
    database = ("--database", f"sqlite:///{tmp_path / 'a.db'}")
    for command in (("duplicates", "--all"), ("explain", f"{site.url}/form.pdf")):
        done = run_dedup(*command, *database, folder=tmp_path)
        assert "it has fields of a form, or notes on its pages" in done.stdout + done.stderr
        assert "DEDUP_TEXT_FIELD" not in done.stdout
    documents = read_documents([tmp_path / "0.warc.gz"], ReadOptions(pdf=True))
    texts = {each.key: text_of(each.html or b"") for each in documents if isinstance(each, CorpusDocument)}
    assert texts == {item.url: item.text for item in first.items}
    archived = crawl_site_here(tmp_path / "b.db", WITH_PDF, warc=tmp_path / "0.warc.gz")
    assert {item.url: item.text for item in archived.items} == texts


def test_a_pdf_comes_behind_its_page_and_hides_none_of_its_links(tmp_path: Path) -> None:
    far = {f"/{name}": article(name) for name in "abc"}
    pages: dict[str, Page] = {
        "/": article("front", ["/x.pdf", "/a-long-address/of-a-page.html", "/get", "/get.html"]),
        "/x.pdf": typed(pdf(in_lines(STORY))),
        "/a-long-address/of-a-page.html": article("story", text=STORY),
        # No address tells of it, and it is the first: the only page that leads on is its copy.
        "/get": typed(pdf(in_lines(OTHER))),
        "/get.html": article("more", ["/a-long-address/of-another.html"]),
        "/a-long-address/of-another.html": article("other", list(far), text=OTHER),
    }
    with LocalSite(pages | far) as site:
        settings = {**WITH_PDF, "CONCURRENT_REQUESTS": 1}
        crawled = crawl_site_here(tmp_path / "a.db", settings, url=f"{site.url}/")
        kept = {item.url.removeprefix(site.url) for item in crawled.items}
    assert kept == {"/", "/a-long-address/of-a-page.html", "/get", "/get.html", *far}
    assert crawled.kinds_of_drops.total() == 2


def test_no_pdf_is_fetched_unless_it_is_wanted(tmp_path: Path) -> None:
    with LocalSite(PAGES) as site:
        crawled = crawl_site_here(tmp_path / "a.db", url=f"{site.url}/")
        asked = site.hits.keys()
    assert {path for path in asked if path.lower().endswith(".pdf")} == set()
    assert crawled.count("crawler/links_not_html") == len([path for path in PAGES if path.lower().endswith(".pdf")])
    assert {item.url for item in crawled.items} == {f"{site.url}/", f"{site.url}/story.html"}
